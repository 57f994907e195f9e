// Calls of operations without a generated function, from other packages: the schema and the attribute fields define how each argument is
// passed.
#pragma once
#include <vector>

#include "arguments.h"
#include "signature.h"

namespace pyburn::python {

class RowCall {
 public:
  // ValueError unless every argument of the schema is a tensor, the device, or a field of a compatible type.
  RowCall(const OpInfo& row, const Signature& signature);

  const OpInfo& row() const { return row_; }
  bool writes_results() const { return row_.infer && row_.kind != Kind::dynamic && results_ > 0; }  // out=
  bool writes_in_place() const;                                                                     // op_(x)
  PyObject* call(const Arguments& a) const;
  void into(const Arguments& a, std::span<const TensorHandle> out) const;

 private:
  void dispatch(const Arguments& a, Tensors& out) const;

  const OpInfo& row_;
  const int results_;                                   // -1: inferred
  std::vector<std::pair<int, ParameterType>> tensors_;  // indices of the parameters that are inputs, in order
  std::vector<int> fields_;                             // parameter index of each field; -1: none, it keeps its default
  int device_ = -1;
};

}  // namespace pyburn::python
