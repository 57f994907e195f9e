#include "pyburn/onnx/interpreter.h"

#include <algorithm>
#include <optional>

#include "pyburn/onnx/call.h"
#include "pyburn/onnx/operators/string_tensors.h"
#include "pyburn/runtime/run.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/interrupt.h"

namespace pyburn::onnx {
namespace {

// Large results of host operators go to the device: they are data, not shapes.
constexpr int64_t kMostOnHost = 1 << 16;  // elements

// "in node 'conv1' (Conv): [conv2d] ..." The kind of the error stays.
void say_where(Error& error, const NodeDef& node) {
  if (dynamic_cast<const Interrupted*>(&error)) return;
  const std::string_view message = error.what();
  if (message.starts_with("in node ")) return;
  error = Error(format("in node '{}' ({}): {}", node.name, node.op_type, message));
}

// Operators that only move elements.
bool moves_elements(const PlanNode& node) {
  static constexpr std::string_view movers[] = {"Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze", "Concat", "Split", "Slice",
      "Gather", "GatherElements", "GatherND", "Expand", "Tile", "Pad", "Where", "Compress", "ReverseSequence", "ArrayFeatureExtractor"};
  return std::find(std::begin(movers), std::end(movers), node.op->name) != std::end(movers);
}

// They give elements with the type that they had.
void pass_element_types(const PlanNode& node, std::span<const Value> inputs, Values& results) {
  if (inputs.empty() || !inputs[0].is_tensor() || inputs[0].element() == ElementType::undefined || !moves_elements(node)) return;
  for (Value& v : results)
    if (v.is_tensor()) v.set_element(inputs[0].element());
}

}  // namespace

Values Interpreter::run(const PlanGraph& graph, std::span<const Value> inputs) {
  for (size_t i = 0; i < graph.inputs.size(); ++i) set(graph.inputs[i], i < inputs.size() ? inputs[i] : Value());
  for (const PlanNode& node : graph.nodes) run(node);
  Values outputs;
  for (const int v : graph.outputs) outputs.push_back(v < 0 ? Value() : values_[size_t(v)]);
  return outputs;
}

void Interpreter::run(const PlanNode& node) {
  check_interrupt();
  Values inputs;
  inputs.reserve(node.inputs.size());
  for (const int v : node.inputs) inputs.push_back(v < 0 ? Value() : values_[size_t(v)]);
  const auto forget = [&] {
    for (const int v : node.dies) values_[size_t(v)] = Value();
  };
  if (node.graphs.empty()) forget();  // the inputs die with the call
  try {
    std::optional<MovedStrings> strings;  // operators that move elements move their places; Pad makes some
    if (std::any_of(inputs.begin(), inputs.end(), [](const Value& v) { return v.is_strings(); }) && moves_elements(node) &&
        node.op->name != "Pad")
      strings.emplace(inputs);
    Call call(*this, node, inputs);
    // Shapes and what follows from them are computed on the CPU itself: they are known while capturing, and cost no read-back.
    std::optional<LevelScope> plain;
    std::optional<DeviceScope> home;
    if (call.runs_on_host()) plain.emplace(host_device().leaf());
    home.emplace(call.device());
    Results results = node.op->run(call);
    if (call.runs_on_host()) {
      plain.reset();
      for (Value& v : results)
        if (v.is_tensor()) {
          const ElementType element = v.element();
          v = v.tensor().numel() > kMostOnHost ? Value(moved_to(device_, v.tensor())) : Value::on_host(v.tensor());
          v.set_element(element);
        }
    }
    require<FormatError>(results.size() >= size_t(call.outputs()) || node.outputs.size() <= results.size(),
        "[onnx] the operator has {} outputs: got {}", int64_t(results.size()), int64_t(node.outputs.size()));
    if (strings) strings->put_back(results);
    pass_element_types(node, inputs, results);
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i] >= 0) set(node.outputs[i], std::move(results[i]));
    if (!node.graphs.empty()) forget();  // its graphs read them while it ran
  } catch (Error& error) {
    say_where(error, *node.def);
    throw;
  }
}

}  // namespace pyburn::onnx
