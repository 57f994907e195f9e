// Functions of physics and statistics.
#include "pyburn/ops/special.h"

#include <cmath>
#include <numbers>

#include "pyburn/ops/binary_rules.h"
#include "pyburn/ops/elementwise.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/binary_math.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/logic.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/special.h"
#include "pyburn/ops/generated/transcendental.h"
#include "pyburn/ops/generated/unary.h"

namespace pyburn {
namespace {

constexpr double kSlope = 2 * std::numbers::inv_sqrtpi;  // of erf at 0

// y / x, which tends to 1/2 at 0 for the functions of order one.
TensorHandle over(const TensorHandle& y, const TensorHandle& x) {
  const TensorHandle zero = eq(x, 0);
  return where(zero, 0.5, y / where(zero, 1.0, x));
}
Grads grad_i0(const NoAttrs&, const GradContext& c) { return {c.dy() * special_i1(c.input(0))}; }
Grads grad_i0e(const NoAttrs&, const GradContext& c) {
  const TensorHandle x = c.input(0);
  return {c.dy() * (special_i1e(x) - sign(x) * special_i0e(x))};
}
Grads grad_i1(const NoAttrs&, const GradContext& c) {
  const TensorHandle x = c.input(0);
  return {c.dy() * (i0(x) - over(special_i1(x), x))};
}
Grads grad_i1e(const NoAttrs&, const GradContext& c) {
  const TensorHandle x = c.input(0), y = special_i1e(x);
  return {c.dy() * (special_i0e(x) - sign(x) * y - over(y, x))};
}
Grads grad_erfcx(const NoAttrs&, const GradContext& c) {
  const TensorHandle x = c.input(0);
  return {c.dy() * (x * special_erfcx(x) * 2.0 - kSlope)};
}
Grads grad_ndtri(const NoAttrs&, const GradContext& c) {
  const TensorHandle y = c.output();
  return {c.dy() * exp(y * y * 0.5) * std::sqrt(2 * std::numbers::pi)};
}
// Derivatives by the first argument are not known in closed form; PyTorch has none either.
TensorHandle none_for_the_first() { fail<UnsupportedOp>("the derivative with respect to the first argument is not implemented"); }
Grads grad_zeta(const Binary& a, const GradContext& c) {
  const BothOperands o = operands_of(a, c);
  return gradients(a, c, none_for_the_first, [&] {
    if (o.left_tensor().defined()) return -(c.dy() * o.left_tensor() * special_zeta(o.left_tensor() + 1.0, o.right()));
    return c.dy() * special_zeta(o.number.to_double() + 1, o.right()) * -o.number.to_double();
  });
}
template <int sign>
Grads grad_gamma(const Binary& a, const GradContext& c) {
  return gradients(a, c, none_for_the_first, [&] {
    const TensorHandle s = c.input(0), x = c.input(1);
    return c.dy() * exp(xlogy(s - 1.0, x) - x - lgamma(s)) * double(sign);
  });
}

constexpr OpInfo function_of_one(OpInfo row, const char* samples = kAnySamples) {
  row.saves = inputs;
  return elementwise(row, Cast::promote_float, samples);
}
constexpr OpInfo incomplete(OpInfo row) {
  row.saves = inputs;
  return elementwise(row, Cast::promote, R"(
positive(2, 3).constant, positive(2, 3)
positive(2, 1).constant, positive(1, 3)
positive().constant, positive(2)
positive(0, 3).constant, positive(1, 3)
positive(4, 3).T.constant, positive(3, 4)
positive(2, 1).expand(2, 3).constant, positive(3)
positive(5, dtype=f64).constant, positive(5, dtype=f64)
positive(5, dtype=f16).constant, positive(5, dtype=f16).constant
tensor([1., 2., 0., 1., 30., 2., nan, 0.5]).constant, tensor([0., inf, 1., -1., 40., 9., 1., 100.]).constant
positive(2), positive(3) ! shapes do not broadcast
t(2, dtype=i64), t(2, dtype=i64) ! floating)");
}
Meta infer_floats(const Binary& a, Metas in) {
  require<DTypeError>(is_floating(in[0].dtype), "expected a floating dtype: got {}", in[0].dtype);
  return infer_binary(a, in);
}

}  // namespace

namespace op {
constinit OpInfo i0 = function_of_one(define<NoAttrs, infer_same<NoAttrs>, grad_i0>({.schema = "i0(Tensor input) -> Tensor",
    .doc = "Computes the modified Bessel function of the first kind of order 0 element-wise.",
    .example = "pyburn.i0(pyburn.tensor([0., 1.]))"}));
constinit OpInfo special_i0e =
    function_of_one(define<NoAttrs, infer_same<NoAttrs>, grad_i0e>({.schema = "special_i0e(Tensor input) -> Tensor",
        .doc = "Computes the exponentially scaled modified Bessel function of the first kind of order 0: exp(-|x|) * i0(x).",
        .torch = "torch.special.i0e",
        .example = "pyburn.special.i0e(pyburn.tensor([0., 1.]))"}));
constinit OpInfo special_i1 = function_of_one(define<NoAttrs, infer_same<NoAttrs>, grad_i1>({.schema = "special_i1(Tensor input) -> Tensor",
    .doc = "Computes the modified Bessel function of the first kind of order 1 element-wise.",
    .torch = "torch.special.i1",
    .example = "pyburn.special.i1(pyburn.tensor([0., 1.]))"}));
constinit OpInfo special_i1e =
    function_of_one(define<NoAttrs, infer_same<NoAttrs>, grad_i1e>({.schema = "special_i1e(Tensor input) -> Tensor",
        .doc = "Computes the exponentially scaled modified Bessel function of the first kind of order 1: exp(-|x|) * i1(x).",
        .torch = "torch.special.i1e",
        .example = "pyburn.special.i1e(pyburn.tensor([0., 1.]))"}));
constinit OpInfo special_erfcx =
    function_of_one(define<NoAttrs, infer_same<NoAttrs>, grad_erfcx>({.schema = "special_erfcx(Tensor input) -> Tensor",
                        .doc = "Computes the scaled complementary error function element-wise: exp(x^2) * erfc(x).",
                        .torch = "torch.special.erfcx",
                        .example = "pyburn.special.erfcx(pyburn.tensor([0., 30.]))"}),
        R"(
t(2, 3)
t()
t(0, 3)
t(4, 3).T
t(2, 1).expand(2, 5)
t(5, dtype=f64)
t(5, dtype=i64)
tensor([10., 24., 26., 100., -3., inf, nan])
None ! Tensor)");
constinit OpInfo special_ndtri =
    function_of_one(define<NoAttrs, infer_same<NoAttrs>, grad_ndtri>({.schema = "special_ndtri(Tensor input) -> Tensor",
                        .doc = "Computes the inverse of the standard normal distribution function element-wise.",
                        .reads = {{kOutputs}},
                        .torch = "torch.special.ndtri",
                        .example = "pyburn.special.ndtri(pyburn.tensor([0.5, 0.975]))"}),
        R"(
fraction(2, 3)
fraction()
fraction(0, 3)
fraction(4, 3).T
fraction(2, 1).expand(2, 5)
fraction(5, dtype=f64)
tensor([0, 1])
tensor([0., 1., 1e-30, 0.001, 0.999, -1., 2., nan]).constant
None ! Tensor)");
constinit OpInfo special_zeta = elementwise(
    define<Binary, infer_binary<Binary>, grad_zeta>({.schema = "special_zeta(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
        .doc = "Computes the Hurwitz zeta function: the sum of (k + other)^-input over k >= 0.",
        .saves = inputs,
        .torch = "torch.special.zeta",
        .example = "pyburn.special.zeta(2., pyburn.tensor([1., 2.]))"}),
    Cast::promote_float, R"(
above_one(2, 3).constant, positive(2, 3)
above_one(2, 1).constant, positive(1, 3)
above_one().constant, positive(2)
above_one(0, 3).constant, positive(1, 3)
above_one(4, 3).T.constant, positive(3, 4)
above_one(2, 1).expand(2, 3).constant, positive(3)
above_one(5, dtype=f64).constant, positive(5, dtype=f64)
2.5, positive(3)
above_one(3).constant, 1.5
tensor([2, 3, 5]), positive(3)
tensor([1., 0.5, 2., 2., 30.]).constant, tensor([1., 1., 0., -1., 2.]).constant
t(2), t(3) ! shapes do not broadcast)");
constinit OpInfo igamma = incomplete(define<Binary, infer_floats, grad_gamma<1>>({.schema = "igamma(Tensor input, Tensor other) -> Tensor",
    .doc = "Computes the regularised lower incomplete gamma function P(input, other) element-wise.",
    .example = "pyburn.igamma(pyburn.tensor([1.]), pyburn.tensor([2.]))"}));
constinit OpInfo igammac =
    incomplete(define<Binary, infer_floats, grad_gamma<-1>>({.schema = "igammac(Tensor input, Tensor other) -> Tensor",
        .doc = "Computes the regularised upper incomplete gamma function Q(input, other) element-wise.",
        .example = "pyburn.igammac(pyburn.tensor([1.]), pyburn.tensor([2.]))"}));
}  // namespace op

namespace {
constinit FunctionInfo functions[] = {
    {.schema = "special_ndtr(Tensor input) -> Tensor",
        .doc = "Computes the standard normal distribution function element-wise.",
        .torch = "torch.special.ndtr",
        .example = "pyburn.special.ndtr(pyburn.tensor([0., 1.96]))",
        .samples = "t(2, 3)\nt()\nt(0)\nt(3, 2).T\nt(2, 1).expand(2, 3)\nt(5, dtype=f64)\nt(5, dtype=i64)\ntensor([-8., 8., inf, -inf, "
                   "nan])\nNone ! Tensor",
        .out = true},
    {.schema = "special_log_ndtr(Tensor input) -> Tensor",
        .doc = "Computes the logarithm of the standard normal distribution function in a numerically stable way.",
        .torch = "torch.special.log_ndtr",
        .example = "pyburn.special.log_ndtr(pyburn.tensor([0., -40.]))",
        .samples = "t(2, 3)\nt()\nt(0)\nt(3, 2).T\nt(2, 1).expand(2, 3)\nt(5, dtype=f64)\nt(5, dtype=i64)\ntensor([-8., 8., -40., 40., "
                   "-1.]).constant\nNone ! Tensor",
        .out = true},
    {.schema = "special_xlog1py(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
        .doc = "Computes input * log1p(other) element-wise; 0 where input is 0.",
        .torch = "torch.special.xlog1py",
        .example = "pyburn.special.xlog1py(pyburn.tensor([0., 2.]), pyburn.tensor([-1., 1.]))",
        .samples =
            "t(2, 3), positive(2, 3)\nt(2, 1), positive(1, 3)\nt(), positive(2)\nt(0, 3), positive(1, 3)\nt(3, 2).T, positive(2, 3)\n"
            "t(2, 1).expand(2, 3), positive(3)\n2.5, positive(3)\nt(3), 1.5\nt(2, dtype=i64), positive(2, dtype=i64)\ntensor([0., 0., "
            "0., 0., 2.]).constant, tensor([-1., nan, inf, -3., -1.]).constant\nt(2), t(3) ! shapes do not broadcast",
        .out = true},
    {.schema = "mvlgamma(Tensor input, int p) -> Tensor",
        .doc = "Computes the logarithm of the multivariate gamma function of dimension p element-wise.",
        .example = "pyburn.mvlgamma(pyburn.tensor([3., 4.]), 2)",
        .samples = "above_one(2, 3), 1\nabove_one(2, 3), 2\nabove_one(), 3\nt(0), 2\nabove_one(3, 2).T, 2\nabove_one(2, 1).expand(2, 3), "
                   "2\nabove_one(5, dtype=f64), 2\nt(2), 0 ! p",
        .in_place = true},
};

// x where `chosen`, else a number at which nothing happens: both branches stay finite.
TensorHandle kept(const TensorHandle& chosen, const TensorHandle& x, double otherwise) { return where(chosen, x, otherwise); }
TensorHandle as_floating(const TensorHandle& x) { return is_floating(x.dtype()) ? x : cast(x, default_dtype()); }

}  // namespace

TensorHandle fn::special_ndtr(const TensorHandle& input) { return erfc(as_floating(input) * -std::numbers::sqrt2 * 0.5) * 0.5; }
TensorHandle fn::special_log_ndtr(const TensorHandle& input) {
  const TensorHandle x = as_floating(input), low = lt(x, -1.0), high = logical_not(low);
  const TensorHandle left = kept(low, x, -1.0), right = kept(high, x, -1.0);
  return where(low, log(special_erfcx(left * (-std::numbers::sqrt2 / 2)) * 0.5) - left * left * 0.5,
      log1p(erfc(right * (std::numbers::sqrt2 / 2)) * -0.5));
}
TensorHandle fn::special_xlog1py(const Operand& input, const Operand& other) {
  require<ValueError>(input.is_tensor() || other.is_tensor(), "expected a tensor among the arguments: got two numbers");
  const TensorHandle& either = input.is_tensor() ? input.tensor() : other.tensor();
  auto tensor = [&](const Operand& o) { return o.is_tensor() ? o.tensor() : full(Dims{}, o.value(), {}, &either.device()); };
  const TensorHandle x = tensor(input), y = tensor(other);
  const TensorHandle unlogged = logical_and(eq(x, 0), logical_or(le(y, -1), isinf(y)));
  return mul(input, log1p(where(unlogged, 0, y)));
}
TensorHandle fn::mvlgamma(const TensorHandle& input, int64_t p) {
  require<ValueError>(p >= 1, "p has to be greater than or equal to 1: got {}", p);
  const TensorHandle x = as_floating(input), shifts = arange(p, {}, 1, x.dtype(), &x.device()) / 2;
  return sum(lgamma(unsqueeze(x, -1) - shifts), Dims{-1}) + double(p) * double(p - 1) / 4 * std::log(std::numbers::pi);
}

void register_special(OpTable& table) {
  table.add({&op::i0, &op::special_i0e, &op::special_i1, &op::special_i1e, &op::special_erfcx, &op::special_ndtri, &op::special_zeta,
      &op::igamma, &op::igammac});
  table.add(functions);
}

}  // namespace pyburn
