// Operations of another package for tests: every type of a schema, and rules that are wrong on purpose.
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/rules.h"
#include "pyburn/plugin.h"

using namespace pyburn;

namespace {

// Reads all of its inputs without a question, as rules may.
Meta infer_gate(const NoAttrs&, Metas in) {
  require(in[0].shape == in[1].shape && in[1].shape == in[2].shape, "expected equal shapes: got {}", in[2].shape);
  return in[0];
}
Grads grad_gate(const NoAttrs&, const GradContext& c) { return {c.dy() * c.input(1), c.dy() * c.input(0), c.dy()}; }
TensorHandle decompose_gate(const NoAttrs&, Inputs in) { return *in[0] * *in[1] + *in[2]; }

struct Everything {
  int64_t i = 0;
  std::optional<int64_t> oi;
  double f = 0;
  std::optional<double> of;
  bool b = false;
  std::optional<bool> ob;
  std::string s;
  std::optional<std::string> os;
  Dims d;
  OptionalDims od;
  Numbers n;
  OptionalNumbers on;
  std::optional<DType> dt;
  Scalar sc;
  std::optional<Scalar> osc;
  PB_FIELDS(i, oi, f, of, b, ob, s, os, d, od, n, on, dt, sc, osc)
};
Meta infer_everything(const Everything&, Metas in) { return in[0]; }
TensorHandle decompose_everything(const Everything& a, Inputs in) { return *in[0] + a.f + double(a.oi.value_or(0)) + double(a.d.size()); }

MetaList infer_each(const NoAttrs&, Metas in) {
  MetaList out;
  for (const Meta& m : in) out.push_back(m);
  return out;
}
Tensors decompose_each(const NoAttrs&, Inputs in) {
  Tensors out;
  for (const TensorHandle* t : in) out.push_back(*t * 2);
  return out;
}
MetaList infer_pair(const NoAttrs&, Metas in) { return {in[0], in[0]}; }
Tensors decompose_pair(const NoAttrs&, Inputs in) { return {*in[0] + 1, *in[0] - 1}; }

Meta infer_same(const NoAttrs&, Metas in) { return in[0]; }
TensorHandle decompose_same(const NoAttrs&, Inputs in) { return fn::clone(*in[0]); }
Grads too_few(const NoAttrs&, const GradContext&) { return {}; }
Grads too_many(const NoAttrs&, const GradContext& c) { return {c.dy(), c.dy()}; }
Grads wrong_shape(const NoAttrs&, const GradContext& c) { return {fn::zeros(Dims{7}, c.dy().dtype(), &c.dy().device(), false)}; }
Grads forgotten(const NoAttrs&, const GradContext& c) { return {c.dy() * c.input(0)}; }
Grads wrong_dtype(const NoAttrs&, const GradContext& c) { return {fn::cast(c.dy(), DType::float64)}; }

constinit OpInfo gate_row = define<NoAttrs, infer_gate, grad_gate, decompose_gate>(
    {.schema = "odd_gate(Tensor a, Tensor b, Tensor c) -> Tensor", .doc = "a * b + c.", .saves = inputs});
constinit OpInfo everything_row = define<Everything, infer_everything, nullptr, decompose_everything>(
    {.schema = "odd_everything(Tensor input, int i=1, *, int? oi=None, float f=0.5, float? of=None, bool b=True, bool? ob=None, str s='x', "
               "str? os=None, int[] d=(1,2), int[]? od=None, float[] n=(0.5,1), float[]? on=None, DType? dt=None, Scalar sc=1, Scalar? "
               "osc=None) -> Tensor",
        .doc = "Takes an argument of every type."});
constinit OpInfo each_row =
    define<NoAttrs, infer_each, nullptr, decompose_each>({.schema = "odd_each(Tensor[] tensors) -> Tensor[]", .doc = "Twice each tensor."});
constinit OpInfo pair_row = define<NoAttrs, infer_pair, nullptr, decompose_pair>(
    {.schema = "odd_pair(Tensor input) -> (Tensor above, Tensor below)", .doc = "The neighbours."});
constinit OpInfo few_row = define<NoAttrs, infer_same, too_few, decompose_same>(
    {.schema = "odd_few(Tensor input) -> Tensor", .doc = "A gradient rule that gives nothing."});
constinit OpInfo many_row = define<NoAttrs, infer_same, too_many, decompose_same>(
    {.schema = "odd_many(Tensor input) -> Tensor", .doc = "A gradient rule that gives too much."});
constinit OpInfo shape_row = define<NoAttrs, infer_same, wrong_shape, decompose_same>(
    {.schema = "odd_shape(Tensor input) -> Tensor", .doc = "A gradient of another shape."});
constinit OpInfo forgotten_row = define<NoAttrs, infer_same, forgotten, decompose_same>(
    {.schema = "odd_forgotten(Tensor input) -> Tensor", .doc = "A gradient that reads what is not kept."});
constinit OpInfo dtype_row = define<NoAttrs, infer_same, wrong_dtype, decompose_same>(
    {.schema = "odd_dtype(Tensor input) -> Tensor", .doc = "A gradient of another dtype."});

}  // namespace

PYBURN_PLUGIN() {
  OpTable::global().add({&gate_row, &everything_row, &each_row, &pair_row, &few_row, &many_row, &shape_row, &dtype_row, &forgotten_row});
}
