// Tensors that take results.
#pragma once
#include "pyburn/tensor/handle.h"

namespace pyburn {

// An empty tensor that is given to take a result (out=) takes its shape as well, on memory of its own. Others do where a ResultScope
// lives, and stay as they are elsewhere.
void fit_result(const TensorHandle& out, const Shape& shape);

// While one lives, this thread calls a function with out=: a target of another shape takes that of the result, as in PyTorch.
class ResultScope {
 public:
  ResultScope();
  ~ResultScope();
  ResultScope(const ResultScope&) = delete;
  bool resized() const { return resized_; }  // was a target with elements?

 private:
  friend void fit_result(const TensorHandle& out, const Shape& shape);
  ResultScope* outer_;
  bool resized_ = false;
};

}  // namespace pyburn
