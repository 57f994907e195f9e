// OperationCost: counts what the operations of this thread cost while it lives.
#pragma once
#include "pyburn/runtime/run.h"

namespace pyburn {

class CountingBackend;

class OperationCost {
 public:
  // Operations on tensors of `device` enter the stack here. With `compute` they run; else shapes are all there is, nothing is
  // computed or written, and reading a value raises CaptureError.
  OperationCost(Device& device, bool compute);
  ~OperationCost();
  int64_t multiply_adds() const;  // so far

 private:
  Ref<CountingBackend> backend_;
  LevelScope scope_;
};

}  // namespace pyburn
