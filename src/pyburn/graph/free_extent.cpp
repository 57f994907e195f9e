#include "pyburn/graph/free_extent.h"

#include <cstring>

#include "pyburn/graph/integer_slots.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/error.h"

namespace pyburn {
namespace {

struct Sample {
  int64_t n;
  Ref<Graph> graph;
};
using Samples = std::array<Sample, 3>;

bool same_structure(const GraphNode& a, const GraphNode& b) {
  return a.in == b.in && a.out == b.out && a.writes == b.writes && same_but_for_integers(a.op, b.op);
}

// a * n + c through the first two samples; checked at the third.
std::pair<int64_t, int64_t> solve(const Samples& s, std::array<int64_t, 3> v, const GraphNode& node) {
  const int64_t run = s[1].n - s[0].n, a = (v[1] - v[0]) / run, c = v[0] - a * s[0].n;
  for (int k = 0; k < 3; ++k)
    if (a * s[size_t(k)].n + c != v[size_t(k)])
      fail<CaptureError>("[{}] a number does not follow the free extent: got {} at size {} in {}", node.op.info().name(), v[size_t(k)],
          s[size_t(k)].n, to_text(node.op.ref()));
  return {a, c};
}

void check_constants(const Samples& s) {
  const Graph& g = *s[0].graph;
  for (const Sample& other : s) {
    require<CaptureError>(
        other.graph->constants.size() == g.constants.size(), "[capture] the number of constants depends on the free extent");
    for (size_t i = 0; i < g.constants.size(); ++i) {
      const TensorHandle &a = g.constants[i].second, &b = other.graph->constants[i].second;
      if (a.storage() == b.storage() && a.layout() == b.layout() && a.dtype() == b.dtype()) continue;
      require<CaptureError>(a.meta() == b.meta() && host_bytes(a) == host_bytes(b),
          "[capture] a constant depends on the free extent: got {} at size {} and {} at size {}", a.shape(), s[0].n, b.shape(), other.n);
    }
  }
}

void find_free_axes(const Samples& s, Graph& g) {
  for (size_t i = 0; i < g.inputs.size(); ++i) {
    auto shape = [&](const Sample& k) -> const Shape& { return k.graph->values[size_t(k.graph->inputs[i])].shape; };
    for (int axis = 0; axis < shape(s[0]).rank(); ++axis) {
      if (shape(s[0])[axis] == shape(s[1])[axis]) continue;
      for (const Sample& k : s)
        require<CaptureError>(
            shape(k)[axis] == k.n, "[capture] a free axis of an input must have the free extent: got {} at size {}", shape(k), k.n);
      g.free_axes.emplace_back(int32_t(i), axis);
    }
  }
  require<CaptureError>(!g.free_axes.empty(), "[capture] no axis of any input follows the free extent");
}

}  // namespace

Ref<Graph> with_free_extent(const std::function<Ref<Graph>(int64_t)>& capture, std::array<int64_t, 3> sizes) {
  require<ValueError>(sizes[0] > 1 && sizes[1] > sizes[0] && sizes[2] > sizes[1],
      "[capture] expected three growing sizes above 1: got {}, {}, {}", sizes[0], sizes[1], sizes[2]);
  Samples s;
  for (size_t k = 0; k < 3; ++k) s[k] = {sizes[k], capture(sizes[k])};
  for (const Sample& k : s) {
    require<CaptureError>(k.graph->nodes.size() == s[0].graph->nodes.size() && k.graph->outputs == s[0].graph->outputs &&
                              k.graph->inputs == s[0].graph->inputs,
        "[capture] the number of operations depends on the free extent: got {} at size {} and {} at size {}",
        int64_t(s[0].graph->nodes.size()), s[0].n, int64_t(k.graph->nodes.size()), k.n);
  }
  Graph& g = *s[0].graph;
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    GraphNode& node = g.nodes[i];
    std::array<Slots, 3> slots;
    for (size_t k = 0; k < 3; ++k) {
      const GraphNode& other = s[k].graph->nodes[i];
      if (!same_structure(node, other))
        fail<CaptureError>("[{}] the operation depends on the free extent: got {} at size {} and {} at size {}", node.op.info().name(),
            to_text(node.op.ref()), s[0].n, to_text(other.op.ref()), s[k].n);
      slots[k] = integer_slots(other.op.ref());
    }
    for (int64_t j = 0; j < slots[0].size(); ++j) {
      const std::array<int64_t, 3> v{slots[0][j], slots[1][j], slots[2][j]};
      if (v[0] == v[1] && v[1] == v[2]) continue;
      const auto [a, c] = solve(s, v, node);
      node.patches.push_back({int32_t(j), a, c});
    }
  }
  check_constants(s);
  find_free_axes(s, g);
  return s[0].graph;
}

Operation operation_at(const GraphNode& node, int64_t n) {
  if (node.patches.empty()) return node.op;
  Slots slots = integer_slots(node.op.ref());
  for (const ExtentPatch& p : node.patches) {
    int64_t v;
    require<FormatError>(p.slot < slots.size(), "[graph] patch out of range: got slot {} of {}", p.slot, to_text(node.op.ref()));
    require<ShapeError>(!__builtin_mul_overflow(p.a, n, &v) && !__builtin_add_overflow(v, p.c, &slots[p.slot]),
        "[graph] the free extent is too large: got {}", n);
  }
  return with_integer_slots(node.op, slots);
}

std::vector<Operation> operations_at(const Graph& g, int64_t n) {
  std::vector<Operation> operations;
  operations.reserve(g.nodes.size());
  for (const GraphNode& node : g.nodes) operations.push_back(operation_at(node, n));
  return operations;
}

int64_t free_extent_of(const Graph& g, std::span<const TensorHandle> inputs) {
  require<ValueError>(inputs.size() == g.inputs.size(), "[graph] wrong number of inputs: got {}, expected {}", int64_t(inputs.size()),
      int64_t(g.inputs.size()));
  int64_t n = -1;
  for (size_t i = 0; i < inputs.size(); ++i) {
    require<ValueError>(inputs[i].defined(), "[graph] input {} is missing", int64_t(i));
    const Meta& expected = g.values[size_t(g.inputs[i])];
    require<DTypeError>(inputs[i].dtype() == expected.dtype, "[graph] input {} has another dtype: got {}, expected {}", int64_t(i),
        inputs[i].dtype(), expected.dtype);
    Shape wanted = expected.shape;
    if (inputs[i].rank() == wanted.rank())
      for (const auto& [input, axis] : g.free_axes) {
        if (size_t(input) != i) continue;
        if (n < 0) n = inputs[i].shape()[axis];
        wanted[axis] = n;
      }
    require(inputs[i].shape() == wanted, "[graph] input {} does not fit: got {}, expected {}", int64_t(i), inputs[i].shape(), wanted);
  }
  return n;
}

}  // namespace pyburn
