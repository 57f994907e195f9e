// Elementwise functions of one tensor: arithmetic and rounding.
#include "pyburn/ops/unary.h"

#include <limits>
#include <numbers>

#include "pyburn/ops/elementwise.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/extremum.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/logic.h"
#include "pyburn/ops/generated/unary.h"

namespace pyburn {

static double largest_number(DType t) {
  if (t == DType::float16) return 65504;
  if (t == DType::bfloat16) return 3.3895313892515355e38;
  return t == DType::float64 ? std::numeric_limits<double>::max() : double(std::numeric_limits<float>::max());
}
NanToNum NanToNum::from(const TensorHandle& input, std::optional<double> nan, std::optional<double> posinf, std::optional<double> neginf) {
  const double largest = largest_number(input.dtype());
  return {nan.value_or(0), posinf.value_or(largest), neginf.value_or(-largest)};
}

namespace {

Meta infer_round(const Round& a, Metas in) {
  require<DTypeError>(a.decimals == 0 || is_floating(in[0].dtype), "decimals are for floating dtypes: got {}", in[0].dtype);
  return infer_number(a, in);
}

Grads grad_neg(const NoAttrs&, const GradContext& c) { return {-c.dy()}; }
Grads grad_abs(const NoAttrs&, const GradContext& c) {
  const TensorHandle x = c.input(0);
  return {where(gt(x, 0), c.dy(), where(lt(x, 0), -c.dy(), 0.0))};
}
Grads grad_sqrt(const NoAttrs&, const GradContext& c) { return {c.dy() / (c.output() * 2.0)}; }
Grads grad_rsqrt(const NoAttrs&, const GradContext& c) {
  const TensorHandle y = c.output();
  return {c.dy() * (y * y * y * -0.5)};
}
Grads grad_nan_to_num(const NanToNum&, const GradContext& c) { return {where(isfinite(c.input(0)), c.dy(), 0.0)}; }

constexpr OpInfo rounding(OpInfo row) {
  row.kind = Kind::elementwise;
  row.samples = kAnySamples;
  return row;
}
constexpr OpInfo root(OpInfo row) {
  row.kind = Kind::elementwise;
  row.cast = Cast::promote_float;
  row.saves = outputs;
  row.samples = kPositiveSamples;
  return row;
}

}  // namespace

namespace op {
constinit OpInfo neg = define<NoAttrs, infer_number<NoAttrs>, grad_neg>({.schema = "neg(Tensor input) -> Tensor",
    .doc = "Negates the elements.",
    .kind = Kind::elementwise,
    .example = "pyburn.neg(pyburn.tensor([1., -2.]))",
    .samples = kAnySamples});
constinit OpInfo abs = define<NoAttrs, infer_number<NoAttrs>, grad_abs>({.schema = "abs(Tensor input) -> Tensor",
    .doc = "Computes the absolute value element-wise.",
    .kind = Kind::elementwise,
    .saves = inputs,
    .example = "pyburn.abs(pyburn.tensor([1., -2.]))",
    .samples = kAnySamples});
constinit OpInfo sign = rounding(define<NoAttrs, infer_same<NoAttrs>, grad_flat<NoAttrs>>({.schema = "sign(Tensor input) -> Tensor",
    .doc = "Returns the sign of the elements: -1, 0 or 1.",
    .example = "pyburn.sign(pyburn.tensor([2., 0., -3.]))"}));
constinit OpInfo floor = rounding(define<NoAttrs, infer_number<NoAttrs>, grad_flat<NoAttrs>>({.schema = "floor(Tensor input) -> Tensor",
    .doc = "Rounds down element-wise.",
    .example = "pyburn.floor(pyburn.tensor([1.5, -1.5]))"}));
constinit OpInfo ceil = rounding(define<NoAttrs, infer_number<NoAttrs>, grad_flat<NoAttrs>>(
    {.schema = "ceil(Tensor input) -> Tensor", .doc = "Rounds up element-wise.", .example = "pyburn.ceil(pyburn.tensor([1.5, -1.5]))"}));
constinit OpInfo trunc = rounding(define<NoAttrs, infer_number<NoAttrs>, grad_flat<NoAttrs>>({.schema = "trunc(Tensor input) -> Tensor",
    .doc = "Rounds towards zero element-wise.",
    .example = "pyburn.trunc(pyburn.tensor([1.5, -1.5]))"}));
constinit OpInfo round = define<Round, infer_round, grad_flat<Round>>({.schema = "round(Tensor input, *, int decimals=0) -> Tensor",
    .doc = "Rounds to the nearest integer, or to the given number of decimals, element-wise; ties go to the even neighbour.",
    .kind = Kind::elementwise,
    .example = "pyburn.round(pyburn.tensor([0.5, 1.5, 2.5]))",
    .samples = R"(
t(2, 3)
t(2, 3), decimals=1
t(), decimals=-1
t(0, 3)
t(4, 3).T
t(2, 1).expand(2, 5)
tensor([0.5, 1.5, -0.5, -2.5, nan, inf])
t(5, dtype=f64), decimals=2
t(5, dtype=f16)
t(5, dtype=i64)
t(5, dtype=i64), decimals=1 ! decimals)"});
constinit OpInfo sqrt = root(define<NoAttrs, infer_same<NoAttrs>, grad_sqrt>({.schema = "sqrt(Tensor input) -> Tensor",
    .doc = "Computes the square root element-wise.",
    .example = "pyburn.sqrt(pyburn.tensor([1., 4.]))"}));
constinit OpInfo rsqrt = root(define<NoAttrs, infer_same<NoAttrs>, grad_rsqrt>({.schema = "rsqrt(Tensor input) -> Tensor",
    .doc = "Computes the reciprocal of the square root element-wise.",
    .autocast = Autocast::full,
    .example = "pyburn.rsqrt(pyburn.tensor([1., 4.]))"}));
constinit OpInfo nan_to_num = define<NanToNum, infer_same<NanToNum>, grad_nan_to_num>(
    {.schema = "nan_to_num(Tensor input, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
        .doc = "Replaces NaN and infinities by finite numbers.",
        .kind = Kind::elementwise,
        .saves = inputs,
        .example = "pyburn.nan_to_num(pyburn.tensor([float('nan'), float('inf')]), posinf=9.)",
        .samples = R"(
tensor([0., nan, inf, -inf, 2.])
tensor([0., nan, inf, -inf, 2.]), 1.5
tensor([0., nan, inf, -inf, 2.], dtype=f64), 1.5, 2.5
tensor([0., nan, inf, -inf, 2.]), neginf=-3.0
tensor([0., nan, inf, -inf, 2.], dtype=f16), nan=3.0, posinf=4.0
t()
t(0, 3)
t(4, 3).T
t(2, 1).expand(2, 5)
t(5, dtype=i64)
None ! Tensor)"});
}  // namespace op

namespace {
constinit FunctionInfo functions[] = {
    {.schema = "square(Tensor input) -> Tensor",
        .doc = "Squares the elements.",
        .example = "pyburn.square(pyburn.tensor([1., -2.]))",
        .samples = kAnySamples,
        .in_place = true},
    {.schema = "reciprocal(Tensor input) -> Tensor",
        .doc = "Computes 1 / x element-wise.",
        .example = "pyburn.reciprocal(pyburn.tensor([1., 4.]))",
        .samples = kPositiveSamples,
        .in_place = true},
    {.schema = "frac(Tensor input) -> Tensor",
        .doc = "Computes the fractional part element-wise, with the sign of the element.",
        .example = "pyburn.frac(pyburn.tensor([1.5, -2.25]))",
        .samples = "t(2, 3)\nt()\nt(0)\nt(3, 2).T\nt(2, 1).expand(2, 3)\nt(4, dtype=f16)\nNone ! Tensor",
        .in_place = true},
    {.schema = "positive(Tensor input) -> Tensor",
        .doc = "Returns input unchanged.",
        .example = "pyburn.positive(pyburn.tensor([1., -4.]))",
        .samples = "t(2, 3)\nt()\nt(0)\nt(3, 2).T\nt(2, 1).expand(2, 3)\nt(4, dtype=i64)\nt(2, dtype=b8) ! bool"},
    {.schema = "deg2rad(Tensor input) -> Tensor",
        .doc = "Converts degrees to radians.",
        .example = "pyburn.deg2rad(pyburn.tensor([180., 90.]))",
        .samples = kAnySamples,
        .in_place = true},
    {.schema = "rad2deg(Tensor input) -> Tensor",
        .doc = "Converts radians to degrees.",
        .example = "pyburn.rad2deg(pyburn.tensor([3.14159, 0.]))",
        .samples = kAnySamples,
        .in_place = true},
};
}

TensorHandle fn::square(const TensorHandle& input) { return pow(input, 2); }
TensorHandle fn::reciprocal(const TensorHandle& input) { return div(1, input); }
TensorHandle fn::frac(const TensorHandle& input) { return input - trunc(input); }
TensorHandle fn::positive(const TensorHandle& input) {
  require<DTypeError>(input.dtype() != DType::boolean, "[positive] not defined for bool: got {}", input.shape());
  return input;
}
TensorHandle fn::deg2rad(const TensorHandle& input) { return input * (std::numbers::pi / 180); }
TensorHandle fn::rad2deg(const TensorHandle& input) { return input * (180 / std::numbers::pi); }

void register_unary(OpTable& table) {
  table.add({&op::neg, &op::abs, &op::sign, &op::floor, &op::ceil, &op::trunc, &op::round, &op::sqrt, &op::rsqrt, &op::nan_to_num});
  table.add(functions);
}

}  // namespace pyburn
