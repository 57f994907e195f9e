// A schema as calls from Python see it: names, types and defaults of the parameters.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "pyburn/ir/schema.h"
#include "python_api.h"

namespace pyburn::python {

struct Parameter {
  PyObject* name;      // interned
  PyObject* standard;  // default value, or null when required
  ParameterType type;
  bool keyword_only;
};

struct Signature {
  std::string name;
  std::vector<Parameter> parameters;
  int positional = 0;
  bool spreads = false;  // the last positional parameter may be given as several integers or tensors
  bool has_out = false;
  bool returns_tensor = false;
  int results = 1;
  PyTypeObject* result_type = nullptr;  // the named tuple of several results
};

// "add(Tensor|Scalar input, ..., *, Scalar alpha=1) -> Tensor"; ValueError unless it is a schema.
Signature parse_schema(std::string_view schema);

// The named tuples of several results, by the name of their function: a dict, borrowed.
PyObject* result_types();

// The place of the parameter that a keyword names, or -1.
int parameter_named(const Signature& s, PyObject* name);

// Could a call with these arguments mean this form of a function? Says nothing about values, except that a tensor of no axes may stand for
// a number if asked.
bool accepts(const Signature& s, PyObject* const* args, size_t nargs, PyObject* kwnames, bool tensors_as_numbers);

}  // namespace pyburn::python
