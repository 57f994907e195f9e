// Products with a constant matrix, as other frameworks write linear layers, become `linear`, whose weight is packed once; a constant that
// is added to the rows becomes the bias.
#include "pyburn/graph/constant_row.h"
#include "pyburn/graph/passes.h"
#include "pyburn/ops/binary.h"
#include "pyburn/ops/matmul.h"
#include "pyburn/ops/movement.h"

namespace pyburn {
namespace {

// The constant matrix that v is with an axis of size 1 before it; -1: something else.
ValueId constant_matrix(const GraphEditor& editor, ValueId v) {
  const int32_t maker = editor.maker(v);
  if (maker < 0 || editor.may_be_written(v) || editor.meta(v).shape.rank() != 3 || editor.meta(v).shape[0] != 1) return -1;
  const GraphNode& n = editor.node(maker);
  const OpInfo* op = &n.op.info();
  if (op != &op::unsqueeze && op != &op::view && op != &op::reshape) return -1;
  const Shape &from = editor.meta(n.in[0]).shape, &to = editor.meta(v).shape;
  return editor.constant(n.in[0]) && from == Shape{to[1], to[2]} ? n.in[0] : -1;
}

// The result as it is added to: products of stacked matrices are computed as one and reshaped.
ValueId behind_reshape(const GraphEditor& editor, ValueId v) {
  const int32_t user = editor.only_user(v);
  if (user < 0 || editor.is_erased(user)) return v;
  const GraphNode& n = editor.node(user);
  const OpInfo* op = &n.op.info();
  if (op != &op::reshape && op != &op::view && op != &op::remove_axis) return v;
  return editor.meta(n.out[0]).shape.back() == editor.meta(v).shape.back() && !editor.may_be_written(n.out[0]) ? n.out[0] : v;
}

void recognise(GraphEditor& editor, int32_t i) {
  const GraphNode& n = editor.node(i);
  if (&n.op.info() != &op::bmm || n.writes || editor.meta(n.out[0]).dtype != DType::float32) return;
  const ValueId x = n.in[0], matrix = constant_matrix(editor, n.in[1]), product = n.out[0];
  if (matrix < 0 || editor.may_be_written(product) || editor.may_be_written(x)) return;
  const Meta result = editor.meta(product);
  const Shape s = editor.meta(matrix).shape;
  const ValueId rows = behind_reshape(editor, product);
  const RowFollower added = row_follower(editor, rows, op::add, s[1]);
  const Permute turned{{1, 0}};
  const NoAttrs none;
  const ValueId bias = added.node >= 0 ? editor.add_constant(added.constant) : -1;
  const ValueId weight = editor.insert_before(i, Operation(OpRef{&op::permute, &turned}), {matrix}, Meta{Shape{s[1], s[0]}, result.dtype});
  const ValueId v = editor.insert_before(i, Operation(OpRef{&op::linear, &none}), {x, weight, bias}, result);
  if (added.node >= 0) {
    editor.replace(editor.node(added.node).out[0], rows);
    editor.erase(added.node);
  }
  editor.replace(product, v);
  editor.erase(i);
}

}  // namespace

Ref<Graph> recognise_linear(const Graph& g) {
  GraphEditor editor(g);
  for (int32_t i = 0; i < editor.nodes(); ++i)
    if (!editor.is_erased(i)) recognise(editor, i);
  return editor.finish();
}

}  // namespace pyburn
