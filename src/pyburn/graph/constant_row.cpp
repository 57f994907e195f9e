#include "pyburn/graph/constant_row.h"

#include "pyburn/ops/binary.h"
#include "pyburn/ops/movement.h"

namespace pyburn {

TensorHandle constant_row(const GraphEditor& editor, ValueId v, int64_t row) {
  while (!editor.constant(v)) {
    const int32_t maker = editor.maker(v);
    if (maker < 0 || editor.node(maker).op.info().kind != Kind::view || editor.may_be_written(v)) return {};
    if (editor.meta(editor.node(maker).in[0]).shape.rank() > 1 && &editor.node(maker).op.info() != &op::view) return {};
    v = editor.node(maker).in[0];
  }
  const TensorHandle& t = *editor.constant(v);
  return !editor.may_be_written(v) && t.rank() == 1 && t.numel() == row && t.dtype() == DType::float32 ? t : TensorHandle();
}

RowFollower row_follower(const GraphEditor& editor, ValueId v, const OpInfo& op, int64_t row) {
  const int32_t user = editor.only_user(v);
  if (user < 0 || editor.is_erased(user)) return {};
  const GraphNode& n = editor.node(user);
  if (&n.op.info() != &op || n.writes || n.in.size() != 2 || n.in[0] == n.in[1] || editor.may_be_written(n.out[0])) return {};
  if (&op == &op::add && n.op.ref().as<Additive>().alpha.to_double() != 1) return {};
  if (!(editor.meta(n.out[0]) == editor.meta(v))) return {};
  const TensorHandle t = constant_row(editor, n.in[n.in[0] == v ? 1 : 0], row);
  return t.defined() ? RowFollower{user, t} : RowFollower{};
}

}  // namespace pyburn
