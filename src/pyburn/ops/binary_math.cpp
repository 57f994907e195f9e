// Divisions with a remainder, angles and lengths, logarithms of sums: functions of two operands.
#include "pyburn/ops/generated/binary_math.h"

#include <cmath>
#include <numbers>

#include "pyburn/ops/binary_rules.h"
#include "pyburn/ops/elementwise.h"
#include "pyburn/ops/generated/activation.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/logic.h"
#include "pyburn/ops/generated/transcendental.h"
#include "pyburn/ops/generated/unary.h"

namespace pyburn {
namespace {

Meta infer_division(const Binary& a, Metas in) {
  require<DTypeError>(in[0].dtype != DType::boolean, "not defined for bool: got {}", in[0].shape);
  return infer_binary(a, in);
}
Meta infer_floats(const Binary& a, Metas in) {
  require<DTypeError>(is_floating(in[0].dtype), "expected a floating dtype: got {}", in[0].dtype);
  return infer_binary(a, in);
}

Meta infer_wide(const Binary& a, Metas in) {
  require<DTypeError>(in[0].dtype == DType::float32 || in[0].dtype == DType::float64, "expected float32 or float64: got {}", in[0].dtype);
  return infer_binary(a, in);
}

Meta infer_integers(const Binary& a, Metas in) {
  require<DTypeError>(is_integral(in[0].dtype) && in[0].dtype != DType::boolean, "expected integers: got {}", in[0].dtype);
  return infer_binary(a, in);
}

Grads grad_floor_divide(const Binary& a, const GradContext& c) {
  auto flat = [&] { return zeros_like(c.dy()); };
  return gradients(a, c, flat, flat);
}
template <auto quotient>
Grads grad_of_rest(const Binary& a, const GradContext& c) {  // x - y * quotient(x, y)
  const BothOperands o = operands_of(a, c);
  return gradients(
      a, c, [&] { return c.dy(); }, [&] { return -(c.dy() * quotient(o.left(), o.right())); });
}
TensorHandle floored_quotient(const Operand& x, const Operand& y) { return floor_divide(x, y); }
TensorHandle truncated_quotient(const Operand& x, const Operand& y) { return trunc(div(x, y)); }

Grads grad_atan2(const Binary& a, const GradContext& c) {
  const TensorHandle y = c.input(0), x = c.input(1);
  const TensorHandle z = x * x + y * y, g = where(eq(z, 0), 0.0, c.dy() / z);  // 0 at the origin, as in PyTorch
  return gradients(
      a, c, [&] { return g * x; }, [&] { return -(g * y); });
}
Grads grad_hypot(const Binary& a, const GradContext& c) {
  const TensorHandle g = c.dy() / c.output();
  return gradients(
      a, c, [&] { return g * c.input(0); }, [&] { return g * c.input(1); });
}
Grads grad_xlogy(const Binary& a, const GradContext& c) {
  const BothOperands o = operands_of(a, c);
  auto left = [&] {  // 0 where x is 0 and y has no logarithm, as in PyTorch
    if (a.scalar == Side::right) return c.dy() * std::log(a.value.to_double());
    const TensorHandle zero = logical_and(eq(o.left_tensor(), 0), le(o.right_tensor(), 0));
    return where(zero, 0.0, c.dy() * log(o.right_tensor()));
  };
  return gradients(a, c, left, [&] { return c.dy() * div(o.left(), o.right()); });
}
Grads shares_of_sum(const Binary& a, const GradContext& c, double log_base) {
  const TensorHandle apart = (c.input(0) - c.input(1)) * log_base;
  return gradients(
      a, c, [&] { return c.dy() * sigmoid(apart); }, [&] { return c.dy() * sigmoid(-apart); });
}
Grads grad_logaddexp(const Binary& a, const GradContext& c) { return shares_of_sum(a, c, 1); }
Grads grad_logaddexp2(const Binary& a, const GradContext& c) { return shares_of_sum(a, c, std::numbers::ln2); }
Grads grad_copysign(const Binary& a, const GradContext& c) {
  const BothOperands o = operands_of(a, c);
  auto left = [&] {
    const TensorHandle flips = ne(signbit(o.left_tensor()), signbit(c.output()));
    return where(eq(o.left(), 0), 0.0, where(flips, -c.dy(), c.dy()));
  };
  return gradients(a, c, left, [&] { return zeros_like(c.dy()); });
}
// Equal elements share the gradient; NaN gets none.
template <auto wins>
Grads grad_fextremum(const Binary& a, const GradContext& c) {
  const TensorHandle x = c.input(0), y = c.input(1), &dy = c.dy();
  const TensorHandle half = where(eq(x, y), dy * 0.5, 0.0);
  return gradients(
      a, c, [&] { return where(logical_or(wins(x, y), isnan(y)), dy, half); },
      [&] { return where(logical_or(wins(y, x), isnan(x)), dy, half); });
}
TensorHandle is_larger(const TensorHandle& x, const TensorHandle& y) { return gt(x, y); }
TensorHandle is_smaller(const TensorHandle& x, const TensorHandle& y) { return lt(x, y); }
Grads grad_nextafter(const Binary& a, const GradContext& c) {
  return gradients(
      a, c, [&] { return where(ne(c.input(0), c.input(1)), c.dy(), 0.0); }, [&] { return zeros_like(c.dy()); });
}

constexpr const char* kDivisions = R"(
t(2, 3), t(2, 3)
t(2, 3), t(3)
t(2, 1), t(1, 3)
t(), t(2)
t(0, 3), t(1, 3)
t(4, 3).T, t(3, 4)
t(3, 4)[:, ::2], t(2)
t(2, 3), 0.75
t(2, 3), -0.75
t(2, 3, dtype=i64), 2
t(2, 3, dtype=i64), -2
t(2, 3, dtype=i64), 2.5
2.5, t(2, 3)
t(5, dtype=f64), t(5)
t(5, dtype=f16), t(5, dtype=f16)
t(5, dtype=bf16), t()
t(4, dtype=i8), positive(4, dtype=i8)
t(4, dtype=u8), positive(4, dtype=u8)
t(3000), t(3000)
tensor([1., -2., 3., nan, inf, 1.]), tensor([0., 0., 2., 1., 2., -inf])
tensor([7, -7, 7, -7]), tensor([2, 2, -2, -2])
t(2, dtype=i64), tensor([1, 0]) ! zero
t(2, dtype=b8), t(2, dtype=b8) ! bool
t(2, 3), t(4, 5) ! shapes do not broadcast)";
constexpr const char* kTensors = R"(
t(2, 3), t(2, 3)
t(2, 3), t(3)
t(2, 1), t(1, 3)
t(), t(2)
t(0, 3), t(1, 3)
t(4, 3).T, t(3, 4)
t(3, 4)[:, ::2], t(2)
t(5, dtype=f64), t(5)
t(5, dtype=f16), t(5, dtype=f16)
t(5, dtype=bf16), t()
t(3000), t(3000)
tensor([1., -2., 0., nan, 3., -0.]), tensor([2., 0., 0., 1., nan, 1.])
t(2, 3), t(4, 5) ! shapes do not broadcast)";
constexpr const char* kXlogy = R"(
t(2, 3), positive(2, 3)
t(2, 3), positive(3)
t(2, 1), positive(1, 3)
t(), positive(2)
t(0, 3), positive(1, 3)
t(4, 3).T, positive(3, 4)
t(2, 3), 2.5
2.5, positive(2, 3)
t(5, dtype=i64), 3
t(5, dtype=f64), positive(5)
t(5, dtype=f16), positive(5, dtype=f16)
tensor([0., 0., 1., 0.]), tensor([0., nan, 0., 2.])
t(2, 3), t(4, 5) ! shapes do not broadcast)";
constexpr const char* kCopysign = R"(
t(2, 3), t(2, 3)
t(2, 1), t(1, 3)
t(), t(2)
t(0, 3), t(1, 3)
t(4, 3).T, t(3, 4)
t(2, 3), -2.5
t(2, 3, dtype=i64), -2
t(5, dtype=f16), t(5, dtype=f16)
tensor([1., -2., 0., 3.]), tensor([-0., 0., -1., nan])
t(2, 3), t(4, 5) ! shapes do not broadcast)";
constexpr const char* kDivisors = R"(
t(2, 3, dtype=i64), t(2, 3, dtype=i64)
t(2, 1, dtype=i64), t(1, 3, dtype=i64)
t(dtype=i64), t(2, dtype=i64)
t(0, 3, dtype=i64), t(1, 3, dtype=i64)
t(4, 3, dtype=i64).T, t(3, 4, dtype=i64)
t(5, dtype=u8), t(5, dtype=i32)
tensor([12, -18, 0, 0, 7]), tensor([18, 12, 5, 0, -7])
t(2, dtype=i64), t(3, dtype=i64) ! shapes do not broadcast
t(2), t(2) ! integers)";
constexpr const char* kHeaviside = R"(
t(2, 3), t(2, 3)
t(2, 1), t(1, 3)
t(), t(2)
t(0, 3), t(1, 3)
t(4, 3).T, t(3, 4)
t(4, dtype=i64), t(4, dtype=i64)
t(5, dtype=f16), t(5, dtype=f16)
tensor([1., -2., 0., -0., 3.]), tensor([5., 5., 5., nan, 5.])
t(2, 3), t(4, 5) ! shapes do not broadcast)";

}  // namespace

namespace op {
constinit OpInfo floor_divide = elementwise(
    define<Binary, infer_division, grad_floor_divide>({.schema = "floor_divide(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
        .doc = "Divides input by other element-wise and rounds down.",
        .torch = "lambda a, b: torch.div(a, b, rounding_mode='floor')",
        .example = "pyburn.floor_divide(pyburn.tensor([5, -5]), 2)"}),
    Cast::promote, kDivisions);
constinit OpInfo remainder = elementwise(
    define<Binary, infer_division, grad_of_rest<floored_quotient>>(
        {.schema = "remainder(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
            .doc = "Computes the element-wise remainder of the division with the sign of other, as Python's %.",
            .reads = {{}, {0, 1}},
            .torch = "lambda a, b: torch.remainder(a, b) if isinstance(a, torch.Tensor) else torch.remainder(*torch_pair(a, b))",
            .example = "pyburn.remainder(pyburn.tensor([5, -5]), 3)"}),
    Cast::promote, kDivisions);
constinit OpInfo fmod = elementwise(
    define<Binary, infer_division, grad_of_rest<truncated_quotient>>({.schema = "fmod(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
        .doc = "Computes the element-wise remainder of the division with the sign of input, as C's fmod.",
        .reads = {{}, {0, 1}},
        .torch = "lambda a, b: torch.fmod(*torch_pair(a, b)) if not isinstance(a, torch.Tensor) else torch.fmod(a, b)",
        .example = "pyburn.fmod(pyburn.tensor([5, -5]), 3)"}),
    Cast::promote, kDivisions);
constinit OpInfo atan2 = elementwise(
    define<Binary, infer_binary<Binary>, grad_atan2>({.schema = "atan2(Tensor input, Tensor other) -> Tensor",
        .doc = "Computes the element-wise arc tangent of input / other in the range [-pi, pi], with the quadrant taken from the signs.",
        .saves = inputs,
        .example = "pyburn.atan2(pyburn.tensor([1., -1.]), pyburn.tensor([0., -1.]))"}),
    Cast::promote_float, kTensors);
constinit OpInfo hypot = elementwise(define<Binary, infer_floats, grad_hypot>({.schema = "hypot(Tensor input, Tensor other) -> Tensor",
                                         .doc = "Computes sqrt(input^2 + other^2) element-wise without intermediate overflow.",
                                         .reads = {{0, kOutputs}, {1, kOutputs}},
                                         .example = "pyburn.hypot(pyburn.tensor([3.]), pyburn.tensor([4.]))"}),
    Cast::promote, kTensors);
constinit OpInfo xlogy =
    elementwise(define<Binary, infer_binary<Binary>, grad_xlogy>({.schema = "xlogy(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
                    .doc = "Computes input * log(other) element-wise; 0 where input is 0.",
                    .saves = inputs,
                    .example = "pyburn.xlogy(pyburn.tensor([0., 2.]), pyburn.tensor([0., 2.]))"}),
        Cast::promote_float, kXlogy);
constinit OpInfo logaddexp =
    elementwise(define<Binary, infer_floats, grad_logaddexp>({.schema = "logaddexp(Tensor input, Tensor other) -> Tensor",
                    .doc = "Computes log(exp(input) + exp(other)) element-wise in a numerically stable way.",
                    .saves = inputs,
                    .example = "pyburn.logaddexp(pyburn.tensor([1.]), pyburn.tensor([1.]))"}),
        Cast::promote, kTensors);
constinit OpInfo logaddexp2 =
    elementwise(define<Binary, infer_floats, grad_logaddexp2>({.schema = "logaddexp2(Tensor input, Tensor other) -> Tensor",
                    .doc = "Computes log2(2^input + 2^other) element-wise in a numerically stable way.",
                    .saves = inputs,
                    .example = "pyburn.logaddexp2(pyburn.tensor([1.]), pyburn.tensor([1.]))"}),
        Cast::promote, kTensors);
constinit OpInfo copysign =
    elementwise(define<Binary, infer_binary<Binary>, grad_copysign>({.schema = "copysign(Tensor input, Tensor|Scalar other) -> Tensor",
                    .doc = "Returns the magnitude of input with the sign of other, element-wise.",
                    .reads = {{0, kOutputs}, {}},
                    .example = "pyburn.copysign(pyburn.tensor([1., -2.]), -1.)"}),
        Cast::promote_float, kCopysign);
constinit OpInfo fmax =
    elementwise(define<Binary, infer_binary<Binary>, grad_fextremum<is_larger>>({.schema = "fmax(Tensor input, Tensor other) -> Tensor",
                    .doc = "Computes the element-wise maximum; where one element is NaN, returns the other.",
                    .saves = inputs,
                    .example = "pyburn.fmax(pyburn.tensor([1., float('nan')]), pyburn.tensor([0., 2.]))"}),
        Cast::promote, kTensors);
constinit OpInfo fmin =
    elementwise(define<Binary, infer_binary<Binary>, grad_fextremum<is_smaller>>({.schema = "fmin(Tensor input, Tensor other) -> Tensor",
                    .doc = "Computes the element-wise minimum; where one element is NaN, returns the other.",
                    .saves = inputs,
                    .example = "pyburn.fmin(pyburn.tensor([1., float('nan')]), pyburn.tensor([0., 2.]))"}),
        Cast::promote, kTensors);
constinit OpInfo nextafter =
    elementwise(define<Binary, infer_wide, grad_nextafter>({.schema = "nextafter(Tensor input, Tensor other) -> Tensor",
                    .doc = "Returns the next floating-point value after input towards other, element-wise.",
                    .reads = {{0, 1}, {}},
                    .example = "pyburn.nextafter(pyburn.tensor([1.]), pyburn.tensor([2.])) > 1"}),
        Cast::promote, R"(
t(2, 3), t(2, 3)
t(2, 1), t(1, 3)
t(), t(2)
t(0, 3), t(1, 3)
t(4, 3).T, t(3, 4)
t(5, dtype=f64), t(5, dtype=f64)
t(2), t(2, dtype=i64)
t(2, dtype=f16), t(2, dtype=f16) ! float32 or float64)");
constinit OpInfo heaviside = elementwise(
    define<Binary, infer_binary<Binary>>({.schema = "heaviside(Tensor input, Tensor values) -> Tensor",
        .doc = "Computes the Heaviside step function element-wise: 0 where input < 0, 1 where input > 0, and values where input is 0.",
        .no_grad = "PyTorch defines none",
        .torch = "lambda x, v: torch.heaviside(x.detach(), v.detach())",
        .example = "pyburn.heaviside(pyburn.tensor([-1., 0., 1.]), pyburn.tensor(0.5))"}),
    Cast::promote, kHeaviside);
constinit OpInfo gcd = elementwise(define<Binary, infer_integers>({.schema = "gcd(Tensor input, Tensor other) -> Tensor",
                                       .doc = "Computes the greatest common divisor element-wise; gcd(0, 0) is 0.",
                                       .no_grad = "integers have none",
                                       .example = "pyburn.gcd(pyburn.tensor([12, 8]), pyburn.tensor([18, 0]))"}),
    Cast::promote, kDivisors);
constinit OpInfo lcm = elementwise(define<Binary, infer_integers>({.schema = "lcm(Tensor input, Tensor other) -> Tensor",
                                       .doc = "Computes the least common multiple element-wise; 0 where one operand is 0.",
                                       .no_grad = "integers have none",
                                       .example = "pyburn.lcm(pyburn.tensor([12, 8]), pyburn.tensor([18, 0]))"}),
    Cast::promote, kDivisors);
}  // namespace op

namespace {
constinit FunctionInfo functions[] = {
    {.schema = "ldexp(Tensor input, Tensor other) -> Tensor",
        .doc = "Computes input * 2^other element-wise.",
        .example = "pyburn.ldexp(pyburn.tensor([1., 3.]), pyburn.tensor([1, 2]))",
        .samples = "t(2, 3), t(2, 3, dtype=i64)\nt(2, 1), t(1, 3)\nt(), t(2)\nt(0, 3), t(1, 3)\nt(2, 1).expand(2, 3), t(3)\nt(4, 3).T, "
                   "t(3, 4)\nt(5, dtype=f64), t(5, "
                   "dtype=f64)\n"
                   "t(4, dtype=f16), t(4, dtype=f16)\nt(2), t(3) ! shapes do not broadcast",
        .in_place = true},
};
}

TensorHandle fn::ldexp(const TensorHandle& input, const TensorHandle& other) {
  return input * exp2(is_floating(other.dtype()) || !is_floating(input.dtype()) ? other : cast(other, input.dtype()));
}

void register_binary_math(OpTable& table) {
  table.add({&op::floor_divide, &op::remainder, &op::fmod, &op::atan2, &op::hypot, &op::xlogy, &op::logaddexp, &op::logaddexp2,
      &op::copysign, &op::fmax, &op::fmin, &op::nextafter, &op::heaviside, &op::gcd, &op::lcm});
  table.add(functions);
}

}  // namespace pyburn
