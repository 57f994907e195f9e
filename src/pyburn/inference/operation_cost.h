// OperationCost: counts what the operations of this thread cost while it lives.
#pragma once
#include <map>

#include "pyburn/runtime/run.h"

namespace pyburn {

class CountingBackend;

class OperationCost {
 public:
  // Operations on tensors of `device` enter the stack here. With `compute` they run; else shapes are all there is, nothing is
  // computed or written, and reading a value raises CaptureError.
  OperationCost(Device& device, bool compute);
  ~OperationCost();
  const std::map<const OpInfo*, int64_t>& by_operation() const;  // multiply-adds so far, of each operation that has any

 private:
  Ref<CountingBackend> backend_;
  LevelScope scope_;
};

}  // namespace pyburn
