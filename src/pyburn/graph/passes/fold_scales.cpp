// y = scale * convolution(x, weight, bias) + shift is a convolution with another weight and bias; so is a linear layer, whose input may be
// scaled as well.
#include <algorithm>
#include <optional>

#include "pyburn/graph/graph_editor.h"
#include "pyburn/graph/passes.h"
#include "pyburn/ops/binary.h"
#include "pyburn/ops/conv.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/matmul.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/matmul.h"
#include "pyburn/ops/movement.h"
#include "pyburn/ops/pointwise.h"
#include "pyburn/support/checked.h"

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
  if (n.writes || n.out.size() != 1 || editor.meta(n.out[0]).shape.rank() < 2) return {};
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

// Does the node sum over a weight, with axis 1 of the result for its rows?
bool is_layer(const GraphEditor& editor, const GraphNode& n) {
  const OpInfo* op = &n.op.info();
  return op == &op::conv2d || op == &op::conv3d || (op == &op::linear && editor.meta(n.out[0]).shape.rank() == 2);
}
// Its weight and bias, if they are constants.
struct Parameters {
  TensorHandle weight, bias;  // undefined: no bias
};
std::optional<Parameters> parameters_of(const GraphEditor& editor, const GraphNode& n) {
  const TensorHandle* weight = editor.constant(n.in[1]);
  const TensorHandle* bias = n.in[2] >= 0 ? editor.constant(n.in[2]) : nullptr;
  if (!weight || editor.may_be_written(n.in[1]) || weight->dtype() != editor.meta(n.out[0]).dtype) return {};
  if (n.in[2] >= 0 && (!bias || editor.may_be_written(n.in[2]))) return {};
  return Parameters{*weight, bias ? *bias : TensorHandle()};
}
void set_parameters(GraphEditor& editor, int32_t layer, const Parameters& p) {
  const ValueId w = editor.add_constant(p.weight), b = p.bias.defined() ? editor.add_constant(p.bias) : -1;
  editor.set_inputs(layer, {editor.node(layer).in[0], w, b});
}

TensorHandle per_filter(const TensorHandle& scale, const TensorHandle& weight) {
  Dims shape(weight.rank(), 1);
  shape[0] = scale.numel();
  return reshape(scale, shape);
}

// Puts what node i does into the layer before it.
bool fold_back(GraphEditor& editor, int32_t i, const Affine& affine) {
  const int32_t layer = editor.maker(affine.input);
  if (layer < 0 || editor.only_user(affine.input) != i || !is_layer(editor, editor.node(layer))) return false;
  std::optional<Parameters> p = parameters_of(editor, editor.node(layer));
  if (!p) return false;
  if (affine.scale.defined()) {
    p->weight = mul(p->weight, per_filter(affine.scale, p->weight));
    if (p->bias.defined()) p->bias = mul(p->bias, affine.scale);
  }
  if (affine.shift.defined()) p->bias = p->bias.defined() ? add(p->bias, affine.shift) : add(affine.shift, Scalar(0));
  set_parameters(editor, layer, *p);
  return true;
}

// The node that is the only one to read v, if it is one of these operations.
int32_t only_reader(const GraphEditor& editor, ValueId v, std::initializer_list<const OpInfo*> ops) {
  const int32_t user = editor.may_be_written(v) ? -1 : editor.only_user(v);
  if (user < 0 || editor.is_erased(user) || editor.node(user).in[0] != v) return -1;
  return std::find(ops.begin(), ops.end(), &editor.node(user).op.info()) != ops.end() ? user : -1;
}

// Puts what node i does into the linear layer behind it, which reads flattened images: each channel is `pixels` columns of the weight.
bool fold_forward(GraphEditor& editor, int32_t i, const Affine& affine) {
  const ValueId result = editor.node(i).out[0];
  const Shape& s = editor.meta(result).shape;
  const int32_t flat = s.rank() > 2 ? only_reader(editor, result, {&op::reshape, &op::view}) : -1;
  const int32_t layer = flat >= 0 ? only_reader(editor, editor.node(flat).out[0], {&op::linear}) : -1;
  if (layer < 0) return false;
  std::optional<Parameters> p = parameters_of(editor, editor.node(layer));
  const int64_t channels = s[1];
  Checked columns = 1;
  for (int d = 1; d < s.rank(); ++d) columns *= s[d];
  if (!p || channels == 0 || p->weight.rank() != 2 || p->weight.shape()[1] != columns) return false;
  const Shape& rows = editor.meta(editor.node(flat).out[0]).shape;
  if (rows != Shape{s[0], columns}) return false;
  const int64_t pixels = columns / channels;
  const auto per_column = [&](const TensorHandle& t) {
    return reshape(expand(reshape(t, Dims{channels, 1}), Dims{channels, pixels}), Dims{columns});
  };
  if (affine.shift.defined()) {
    const TensorHandle shift = matmul(p->weight, per_column(affine.shift));
    p->bias = p->bias.defined() ? add(p->bias, shift) : shift;
  }
  if (affine.scale.defined()) p->weight = mul(p->weight, per_column(affine.scale));
  set_parameters(editor, layer, *p);
  return true;
}

using Fold = bool(GraphEditor&, int32_t i, const Affine&);

void try_to(Fold& fold, GraphEditor& editor, int32_t i) {
  if (editor.is_erased(i)) return;
  const std::optional<Affine> affine = affine_of(editor, editor.node(i));
  if (!affine || editor.may_be_written(affine->input)) return;
  const ValueId result = editor.node(i).out[0];
  if (editor.may_be_written(result) || !(editor.meta(result) == editor.meta(affine->input)) || !fold(editor, i, *affine)) return;
  editor.replace(result, affine->input);
  editor.erase(i);
}

}  // namespace

Ref<Graph> fold_scales(const Graph& g) {
  GraphEditor editor(g);
  for (int32_t i = 0; i < editor.nodes(); ++i) try_to(fold_back, editor, i);
  for (int32_t i = editor.nodes(); i-- > 0;) try_to(fold_forward, editor, i);
  return editor.finish();
}

}  // namespace pyburn
