#include "pyburn/onnx/export/output_shapes.h"

#include "pyburn/ops/generated/fill.h"
#include "pyburn/runtime/device.h"
#include "pyburn/runtime/graph_run.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

using Sizes = std::vector<int64_t>;

// The shapes of the outputs at these sizes of the free extents: a run without data.
std::optional<std::vector<Shape>> shapes_at(const Graph& g, const Sizes& sizes) try {
  Device& nowhere = device("null");
  const auto tensor = [&](const Shape& shape, DType dtype) { return fn::empty(shape, dtype, &nowhere); };
  const DeviceScope scope(nowhere);
  GraphRun run(g, Extents(std::span<const int64_t>(sizes)), &nowhere);
  std::vector<Shape> given;
  for (const ValueId v : g.inputs) given.push_back(g.values[size_t(v)].shape);
  for (const FreeAxis& f : g.free_axes) given[size_t(f.input)][f.axis] = sizes[size_t(f.extent)];
  for (size_t i = 0; i < g.inputs.size(); ++i) run.set(g.inputs[i], tensor(given[i], g.values[size_t(g.inputs[i])].dtype));
  for (const auto& [v, t] : g.constants) run.set(v, tensor(t.shape(), t.dtype()));
  for (const GraphNode& node : g.nodes) run.run(node);
  std::vector<Shape> shapes;
  for (const TensorHandle& t : run.outputs()) shapes.push_back(t.shape());
  return shapes;
} catch (const Interrupted&) {
  throw;
} catch (const Error&) {  // sizes that the model does not take, or that follow from values
  return {};
}

std::string sum_of(const std::vector<std::pair<int64_t, std::string>>& terms, int64_t rest) {
  std::string text;
  for (const auto& [factor, name] : terms) {
    if (factor == 0) continue;
    text += text.empty() ? (factor < 0 ? "-" : "") : factor < 0 ? " - " : " + ";
    text += (std::abs(factor) == 1 ? "" : std::to_string(std::abs(factor)) + "*") + name;
  }
  if (rest) text += (rest < 0 ? " - " : " + ") + std::to_string(std::abs(rest));
  return text;
}

}  // namespace

// Each extent is doubled by itself, which gives the factors of a sum. Two runs at other sizes, which are no multiples, say whether it is
// one.
std::vector<std::optional<std::vector<Extent>>> output_shapes(const Graph& g, const std::vector<std::string>& output_names) {
  std::vector<std::optional<std::vector<Extent>>> result(g.outputs.size());
  const Extents captured = captured_extents(g);
  const Sizes base(captured.begin(), captured.end());
  const size_t extents = base.size();
  const auto at_base = g.unknown_axes.empty() ? shapes_at(g, base) : std::nullopt;
  if (!at_base) return result;
  std::vector<std::optional<std::vector<Shape>>> doubled;
  for (size_t e = 0; e < extents; ++e) {
    Sizes sizes = base;
    sizes[e] = Checked(sizes[e]) * 2;
    doubled.push_back(shapes_at(g, sizes));
  }
  std::vector<std::pair<Sizes, std::optional<std::vector<Shape>>>> proofs;
  for (const int64_t more : {1, 3}) {
    Sizes sizes = base;
    for (size_t e = 0; e < extents; ++e) sizes[e] = Checked(sizes[e]) * more + 2 * int64_t(e) + more;
    proofs.emplace_back(sizes, shapes_at(g, sizes));
  }
  for (size_t o = 0; o < g.outputs.size(); ++o) {
    std::vector<Extent>& sizes = result[o].emplace();
    for (int axis = 0; axis < (*at_base)[o].rank(); ++axis) {
      const int64_t here = (*at_base)[o][axis];
      std::vector<std::pair<int64_t, std::string>> terms;
      int64_t rest = here;
      bool is_sum = true;
      for (size_t e = 0; is_sum && e < extents; ++e) {
        const int64_t change = doubled[e] ? (*doubled[e])[o][axis] - here : 0;
        is_sum = doubled[e] && change % base[e] == 0;
        terms.emplace_back(change / base[e], g.extents[e]);
        rest -= change;
      }
      for (const auto& [at, shapes] : proofs) {
        int64_t expected = rest;
        for (size_t e = 0; e < terms.size(); ++e) expected = Checked(expected) + Checked(terms[e].first) * at[e];
        is_sum = is_sum && shapes && (*shapes)[o][axis] == expected;
      }
      Extent& size = sizes.emplace_back();
      if (const std::string sum = is_sum ? sum_of(terms, 0) : ""; is_sum && sum.empty()) size.size = rest;
      else size.name = is_sum ? sum_of(terms, rest) : output_names[o] + "." + std::to_string(axis);
    }
  }
  return result;
}

}  // namespace pyburn::onnx
