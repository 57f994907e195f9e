// Output tensors that take the shape of a result.
#pragma once
#include "pyburn/tensor/handle.h"

namespace pyburn {

// An empty tensor passed as out= takes the shape of the result, on its own memory. Other tensors do so while a ResultScope lives, and
// otherwise keep their shape.
void fit_result(const TensorHandle& out, const Shape& shape);

// While one lives, this thread runs a function with out=: a target of another shape takes that of the result, as in PyTorch.
class ResultScope {
 public:
  ResultScope();
  ~ResultScope();
  ResultScope(const ResultScope&) = delete;
  bool resized() const { return resized_; }  // was the target not empty?

 private:
  friend void fit_result(const TensorHandle& out, const Shape& shape);
  ResultScope* outer_;
  bool resized_ = false;
};

}  // namespace pyburn
