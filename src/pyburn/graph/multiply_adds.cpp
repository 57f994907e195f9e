#include "pyburn/graph/multiply_adds.h"

#include "pyburn/ops/attention.h"
#include "pyburn/ops/conv.h"
#include "pyburn/ops/matmul.h"
#include "pyburn/ops/rnn_steps.h"
#include "pyburn/support/checked.h"

namespace pyburn {

int64_t multiply_adds(const OpInfo& info, std::span<const Shape* const> in, const Shape& out) {
  // Each output (or, seen from the other side, each input) of a convolution meets the taps of one filter.
  const auto per_filter = [](const Shape& weight) { return weight[0] > 0 ? weight.numel() / weight[0] : 0; };
  const auto from_end = [&](size_t i, int axis) { return (*in[i])[in[i]->rank() - axis]; };
  const auto elements = [](const Shape& s) { return Checked(s.numel()); };
  const OpInfo* op = &info;
  if (op == &op::bmm) return elements(out) * from_end(0, 1);
  if (op == &op::bmm_plus) return elements(out) * from_end(1, 1);
  if (op == &op::conv2d || op == &op::conv3d) return elements(out) * per_filter(*in[1]);
  if (op == &op::conv2d_input || op == &op::conv3d_input) return elements(*in[0]) * per_filter(*in[1]);
  if (op == &op::conv2d_weight || op == &op::conv3d_weight) return elements(*in[1]) * per_filter(out);
  if (op == &op::attention) return (elements(*in[0]) + elements(out)) * from_end(1, 2);  // scores, and what they weigh
  if (op == &op::attention_grad)
    return (3 * elements(*in[1]) + 2 * elements(*in[0])) * from_end(2, 2);  // the scores again, and four products
  if (op == &op::rnn_steps) return elements(*in[0]) * from_end(1, 1);
  if (op == &op::rnn_steps_grad) return elements(out) * from_end(2, 1);
  return 0;
}

int64_t multiply_adds(const Graph& graph) {
  Checked total = 0;
  for (const GraphNode& n : graph.nodes) {
    std::vector<const Shape*> in;
    static const Shape absent{};
    for (ValueId id : n.in) in.push_back(id < 0 ? &absent : &graph.values[size_t(id)].shape);
    total += multiply_adds(n.op.info(), in, graph.values[size_t(n.out[0])].shape);
  }
  return total;
}

}  // namespace pyburn
