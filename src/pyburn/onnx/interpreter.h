// Interpreter: runs a plan once, node after node, through the door.
#pragma once
#include "pyburn/onnx/plan.h"
#include "pyburn/runtime/device.h"

namespace pyburn::onnx {

class Interpreter {
 public:
  Interpreter(const Plan& plan, Device& device, bool training) : device_(device), training_(training), values_(size_t(plan.values)) {}

  void set(int value, Value v) { values_[size_t(value)] = std::move(v); }
  Values run(const PlanGraph& graph, std::span<const Value> inputs);

  Device& device() const { return device_; }
  bool training() const { return training_; }

 private:
  void run(const PlanNode& node);
  Device& device_;
  bool training_;
  Values values_;
};

}  // namespace pyburn::onnx
