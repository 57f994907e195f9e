// OperationCost: counts the cost of the operations that this thread runs while it lives.
#pragma once
#include <map>

#include "pyburn/runtime/run.h"

namespace pyburn {

class CountingBackend;

class OperationCost {
 public:
  // Operations on tensors of `device` enter the stack here. With `compute` they run; otherwise only shapes are computed, nothing is
  // written, and reading a value raises CaptureError.
  OperationCost(Device& device, bool compute);
  ~OperationCost();
  const std::map<const OpInfo*, int64_t>& by_operation() const;  // multiply-adds so far, by operation

 private:
  Ref<CountingBackend> backend_;
  LevelScope scope_;
};

}  // namespace pyburn
