// OperationTimes: records which operations this thread runs while it lives, and how long each takes.
#pragma once
#include <vector>

#include "pyburn/runtime/run.h"

namespace pyburn {

class TimingBackend;

struct OperationTime {
  const OpInfo* info;
  int64_t start, end;  // nanoseconds of the steady clock
  Shape shape;         // of the first output
};

class OperationTimes {
 public:
  // Operations on tensors of `device` enter its stack here. Devices with a queue report the time of queueing.
  explicit OperationTimes(Device& device);
  ~OperationTimes();
  const std::vector<OperationTime>& records() const;

 private:
  Ref<TimingBackend> backend_;
  LevelScope scope_;
};

}  // namespace pyburn
