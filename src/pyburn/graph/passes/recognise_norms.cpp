// Layer normalisation and normalisation by the root mean square that are written out: whatever agrees with them on rows of all sizes. A
// weight and a bias behind them go along.
#include <algorithm>
#include <cmath>

#include "pyburn/graph/cone.h"
#include "pyburn/graph/constant_row.h"
#include "pyburn/graph/passes.h"
#include "pyburn/ops/binary.h"
#include "pyburn/ops/moments.h"
#include "pyburn/ops/movement.h"
#include "pyburn/ops/normalisation.h"
#include "pyburn/ops/reduce.h"
#include "pyburn/ops/unary.h"
#include "pyburn/runtime/run.h"
#include "pyburn/runtime/transfer.h"

namespace pyburn {
namespace {

bool belongs(const GraphNode& n) {
  static const OpInfo* const known[] = {
      &op::add, &op::sub, &op::mul, &op::div, &op::pow, &op::neg, &op::sqrt, &op::rsqrt, &op::mean, &op::var_mean};
  return n.op.info().kind == Kind::view || std::find(std::begin(known), std::end(known), &n.op.info()) != std::end(known);
}

// Axes that the statistics are taken over, if they are the last ones, as a number of elements; else 0.
int64_t row_of(const GraphEditor& editor, const Cone& cone) {
  int64_t row = 0;
  for (int32_t i : cone.nodes) {
    const GraphNode& n = editor.node(i);
    const bool is_mean = &n.op.info() == &op::mean;
    if (!is_mean && &n.op.info() != &op::var_mean) continue;
    const Dims& dim = is_mean ? n.op.ref().as<Reduce>().dim : n.op.ref().as<VarMean>().dim;
    const Shape& shape = editor.meta(n.in[0]).shape;
    int64_t elements = 1;
    for (int64_t k = 0; k < dim.size(); ++k) {
      if (dim[k] != shape.rank() - dim.size() + k) return 0;
      elements *= shape[dim[k]];
    }
    if (row != 0 && row != elements) return 0;
    row = elements;
  }
  return row;
}

// Rows of many sizes, some so small that eps shows.
TensorHandle sample(const Shape& shape, int64_t row) {
  std::vector<float> x(size_t(shape.numel()));
  uint32_t state = 12345;
  for (size_t i = 0; i < x.size(); ++i) {
    state = state * 1664525u + 1013904223u;
    const auto r = int64_t(i) / row % 5;
    const float size = r == 0 ? 1.0f : r == 1 ? 3e-3f : r == 2 ? 20.0f : r == 3 ? 3e-6f : 0.1f;
    x[i] = size * (float(state >> 8) / float(1 << 23) - 1.0f + (r == 0 ? 0.7f : 0.1f));
  }
  return from_host(host_device(), {x.data(), {shape, DType::float32}});
}

// Numbers that are added within the cone: one of them is eps.
std::vector<double> added_numbers(const GraphEditor& editor, const Cone& cone) {
  std::vector<double> found;
  for (int32_t i : cone.nodes)
    if (const GraphNode& n = editor.node(i); &n.op.info() == &op::add && n.in.size() == 1) {
      const Additive& a = n.op.ref().as<Additive>();
      found.push_back(a.value.to_double() * a.alpha.to_double());
    }
  found.push_back(0);
  return found;
}

void replace_by(GraphEditor& editor, int32_t i, ValueId from, NormaliseRows attrs, int64_t row) {
  ValueId result = editor.node(i).out[0];
  std::vector<int32_t> done{i};
  const RowFollower scaled = row_follower(editor, result, op::mul, row);
  if (scaled.node >= 0) done.push_back(scaled.node), result = editor.node(scaled.node).out[0];
  const RowFollower shifted = row_follower(editor, result, op::add, row);
  if (shifted.node >= 0) done.push_back(shifted.node), result = editor.node(shifted.node).out[0];
  const ValueId weight = scaled.node >= 0 ? editor.add_constant(scaled.constant) : -1;
  const ValueId bias = shifted.node >= 0 ? editor.add_constant(shifted.constant) : -1;
  const Meta all = editor.meta(result), statistics{Shape{attrs.rows}, DType::float32};
  const Meta metas[] = {all, statistics, statistics};
  const ValueId v = editor.insert_before(done.back(), Operation(OpRef{&op::normalise_rows, &attrs}), {from, weight, bias}, metas);
  editor.replace(result, v);
  for (size_t k = done.size(); k-- > 0;) editor.erase(done[k]);
}

bool recognise(GraphEditor& editor, int32_t i) {
  constexpr int64_t kMost = 1 << 21;  // elements to try
  const GraphNode& n = editor.node(i);
  const OpInfo* last = &n.op.info();
  if ((last != &op::mul && last != &op::div) || editor.meta(n.out[0]).dtype != DType::float32) return false;
  const ValueId result = n.out[0];
  const Meta meta = editor.meta(result);
  if (meta.shape.numel() > kMost || meta.shape.numel() == 0) return false;
  bool done = false;
  for_each_cone(editor, result, belongs, [&](const Cone& cone) {
    if (!(editor.meta(cone.from) == meta)) return false;
    const int64_t row = row_of(editor, cone);
    if (row < 2) return false;
    const TensorHandle x = sample(meta.shape, row), y = evaluate(editor, cone, x);
    if (!y.defined() || !(y.meta() == meta)) return false;
    for (double eps : added_numbers(editor, cone))
      for (bool centred : {true, false}) {
        if (eps < 0) continue;
        const NormaliseRows attrs{meta.shape.numel() / row, 1, 1, eps, centred};
        const TensorHandle absent;
        InputList in;
        in.add(x), in.add(absent), in.add(absent);
        Tensors expected(3, TensorHandle());
        dispatch({&op::normalise_rows, &attrs}, in, {expected.data(), 3});
        if (!agree(y, expected[0], 2e-4)) continue;
        replace_by(editor, i, cone.from, attrs, row);
        return done = true;
      }
    return false;
  });
  return done;
}

}  // namespace

Ref<Graph> recognise_norms(const Graph& g) {
  const auto is_mean = [](const GraphNode& n) { return &n.op.info() == &op::mean || &n.op.info() == &op::var_mean; };
  if (std::none_of(g.nodes.begin(), g.nodes.end(), is_mean)) return copy_of(g);
  GraphEditor editor(g);
  for (int32_t i = 0; i < editor.nodes(); ++i)
    if (!editor.is_erased(i)) recognise(editor, i);
  return editor.finish();
}

}  // namespace pyburn
