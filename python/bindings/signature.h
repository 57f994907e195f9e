// A schema as seen by calls from Python: names, types and defaults of the parameters.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "pyburn/ir/schema.h"
#include "python_api.h"

namespace pyburn::python {

struct Parameter {
  PyObject* name;      // interned
  PyObject* standard;  // default value, or null if required
  ParameterType type;
  bool keyword_only;
};

struct Signature {
  std::string name;
  std::vector<Parameter> parameters;
  int positional = 0;
  bool spreads = false;  // the last positional parameter accepts several separate integers or tensors
  bool has_out = false;
  bool returns_tensor = false;
  int results = 1;
  PyTypeObject* result_type = nullptr;  // the named tuple of several results
};

// "add(Tensor|Scalar input, ..., *, Scalar alpha=1) -> Tensor"; ValueError unless it is a schema.
Signature parse_schema(std::string_view schema);

// The named tuples of several results, by the name of their function: a dict, borrowed.
PyObject* result_types();

// The index of the parameter with this keyword, or -1.
int parameter_named(const Signature& s, PyObject* name);

// Could a call with these arguments match this overload? Ignores values, except that a 0-d tensor may stand for a number if
// requested.
bool accepts(const Signature& s, PyObject* const* args, size_t nargs, PyObject* kwnames, bool tensors_as_numbers);

}  // namespace pyburn::python
