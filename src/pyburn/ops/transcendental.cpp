// Exponentials, logarithms, angles, and the functions of statistics.
#include "pyburn/ops/transcendental.h"

#include <numbers>

#include "pyburn/ops/elementwise.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/pointwise.h"
#include "pyburn/ops/generated/transcendental.h"
#include "pyburn/ops/generated/unary.h"

namespace pyburn {
namespace {

constexpr double kLn2 = std::numbers::ln2, kLn10 = std::numbers::ln10;
constexpr double kErfSlope = 2 * std::numbers::inv_sqrtpi;  // of erf at 0

Grads grad_exp(const NoAttrs&, const GradContext& c) { return {c.dy() * c.output()}; }
Grads grad_exp2(const NoAttrs&, const GradContext& c) { return {c.dy() * (c.output() * kLn2)}; }
Grads grad_expm1(const NoAttrs&, const GradContext& c) { return {c.dy() * (c.output() + 1)}; }
Grads grad_log(const NoAttrs&, const GradContext& c) { return {c.dy() / c.input(0)}; }
Grads grad_log2(const NoAttrs&, const GradContext& c) { return {c.dy() / (c.input(0) * kLn2)}; }
Grads grad_log10(const NoAttrs&, const GradContext& c) { return {c.dy() / (c.input(0) * kLn10)}; }
Grads grad_entr(const NoAttrs&, const GradContext& c) { return {c.dy() * (-log(c.input(0)) - 1)}; }
Grads grad_log1p(const NoAttrs&, const GradContext& c) { return {c.dy() / (c.input(0) + 1)}; }
Grads grad_sin(const NoAttrs&, const GradContext& c) { return {c.dy() * cos(c.input(0))}; }
Grads grad_cos(const NoAttrs&, const GradContext& c) { return {-(c.dy() * sin(c.input(0)))}; }
Grads grad_tan(const NoAttrs&, const GradContext& c) {
  const TensorHandle y = c.output();
  return {c.dy() * (y * y + 1)};
}
Grads grad_asin(const NoAttrs&, const GradContext& c) {
  const TensorHandle x = c.input(0);
  return {c.dy() * rsqrt(1 - x * x)};
}
Grads grad_acos(const NoAttrs&, const GradContext& c) {
  const TensorHandle x = c.input(0);
  return {-(c.dy() * rsqrt(1 - x * x))};
}
Grads grad_atan(const NoAttrs&, const GradContext& c) {
  const TensorHandle x = c.input(0);
  return {c.dy() / (x * x + 1)};
}
Grads grad_sinh(const NoAttrs&, const GradContext& c) { return {c.dy() * cosh(c.input(0))}; }
Grads grad_cosh(const NoAttrs&, const GradContext& c) { return {c.dy() * sinh(c.input(0))}; }
Grads grad_tanh(const NoAttrs&, const GradContext& c) {
  const TensorHandle y = c.output();
  return {c.dy() * (1 - y * y)};
}
Grads grad_asinh(const NoAttrs&, const GradContext& c) {
  const TensorHandle x = c.input(0);
  return {c.dy() * rsqrt(x * x + 1)};
}
Grads grad_acosh(const NoAttrs&, const GradContext& c) {
  const TensorHandle x = c.input(0);
  return {c.dy() * rsqrt(x * x - 1)};
}
Grads grad_atanh(const NoAttrs&, const GradContext& c) {
  const TensorHandle x = c.input(0);
  return {c.dy() / (1 - x * x)};
}
Grads grad_erf(const NoAttrs&, const GradContext& c) {
  const TensorHandle x = c.input(0);
  return {c.dy() * (exp(-(x * x)) * kErfSlope)};
}
Grads grad_erfc(const NoAttrs&, const GradContext& c) {
  const TensorHandle x = c.input(0);
  return {-(c.dy() * (exp(-(x * x)) * kErfSlope))};
}
Grads grad_erfinv(const NoAttrs&, const GradContext& c) {
  const TensorHandle y = erfinv(c.input(0));
  return {c.dy() * (exp(y * y) / kErfSlope)};
}
Grads grad_lgamma(const NoAttrs&, const GradContext& c) { return {c.dy() * digamma(c.input(0))}; }
Grads grad_digamma(const NoAttrs&, const GradContext& c) { return {c.dy() * polygamma(1, c.input(0))}; }

Meta infer_polygamma(const Polygamma& a, Metas in) {
  require<ValueError>(a.n >= 0, "not defined for negative n: got {}", a.n);
  return in[0];
}
Grads grad_polygamma(const Polygamma& a, const GradContext& c) { return {c.dy() * polygamma(a.n + 1, c.input(0))}; }

constexpr const char* kAboveOne = R"(
above_one(2, 3)
above_one()
above_one(0, 3)
above_one(4, 3).T
above_one(2, 1).expand(2, 5)
above_one(5, dtype=f64)
above_one(5, dtype=f16)
above_one(3000)
tensor([1, 2, 3])
None ! Tensor)";

constexpr const char* kDigamma = R"(
positive(2, 3)
positive()
positive(0, 3)
positive(4, 3).T
positive(2, 1).expand(2, 5)
positive(5, dtype=f64).constant
positive(5, dtype=f16)
positive(5, dtype=i32)
tensor([0., -1., -0.5, 20., inf]).constant
None ! Tensor)";

constexpr OpInfo floating(OpInfo row, const char* samples = kAnySamples) {
  row.kind = Kind::elementwise;
  row.cast = Cast::promote_float;
  row.samples = samples;
  return row;
}

}  // namespace

namespace op {
constinit OpInfo exp = floating(define<NoAttrs, infer_same<NoAttrs>, grad_exp>({.schema = "exp(Tensor input) -> Tensor",
    .doc = "Computes the exponential element-wise.",
    .autocast = Autocast::full,
    .saves = outputs,
    .example = "pyburn.exp(pyburn.tensor([0., 1.]))"}));
constinit OpInfo exp2 = floating(define<NoAttrs, infer_same<NoAttrs>, grad_exp2>({.schema = "exp2(Tensor input) -> Tensor",
    .doc = "Computes 2^x element-wise.",
    .saves = outputs,
    .example = "pyburn.exp2(pyburn.tensor([0., 3.]))"}));
constinit OpInfo expm1 = floating(define<NoAttrs, infer_same<NoAttrs>, grad_expm1>({.schema = "expm1(Tensor input) -> Tensor",
    .doc = "Computes exp(x) - 1 element-wise, precisely for small x.",
    .autocast = Autocast::full,
    .saves = outputs,
    .example = "pyburn.expm1(pyburn.tensor([0., 1.]))"}));
constinit OpInfo log = floating(define<NoAttrs, infer_same<NoAttrs>, grad_log>({.schema = "log(Tensor input) -> Tensor",
                                    .doc = "Computes the natural logarithm element-wise.",
                                    .autocast = Autocast::full,
                                    .saves = inputs,
                                    .example = "pyburn.log(pyburn.tensor([1., 2.]))"}),
    kPositiveSamples);
constinit OpInfo log2 = floating(define<NoAttrs, infer_same<NoAttrs>, grad_log2>({.schema = "log2(Tensor input) -> Tensor",
                                     .doc = "Computes the base-2 logarithm element-wise.",
                                     .autocast = Autocast::full,
                                     .saves = inputs,
                                     .example = "pyburn.log2(pyburn.tensor([1., 8.]))"}),
    kPositiveSamples);
constinit OpInfo log10 = floating(define<NoAttrs, infer_same<NoAttrs>, grad_log10>({.schema = "log10(Tensor input) -> Tensor",
                                      .doc = "Computes the base-10 logarithm element-wise.",
                                      .autocast = Autocast::full,
                                      .saves = inputs,
                                      .example = "pyburn.log10(pyburn.tensor([1., 100.]))"}),
    kPositiveSamples);
constinit OpInfo log1p = floating(define<NoAttrs, infer_same<NoAttrs>, grad_log1p>({.schema = "log1p(Tensor input) -> Tensor",
                                      .doc = "Computes log(1 + x) element-wise, precisely for small x.",
                                      .autocast = Autocast::full,
                                      .saves = inputs,
                                      .example = "pyburn.log1p(pyburn.tensor([0., 1.]))"}),
    kPositiveSamples);
constinit OpInfo special_entr = floating(define<NoAttrs, infer_same<NoAttrs>, grad_entr>({.schema = "special_entr(Tensor input) -> Tensor",
                                             .doc = "Computes the entropy -x * log(x) element-wise; 0 at 0 and -inf for negative x.",
                                             .saves = inputs,
                                             .torch = "torch.special.entr",
                                             .example = "pyburn.special_entr(pyburn.tensor([0., 0.5, 1.]))"}),
    kPositiveSamples);
constinit OpInfo sin = floating(define<NoAttrs, infer_same<NoAttrs>, grad_sin>({.schema = "sin(Tensor input) -> Tensor",
    .doc = "Computes the sine element-wise.",
    .saves = inputs,
    .example = "pyburn.sin(pyburn.tensor([0., 1.]))"}));
constinit OpInfo cos = floating(define<NoAttrs, infer_same<NoAttrs>, grad_cos>({.schema = "cos(Tensor input) -> Tensor",
    .doc = "Computes the cosine element-wise.",
    .saves = inputs,
    .example = "pyburn.cos(pyburn.tensor([0., 1.]))"}));
constinit OpInfo tan = floating(define<NoAttrs, infer_same<NoAttrs>, grad_tan>({.schema = "tan(Tensor input) -> Tensor",
    .doc = "Computes the tangent element-wise.",
    .autocast = Autocast::full,
    .saves = outputs,
    .example = "pyburn.tan(pyburn.tensor([0., 1.]))"}));
constinit OpInfo asin = floating(define<NoAttrs, infer_same<NoAttrs>, grad_asin>({.schema = "asin(Tensor input) -> Tensor",
                                     .doc = "Computes the arc sine element-wise.",
                                     .autocast = Autocast::full,
                                     .saves = inputs,
                                     .example = "pyburn.asin(pyburn.tensor([0., 1.]))"}),
    kUnitSamples);
constinit OpInfo acos = floating(define<NoAttrs, infer_same<NoAttrs>, grad_acos>({.schema = "acos(Tensor input) -> Tensor",
                                     .doc = "Computes the arc cosine element-wise.",
                                     .autocast = Autocast::full,
                                     .saves = inputs,
                                     .example = "pyburn.acos(pyburn.tensor([0., 1.]))"}),
    kUnitSamples);
constinit OpInfo atan = floating(define<NoAttrs, infer_same<NoAttrs>, grad_atan>({.schema = "atan(Tensor input) -> Tensor",
    .doc = "Computes the arc tangent element-wise.",
    .saves = inputs,
    .example = "pyburn.atan(pyburn.tensor([0., 1.]))"}));
constinit OpInfo sinh = floating(define<NoAttrs, infer_same<NoAttrs>, grad_sinh>({.schema = "sinh(Tensor input) -> Tensor",
    .doc = "Computes the hyperbolic sine element-wise.",
    .autocast = Autocast::full,
    .saves = inputs,
    .example = "pyburn.sinh(pyburn.tensor([0., 1.]))"}));
constinit OpInfo cosh = floating(define<NoAttrs, infer_same<NoAttrs>, grad_cosh>({.schema = "cosh(Tensor input) -> Tensor",
    .doc = "Computes the hyperbolic cosine element-wise.",
    .autocast = Autocast::full,
    .saves = inputs,
    .example = "pyburn.cosh(pyburn.tensor([0., 1.]))"}));
constinit OpInfo tanh = floating(define<NoAttrs, infer_same<NoAttrs>, grad_tanh>({.schema = "tanh(Tensor input) -> Tensor",
    .doc = "Computes the hyperbolic tangent element-wise.",
    .saves = outputs,
    .example = "pyburn.tanh(pyburn.tensor([0., 1.]))"}));
constinit OpInfo asinh = floating(define<NoAttrs, infer_same<NoAttrs>, grad_asinh>({.schema = "asinh(Tensor input) -> Tensor",
    .doc = "Computes the inverse hyperbolic sine element-wise.",
    .saves = inputs,
    .example = "pyburn.asinh(pyburn.tensor([0., 1.]))"}));
constinit OpInfo acosh = floating(define<NoAttrs, infer_same<NoAttrs>, grad_acosh>({.schema = "acosh(Tensor input) -> Tensor",
                                      .doc = "Computes the inverse hyperbolic cosine element-wise.",
                                      .saves = inputs,
                                      .example = "pyburn.acosh(pyburn.tensor([1., 2.]))"}),
    kAboveOne);
constinit OpInfo atanh = floating(define<NoAttrs, infer_same<NoAttrs>, grad_atanh>({.schema = "atanh(Tensor input) -> Tensor",
                                      .doc = "Computes the inverse hyperbolic tangent element-wise.",
                                      .saves = inputs,
                                      .example = "pyburn.atanh(pyburn.tensor([0., 0.5]))"}),
    kUnitSamples);
constinit OpInfo erf = floating(define<NoAttrs, infer_same<NoAttrs>, grad_erf>({.schema = "erf(Tensor input) -> Tensor",
    .doc = "Computes the error function element-wise.",
    .saves = inputs,
    .example = "pyburn.erf(pyburn.tensor([0., 1.]))"}));
constinit OpInfo erfc = floating(define<NoAttrs, infer_same<NoAttrs>, grad_erfc>({.schema = "erfc(Tensor input) -> Tensor",
    .doc = "Computes the complementary error function 1 - erf(x) element-wise, precisely for large x.",
    .saves = inputs,
    .example = "pyburn.erfc(pyburn.tensor([0., 1.]))"}));
constinit OpInfo erfinv = floating(define<NoAttrs, infer_same<NoAttrs>, grad_erfinv>({.schema = "erfinv(Tensor input) -> Tensor",
                                       .doc = "Computes the inverse error function element-wise.",
                                       .autocast = Autocast::full,
                                       .saves = inputs,
                                       .example = "pyburn.erfinv(pyburn.tensor([0., 0.5]))"}),
    kUnitSamples);
constinit OpInfo lgamma = floating(define<NoAttrs, infer_same<NoAttrs>, grad_lgamma>({.schema = "lgamma(Tensor input) -> Tensor",
                                       .doc = "Computes the logarithm of the absolute value of the gamma function element-wise.",
                                       .saves = inputs,
                                       .example = "pyburn.lgamma(pyburn.tensor([1., 5.]))"}),
    kPositiveSamples);
constinit OpInfo digamma = floating(define<NoAttrs, infer_same<NoAttrs>, grad_digamma>({.schema = "digamma(Tensor input) -> Tensor",
                                        .doc = "Computes the digamma function (the derivative of lgamma) element-wise.",
                                        .saves = inputs,
                                        .example = "pyburn.digamma(pyburn.tensor([1., 2.]))"}),
    kDigamma);
constinit OpInfo polygamma =
    floating(define<Polygamma, infer_polygamma, grad_polygamma>({.schema = "polygamma(int n, Tensor input) -> Tensor",
                 .doc = "Computes the n-th derivative of the digamma function element-wise.",
                 .saves = inputs,
                 .example = "pyburn.polygamma(1, pyburn.tensor([1., 2.]))"}),
        R"(
1, positive(2, 3)
2, positive(2, 3)
0, positive()
3, positive(0, 3)
1, positive(4, 3).T
4, positive(2, 1).expand(2, 5)
2, positive(5, dtype=f64)
1, positive(5, dtype=f16)
1, positive(5, dtype=i32)
-1, positive(3) ! negative)");
}  // namespace op

namespace {
constinit FunctionInfo functions[] = {
    {.schema = "sinc(Tensor input) -> Tensor",
        .doc = "Computes the normalised sinc function element-wise: sin(pi * x) / (pi * x), and 1 at 0.",
        .example = "pyburn.sinc(pyburn.tensor([0., 0.5]))",
        .samples = kAnySamples,
        .in_place = true},
    {.schema = "logit(Tensor input, float? eps=None) -> Tensor",
        .doc = "Computes log(x / (1 - x)) element-wise; with eps, x is first clamped to [eps, 1 - eps].",
        .example = "pyburn.logit(pyburn.tensor([0.5, 0.75]))",
        .samples = R"(
fraction(2, 3)
fraction(2, 3), 0.2
fraction(), eps=0.3
fraction(2, 3), 0.6
fraction(0, 3)
fraction(4, 3).T
fraction(2, 1).expand(2, 5)
fraction(5, dtype=f64)
fraction(5, dtype=f16)
tensor([0., 1., 0.5])
None ! Tensor)",
        .in_place = true},
};
}

TensorHandle fn::sinc(const TensorHandle& input) {
  const TensorHandle zero = eq(input, 0), angle = where(zero, 1.0, input * std::numbers::pi);
  return where(zero, 1.0, sin(angle) / angle);
}
TensorHandle fn::logit(const TensorHandle& input, std::optional<double> eps) {
  TensorHandle x = is_floating(input.dtype()) ? TensorHandle(input) : cast(input, default_dtype());
  if (eps) x = where(lt(x, *eps), *eps, where(gt(x, 1 - *eps), 1 - *eps, x));  // the bounds may cross
  return log(x) - log1p(-x);
}

void register_transcendental(OpTable& table) {
  table.add({&op::exp, &op::exp2, &op::expm1, &op::log, &op::log2, &op::log10, &op::log1p, &op::special_entr, &op::sin, &op::cos, &op::tan,
      &op::asin, &op::acos, &op::atan, &op::sinh, &op::cosh, &op::tanh, &op::asinh, &op::acosh, &op::atanh, &op::erf, &op::erfc,
      &op::erfinv, &op::lgamma, &op::digamma, &op::polygamma});
  table.add(functions);
}

}  // namespace pyburn
