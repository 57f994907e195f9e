#include "pyburn/graph/multiply_adds.h"

#include "pyburn/ops/attention.h"
#include "pyburn/ops/conv.h"
#include "pyburn/ops/matmul.h"
#include "pyburn/ops/rnn_steps.h"

namespace pyburn {
namespace {

int64_t cost_of(const Graph& g, const GraphNode& n) {
  const OpInfo* op = &n.op.info();
  const auto in = [&](size_t i) -> const Shape& { return g.values[size_t(n.in[i])].shape; };
  const Shape& out = g.values[size_t(n.out[0])].shape;
  // Each output (or, seen from the other side, each input) of a convolution meets the taps of one filter.
  const auto per_filter = [](const Shape& weight) { return weight[0] > 0 ? weight.numel() / weight[0] : 0; };
  if (op == &op::bmm) return out.numel() * in(0)[in(0).rank() - 1];
  if (op == &op::conv2d || op == &op::conv3d) return out.numel() * per_filter(in(1));
  if (op == &op::conv2d_input || op == &op::conv3d_input) return in(0).numel() * per_filter(in(1));
  if (op == &op::conv2d_weight || op == &op::conv3d_weight) return in(1).numel() * per_filter(out);
  if (op == &op::attention)  // scores, and what they weigh
    return in(0).numel() * in(1)[in(1).rank() - 2] + out.numel() * in(1)[in(1).rank() - 2];
  if (op == &op::rnn_steps) return in(0).numel() * in(1)[in(1).rank() - 1];
  return 0;
}

}  // namespace

int64_t multiply_adds(const Graph& graph) {
  int64_t total = 0;
  for (const GraphNode& n : graph.nodes) total += cost_of(graph, n);
  return total;
}

}  // namespace pyburn
