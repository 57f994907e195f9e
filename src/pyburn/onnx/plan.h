// Plan: a model that was checked and made ready to run. Names have become numbers of values, functions their nodes.
#pragma once
#include "pyburn/onnx/operator.h"
#include "pyburn/support/fork_safe_mutex.h"

namespace pyburn::onnx {

struct PlanGraph;

// What an operator makes of the attributes of its node, once for all calls: see Call::prepared.
struct Prepared {
  ForkSafeMutex mutex;
  std::shared_ptr<const void> made;
};

struct PlanNode {
  const Operator* op = nullptr;
  std::shared_ptr<const NodeDef> def;  // its attributes; those of an inlined function have their values
  int64_t opset = 0;
  std::vector<int> inputs, outputs;  // -1: not given, not wanted
  std::vector<std::pair<std::string, std::shared_ptr<const PlanGraph>>> graphs;
  std::vector<int> dies;  // values that are not read after this node
  std::shared_ptr<Prepared> prepared = std::make_shared<Prepared>();
};
struct PlanGraph {
  std::vector<int> inputs, outputs;
  std::vector<PlanNode> nodes;
};

// A tensor that the file brings.
struct PlanConstant {
  enum class Role : uint8_t { parameter, buffer, host };
  int value;
  bool from_node;  // the value of a Constant node, not an initializer: not in the state dict
  Role role = Role::parameter;
  bool meets_device = false;           // operators compute with it and with tensors of the device
  std::string key = {};                // parameters and buffers: the name in the state dict
  std::vector<std::string> path = {};  // its parts: modules, then the tensor
  std::shared_ptr<const TensorDef> def = {};
};

struct Plan {
  PlanGraph graph;
  int values = 0;  // numbers are below
  std::vector<PlanConstant> constants;
  std::vector<ValueInfo> inputs, outputs;                  // inputs without those that have an initializer
  std::vector<std::pair<std::string, int64_t>> operators;  // how many nodes of each, in order of first use
};

// UnsupportedOp names everything that cannot run: operators, versions, nodes, and what to do. FormatError for a graph that makes no sense.
std::shared_ptr<const Plan> make_plan(std::shared_ptr<const ModelDef> model);

}  // namespace pyburn::onnx
