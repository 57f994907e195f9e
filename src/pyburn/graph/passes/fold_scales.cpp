// y = scale * convolution(x, weight, bias) + shift is a convolution with another weight and bias.
#include <optional>

#include "pyburn/graph/graph_editor.h"
#include "pyburn/graph/passes.h"
#include "pyburn/ops/binary.h"
#include "pyburn/ops/conv.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/pointwise.h"

namespace pyburn {
using namespace fn;
namespace {

// The constant behind v through views, in their layout. Undefined if there is none.
TensorHandle constant_behind(const GraphEditor& editor, ValueId v) {
  if (editor.may_be_written(v)) return {};
  if (const TensorHandle* t = editor.constant(v)) return *t;
  const int32_t maker = editor.maker(v);
  if (maker < 0 || editor.node(maker).op.info().kind != Kind::view) return {};
  const GraphNode& n = editor.node(maker);
  const TensorHandle x = constant_behind(editor, n.in[0]);
  return x.defined() ? alias(x, n.op.info().view(n.op.ref(), x.layout())) : TensorHandle();
}

// A number for each channel (axis 1): a constant that is stretched along all other axes. Undefined where v is something else.
TensorHandle per_channel(const GraphEditor& editor, ValueId v, int64_t channels) {
  const TensorHandle t = constant_behind(editor, v);
  if (!t.defined() || t.rank() < 2 || t.shape()[1] != channels) return {};
  for (int i = 0; i < t.rank(); ++i)
    if (i != 1 && t.strides()[i] != 0 && t.shape()[i] != 1) return {};
  return alias(t, {Shape{channels}, Dims{t.strides()[1]}, t.layout().offset});
}

struct Affine {
  ValueId input = -1;         // what is scaled and shifted
  TensorHandle scale, shift;  // undefined: by one and zero
};

// What node n does, if it is an affine function of each channel of a value.
std::optional<Affine> affine_of(const GraphEditor& editor, const GraphNode& n) {
  if (n.writes || n.out.size() != 1 || editor.meta(n.out[0]).shape.rank() < 3) return {};
  const OpInfo* op = &n.op.info();
  const int64_t channels = editor.meta(n.out[0]).shape[1];
  auto number_of = [&](int64_t i) { return per_channel(editor, n.in[i], channels); };
  if (op == &op::addcmul && n.op.ref().as<AddProduct>().value.to_double() == 1) {
    const TensorHandle shift = number_of(0);
    for (int64_t other : {2, 1})
      if (const TensorHandle scale = number_of(other); shift.defined() && scale.defined()) return Affine{n.in[3 - other], scale, shift};
    return {};
  }
  if (n.in.size() != 2) return {};
  if (op == &op::mul) {
    for (int64_t other : {1, 0})
      if (const TensorHandle scale = number_of(other); scale.defined()) return Affine{n.in[1 - other], scale, {}};
  } else if (op == &op::add || op == &op::sub) {
    if (n.op.ref().as<Additive>().alpha.to_double() != 1) return {};
    if (const TensorHandle shift = number_of(1); shift.defined())
      return Affine{n.in[0], {}, op == &op::add ? shift : TensorHandle(neg(shift))};
    if (const TensorHandle shift = number_of(0); shift.defined() && op == &op::add) return Affine{n.in[1], {}, shift};
  }
  return {};
}

bool is_convolution(const GraphNode& n) { return &n.op.info() == &op::conv2d || &n.op.info() == &op::conv3d; }

TensorHandle per_filter(const TensorHandle& scale, const TensorHandle& weight) {
  Dims shape(weight.rank(), 1);
  shape[0] = scale.numel();
  return reshape(scale, shape);
}

// Puts what node i does into the convolution before it.
bool fold(GraphEditor& editor, int32_t i) {
  const std::optional<Affine> affine = affine_of(editor, editor.node(i));
  if (!affine || editor.may_be_written(affine->input) || editor.only_user(affine->input) != i) return false;
  const int32_t maker = editor.maker(affine->input);
  if (maker < 0 || !is_convolution(editor.node(maker))) return false;
  const GraphNode& conv = editor.node(maker);
  const ValueId result = editor.node(i).out[0];
  if (editor.may_be_written(result) || !(editor.meta(result) == editor.meta(affine->input))) return false;
  const TensorHandle* weight = editor.constant(conv.in[1]);
  const TensorHandle* bias = editor.constant(conv.in[2]);
  if (!weight || (conv.in[2] >= 0 && !bias) || editor.may_be_written(conv.in[1]) || weight->dtype() != editor.meta(result).dtype)
    return false;
  if (bias && editor.may_be_written(conv.in[2])) return false;
  TensorHandle new_weight = *weight, new_bias = bias ? *bias : TensorHandle();
  if (affine->scale.defined()) {
    new_weight = mul(*weight, per_filter(affine->scale, *weight));
    if (bias) new_bias = mul(*bias, affine->scale);
  }
  if (affine->shift.defined())
    new_bias = new_bias.defined() ? add(new_bias, affine->shift, Scalar(1)) : add(affine->shift, Scalar(0), Scalar(1));
  const ValueId w = editor.add_constant(new_weight), b = new_bias.defined() ? editor.add_constant(new_bias) : -1;
  editor.set_inputs(maker, {editor.node(maker).in[0], w, b});
  editor.replace(result, affine->input);
  editor.erase(i);
  return true;
}

}  // namespace

Ref<Graph> fold_scales(const Graph& g) {
  GraphEditor editor(g);
  for (int32_t i = 0; i < editor.nodes(); ++i)
    if (!editor.is_erased(i)) fold(editor, i);
  return editor.finish();
}

}  // namespace pyburn
