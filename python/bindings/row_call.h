// Calls of operations that have no generated function, those of other packages: the schema says which arguments are tensors, and the fields
// of the attributes which of them are read where.
#pragma once
#include <vector>

#include "arguments.h"
#include "signature.h"

namespace pyburn::python {

class RowCall {
 public:
  // ValueError unless every argument of the schema is a tensor, the device, or a field of a type that can hold it.
  RowCall(const OpInfo& row, const Signature& signature);

  const OpInfo& row() const { return row_; }
  bool writes_results() const { return row_.infer && row_.kind != Kind::dynamic && results_ > 0; }  // out=
  bool writes_in_place() const;                                                                     // op_(x)
  PyObject* call(const Arguments& a) const;
  void into(const Arguments& a, std::span<const TensorHandle> out) const;

 private:
  void dispatch(const Arguments& a, Tensors& out) const;

  const OpInfo& row_;
  const int results_;                                   // -1: as many as inference says
  std::vector<std::pair<int, ParameterType>> tensors_;  // parameters that are inputs, in order
  std::vector<int> fields_;                             // the parameter of each field; -1: none, it keeps its default
  int device_ = -1;
};

}  // namespace pyburn::python
