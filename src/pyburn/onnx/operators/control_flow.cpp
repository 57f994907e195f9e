// If, Loop and Scan: graphs inside of a graph. They run through the door, so that gradients flow and shapes may change.
#include <algorithm>
#include <limits>

#include "pyburn/onnx/call.h"
#include "pyburn/onnx/operators/host_tensors.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/rearrange.h"
#include "pyburn/support/error.h"
#include "pyburn/support/interrupt.h"

namespace pyburn::onnx {
namespace {

// A loop without an end in the file would keep what it scans until memory is gone.
constexpr int64_t kMostSteps = int64_t(1) << 21;

Results branch(Call& c) { return Results(c.run_graph(c.read_boolean(0) ? "then_branch" : "else_branch", {})); }

Value host_boolean(bool value) { return Value::on_host(from_host(host_device(), {&value, {Shape(), DType::boolean}})); }

bool truth_of(const Value& v) {
  require<FormatError>(v.is_tensor() && v.tensor().numel() == 1, "[onnx] the condition of a loop must be one boolean: got {}", to_text(v));
  require<DTypeError>(v.tensor().dtype() == DType::boolean, "[onnx] the condition of a loop must be a boolean: got {}", v.tensor().dtype());
  bool value = false;
  to_host(v.tensor(), {&value, v.tensor().meta()});
  return value;
}

// What each step gave, put together along a new axis; of no step at all, nothing is known but that it is empty.
Value stacked(const Call& c, const Values& steps, int64_t axis) {
  if (steps.empty()) return Value(reals_on(c.device(), {}, {0}));
  Tensors tensors;
  for (const Value& v : steps) tensors.push_back(c.as_tensor(v, 0));
  return Value(fn::stack(tensors, axis));
}

Results loop(Call& c) {
  const int64_t limit = c.has_input(0) ? c.read_integer(0) : std::numeric_limits<int64_t>::max();
  bool goes_on = !c.has_input(1) || c.read_boolean(1);
  Values carried;
  for (int i = 2; i < c.inputs(); ++i) carried.push_back(c.value(i));
  const size_t states = carried.size(), scans = size_t(c.outputs()) - std::min(size_t(c.outputs()), states);
  std::vector<Values> scanned(scans);
  for (int64_t step = 0; step < limit && goes_on; ++step) {
    require<ValueError>(step < kMostSteps, "[loop] more than {} steps", kMostSteps);
    Values inputs{host_integer(step), host_boolean(goes_on)};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    Values outputs = c.run_graph("body", inputs);
    require<FormatError>(outputs.size() >= 1 + states + scans, "[loop] the body must have {} outputs: got {}", int64_t(1 + states + scans),
        int64_t(outputs.size()));
    goes_on = truth_of(outputs[0]);
    for (size_t i = 0; i < states; ++i) carried[i] = std::move(outputs[1 + i]);
    for (size_t i = 0; i < scans; ++i) scanned[i].push_back(std::move(outputs[1 + states + i]));
  }
  Results results(std::move(carried));
  for (const Values& steps : scanned) results.push_back(stacked(c, steps, 0));
  return results;
}

// The scanned inputs and outputs of a Scan: which axis, and in which direction.
struct ScanAxes {
  Dims axes, reversed;
  ScanAxes(Call& c, const char* axes_name, const char* directions_name, int64_t count)
      : axes(c.integers(axes_name, Dims(count, 0))), reversed(c.integers(directions_name, Dims(count, 0))) {
    require<FormatError>(
        axes.size() == count && reversed.size() == count, "[scan] '{}' must have {} numbers: got {}", axes_name, count, axes);
  }
};

// One pass over the scanned inputs.
Results scan_once(Call& c, Values carried, const Tensors& inputs, const ScanAxes& in, const ScanAxes& out) {
  const size_t states = carried.size();
  require<FormatError>(!inputs.empty(), "[scan] there is nothing to scan");
  const auto axis_of = [&](int64_t i) { return normalise_dim(in.axes[i], inputs[i].rank()); };
  const int64_t steps = inputs[0].shape()[axis_of(0)];
  for (int64_t i = 0; i < inputs.size(); ++i)
    require(inputs[i].shape()[axis_of(i)] == steps, "[scan] the scanned inputs have different lengths: got {} and {}", steps,
        inputs[i].shape()[axis_of(i)]);
  std::vector<Values> scanned(size_t(out.axes.size()));
  for (int64_t step = 0; step < steps; ++step) {
    check_interrupt();
    Values given = carried;
    for (int64_t i = 0; i < inputs.size(); ++i)
      given.push_back(Value(fn::select(inputs[i], axis_of(i), in.reversed[i] ? steps - 1 - step : step)));
    Values outputs = c.run_graph("body", given);
    require<FormatError>(outputs.size() == states + scanned.size(), "[scan] the body must have {} outputs: got {}",
        int64_t(states + scanned.size()), int64_t(outputs.size()));
    for (size_t i = 0; i < states; ++i) carried[i] = std::move(outputs[i]);
    for (size_t i = 0; i < scanned.size(); ++i) scanned[i].push_back(std::move(outputs[states + i]));
  }
  Results results(std::move(carried));
  for (size_t i = 0; i < scanned.size(); ++i) {
    if (out.reversed[int64_t(i)]) std::reverse(scanned[i].begin(), scanned[i].end());
    results.push_back(stacked(c, scanned[i], out.axes[int64_t(i)]));
  }
  return results;
}

Results scan(Call& c) {
  const int64_t scans = c.integer("num_scan_inputs"), states = c.inputs() - scans;
  require<FormatError>(
      scans > 0 && states >= 0 && c.outputs() >= states, "[scan] num_scan_inputs does not fit: got {} for {} inputs", scans, c.inputs());
  Values carried;
  for (int i = 0; i < states; ++i) carried.push_back(c.value(i));
  const ScanAxes in(c, "scan_input_axes", "scan_input_directions", scans),
      out(c, "scan_output_axes", "scan_output_directions", c.outputs() - states);
  return scan_once(c, std::move(carried), c.tensors_from(int(states)), in, out);
}

// In version 8 there is a batch, whose examples are scanned one after another; input 0 has their lengths, or is not given.
Results scan_8(Call& c) {
  const int64_t scans = c.integer("num_scan_inputs"), states = c.inputs() - 1 - scans;
  require<FormatError>(
      scans > 0 && states >= 0 && c.outputs() >= states, "[scan] num_scan_inputs does not fit: got {} for {} inputs", scans, c.inputs());
  require<UnsupportedOp>(!c.has_input(0), "[scan] lengths of the examples (sequence_lens) are not supported");
  const Tensors inputs = c.tensors_from(1);
  const int64_t batch = inputs[0].shape().rank() ? inputs[0].shape()[0] : 0;
  require(batch > 0, "[scan] expected a batch: got {}", inputs[0].shape());
  const ScanAxes in(c, "", "directions", scans), out(c, "", "", c.outputs() - states);
  std::vector<Tensors> gathered(size_t(c.outputs()));
  for (int64_t n = 0; n < batch; ++n) {
    Values carried;
    Tensors scanned;
    for (int64_t i = 0; i < inputs.size(); ++i) {
      const TensorHandle example = fn::select(inputs[i], 0, n);
      if (i < states) carried.push_back(Value(example));
      else scanned.push_back(example);
    }
    const Results results = scan_once(c, std::move(carried), scanned, in, out);
    for (size_t i = 0; i < results.size(); ++i) gathered[i].push_back(c.as_tensor(results[i], 0));
  }
  Results all;
  for (const Tensors& examples : gathered) all.push_back(Value(fn::stack(examples, 0)));
  return all;
}

constexpr Operator kRows[] = {
    {"", "If", 1, branch, inputs_at(0)},
    {"", "Loop", 1, loop, inputs_at(0, 1)},
    {"", "Scan", 8, scan_8},
    {"", "Scan", 9, scan},
};

}  // namespace

std::span<const Operator> control_flow_operators() { return kRows; }

}  // namespace pyburn::onnx
