// Elementwise functions of two operands, one of which may be a number, and where.
#include "pyburn/ops/binary.h"

#include <cmath>

#include "pyburn/ops/binary_rules.h"
#include "pyburn/ops/elementwise.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/binary_math.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/transcendental.h"
#include "pyburn/ops/generated/unary.h"

namespace pyburn {

Where Where::from(const TensorHandle&, const Operand& input, const Operand& other) {
  if (input.is_tensor()) return other.is_tensor() ? Where{} : Where{Side::right, other.value()};
  return other.is_tensor() ? Where{Side::left, input.value()} : Where{Side::both, input.value(), other.value()};
}
Binary Binary::from(const Operand& input, const Operand& other) {
  require<DTypeError>(input.is_tensor() || other.is_tensor(), "at least one operand must be a Tensor: got two numbers");
  if (!input.is_tensor()) return {Side::left, input.value()};
  if (!other.is_tensor()) return {Side::right, other.value()};
  return {};
}

namespace {

Meta infer_additive(const Additive& a, Metas in) {
  if (!is_floating(in[0].dtype))
    require<DTypeError>(!a.alpha.is_floating(), "for integral input, alpha must not be floating: got {}", a.alpha);
  return infer_binary(a, in);
}
Meta infer_sub(const Additive& a, Metas in) {
  require<DTypeError>(in[0].dtype != DType::boolean, "not defined for bool: use logical_xor or ^ instead");
  return infer_additive(a, in);
}
Meta infer_pow(const Binary& a, Metas in) {
  if (a.scalar == Side::right && !is_floating(in[0].dtype))
    require<ValueError>(a.value.to_double() >= 0, "integers to negative integer powers are not allowed: got {}", a.value);
  return infer_binary(a, in);
}

Grads grad_add(const Additive& a, const GradContext& c) {
  const TensorHandle& dy = c.dy();
  const bool plain = a.alpha == Scalar(1);
  return in_order(a, dy, plain || a.scalar == Side::right ? dy : TensorHandle(dy * Operand(a.alpha)));
}
Grads grad_sub(const Additive& a, const GradContext& c) {
  const TensorHandle& dy = c.dy();
  if (a.scalar == Side::right) return {dy};
  return in_order(a, dy, a.alpha == Scalar(1) ? -dy : dy * Operand(Scalar(-a.alpha.to_double())));
}
Grads grad_mul(const Binary& a, const GradContext& c) {
  const TensorHandle& dy = c.dy();
  if (a.scalar != Side::none) return {dy * Operand(a.value)};
  return {c.needs(0) ? dy * c.input(1) : TensorHandle(), c.needs(1) ? dy * c.input(0) : TensorHandle()};
}
Grads grad_div(const Binary& a, const GradContext& c) {
  const TensorHandle& dy = c.dy();
  if (a.scalar == Side::right) return {dy / Operand(a.value)};
  // The quotient is recomputed: the result may have been overwritten.
  const BothOperands o = operands_of(a, c);
  return gradients(
      a, c, [&] { return dy / o.right(); }, [&] { return -(dy * (div(o.left(), o.right()) / o.right())); });
}
Grads grad_pow(const Binary& a, const GradContext& c) {
  const TensorHandle& dy = c.dy();
  if (a.scalar == Side::right) {
    const double e = a.value.to_double();
    if (e == 0) return {zeros_like(dy)};
    if (e == 2) return {dy * (c.input(0) * 2)};
    return {dy * (pow(c.input(0), e - 1) * e)};
  }
  if (a.scalar == Side::left) {
    const TensorHandle right = dy * c.output() * Operand(std::log(a.value.to_double()));
    return {a.value.to_double() == 0 ? where(ge(c.input(0), 0), 0.0, right) : right};
  }
  const TensorHandle x = c.input(0), e = c.input(1);
  const TensorHandle left = c.needs(0) ? where(eq(e, 0), 0.0, dy * (e * pow(x, e - 1))) : TensorHandle();
  // d/de x^e = x^e log x, and 0 where x is 0 and e is not negative
  const TensorHandle right =
      c.needs(1) ? where(eq(x, 0), where(ge(e, 0), 0.0, dy * c.output() * log(x)), dy * c.output() * log(x)) : TensorHandle();
  return {left, right};
}
// Equal operands share the gradient and NaN passes it on to both, as in PyTorch.
template <class Loses>
Grads grad_extremum(const Binary& a, const GradContext& c, Loses loses) {
  const TensorHandle& dy = c.dy();
  if (a.scalar != Side::none) {
    const TensorHandle x = c.input(0);
    return {where(eq(x, a.value), dy * 0.5, where(loses(x, Operand(a.value)), 0.0, dy))};
  }
  const TensorHandle x = c.input(0), y = c.input(1);
  const TensorHandle tie = eq(x, y), half = dy * 0.5;
  return {where(tie, half, where(loses(x, Operand(y)), 0.0, dy)), where(tie, half, where(loses(y, Operand(x)), 0.0, dy))};
}
Grads grad_maximum(const Binary& a, const GradContext& c) {
  return grad_extremum(a, c, [](const TensorHandle& x, const Operand& y) { return lt(x, y); });
}
Grads grad_minimum(const Binary& a, const GradContext& c) {
  return grad_extremum(a, c, [](const TensorHandle& x, const Operand& y) { return gt(x, y); });
}

Meta infer_where(const Where& a, Metas in) {
  require<DTypeError>(in[0].dtype == DType::boolean, "expected condition to be a boolean tensor: got {}", in[0].dtype);
  require<ValueError>(a.scalar <= Side::both, "unknown side: got {}", int64_t(a.scalar));
  const size_t tensors = a.scalar == Side::none ? 3 : a.scalar == Side::both ? 1 : 2;
  require<ValueError>(in.size() == tensors, "expected two operands: got {} tensors", int64_t(in.size()) - 1);
  if (a.scalar == Side::both) return {in[0].shape, promote(a.value.dtype(), a.other.dtype())};
  return in[1];
}
Grads grad_where(const Where& a, const GradContext& c) {
  const TensorHandle condition = c.input(0), &dy = c.dy();
  if (a.scalar == Side::both) return {TensorHandle()};
  if (a.scalar == Side::left) return {TensorHandle(), where(condition, 0.0, dy)};
  if (a.scalar == Side::right) return {TensorHandle(), where(condition, dy, 0.0)};
  return {TensorHandle(), where(condition, dy, 0.0), where(condition, 0.0, dy)};
}

constexpr const char* kAdditive = R"(
t(2, 3), t(2, 3)
t(2, 3), t(3), alpha=2
t(2, 1), t(1, 3), alpha=0.5
t(), t(2)
t(0, 3), t(1, 3)
t(4, 3).T, t(3, 4)
t(3, 4)[:, ::2], t(2)
t(2, 3), 2.5
t(2, 3), 2.5, alpha=3
2.5, t(2, 3), alpha=2
t(2, 3, dtype=i64), 2
t(2, 3, dtype=i64), 2.5
t(5, dtype=f64), t(5)
t(5, dtype=f16), t(5, dtype=f16)
t(5, dtype=bf16), t()
t(4, dtype=u8), t(4, dtype=i8)
t(3000), t(3000)
t(2, dtype=i64), t(2, dtype=i64), alpha=0.5 ! alpha must not be floating
t(2, 3), t(4, 5) ! shapes do not broadcast)";
constexpr const char* kPowers = R"(
positive(2, 3), t(2, 3)
positive(2, 3), t(3)
t(2, 3), 2
t(2, 3), 3.0
positive(2, 3), -0.5
positive(2, 3), 0
positive(), t(2)
positive(0, 3), t(1, 3)
positive(4, 3).T, t(3, 4)
2.0, t(2, 3)
t(4, dtype=i64), 3
positive(5, dtype=f64), t(5)
positive(5, dtype=f16), t(5, dtype=f16)
t(2, dtype=i64), -1 ! negative
t(2, 3), t(4, 5) ! shapes do not broadcast)";

constexpr OpInfo additive(OpInfo row) {
  row.kind = Kind::elementwise;
  row.cast = Cast::promote;
  row.samples = kAdditive;
  return row;
}
constexpr OpInfo comparison(OpSpec spec) {
  spec.no_grad = "the result is bool";
  return elementwise(define<Binary, infer_comparison<Binary>>(spec), Cast::promote, kNumberSamples);
}

}  // namespace

namespace op {
constinit OpInfo add = additive(
    define<Additive, infer_additive, grad_add>({.schema = "add(Tensor|Scalar input, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor",
        .doc = "Adds other, scaled by alpha, to input element-wise: input + alpha * other.",
        .example = "pyburn.add(pyburn.tensor([1., 2.]), 10, alpha=2)"}));
constinit OpInfo sub =
    additive(define<Additive, infer_sub, grad_sub>({.schema = "sub(Tensor|Scalar input, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor",
        .doc = "Subtracts other, scaled by alpha, from input element-wise: input - alpha * other.",
        .example = "pyburn.sub(pyburn.tensor([1., 2.]), 1)"}));
constinit OpInfo mul =
    elementwise(define<Binary, infer_binary<Binary>, grad_mul>({.schema = "mul(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
                    .doc = "Multiplies input by other element-wise.",
                    .reads = {{1}, {0}},
                    .example = "pyburn.mul(pyburn.tensor([1., 2.]), 3)"}),
        Cast::promote, kNumberSamples);
constinit OpInfo div =
    elementwise(define<Binary, infer_binary<Binary>, grad_div>({.schema = "div(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
                    .doc = "Divides input by other element-wise (true division: integers give floating-point results).",
                    .reads = {{1}, {0, 1}},
                    .example = "pyburn.div(pyburn.tensor([1., 2.]), 4)"}),
        Cast::promote_float, kNumberSamples);
constinit OpInfo pow =
    elementwise(define<Binary, infer_pow, grad_pow>({.schema = "pow(Tensor|Scalar input, Tensor|Scalar exponent) -> Tensor",
                    .doc = "Raises input to the power of exponent element-wise.",
                    .autocast = Autocast::full,
                    .reads = {{0, 1}, {0, 1, kOutputs}},
                    .example = "pyburn.pow(pyburn.tensor([1., 2.]), 2)"}),
        Cast::promote, kPowers);
constinit OpInfo maximum =
    elementwise(define<Binary, infer_binary<Binary>, grad_maximum>({.schema = "maximum(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
                    .doc = "Computes the element-wise maximum. NaN propagates; equal elements share the gradient.",
                    .saves = inputs,
                    .torch = "lambda a, b: torch.maximum(*torch_pair(a, b))",
                    .example = "pyburn.maximum(pyburn.tensor([1., 5.]), 3)"}),
        Cast::promote, kNumberSamples);
constinit OpInfo minimum =
    elementwise(define<Binary, infer_binary<Binary>, grad_minimum>({.schema = "minimum(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
                    .doc = "Computes the element-wise minimum. NaN propagates; equal elements share the gradient.",
                    .saves = inputs,
                    .torch = "lambda a, b: torch.minimum(*torch_pair(a, b))",
                    .example = "pyburn.minimum(pyburn.tensor([1., 5.]), 3)"}),
        Cast::promote, kNumberSamples);
constinit OpInfo eq = comparison({.schema = "eq(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
    .doc = "Tests element-wise whether input equals other.",
    .torch = "lambda a, b: torch.eq(*torch_pair(a, b))",
    .example = "pyburn.eq(pyburn.tensor([1., 2.]), 2)"});
constinit OpInfo ne = comparison({.schema = "ne(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
    .doc = "Tests element-wise whether input differs from other.",
    .torch = "lambda a, b: torch.ne(*torch_pair(a, b))",
    .example = "pyburn.ne(pyburn.tensor([1., 2.]), 2)"});
constinit OpInfo lt = comparison({.schema = "lt(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
    .doc = "Tests element-wise whether input is less than other.",
    .torch = "lambda a, b: torch.lt(*torch_pair(a, b))",
    .example = "pyburn.lt(pyburn.tensor([1., 2.]), 2)"});
constinit OpInfo le = comparison({.schema = "le(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
    .doc = "Tests element-wise whether input is less than or equal to other.",
    .torch = "lambda a, b: torch.le(*torch_pair(a, b))",
    .example = "pyburn.le(pyburn.tensor([1., 2.]), 2)"});
constinit OpInfo gt = comparison({.schema = "gt(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
    .doc = "Tests element-wise whether input is greater than other.",
    .torch = "lambda a, b: torch.gt(*torch_pair(a, b))",
    .example = "pyburn.gt(pyburn.tensor([1., 2.]), 1)"});
constinit OpInfo ge = comparison({.schema = "ge(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
    .doc = "Tests element-wise whether input is greater than or equal to other.",
    .torch = "lambda a, b: torch.ge(*torch_pair(a, b))",
    .example = "pyburn.ge(pyburn.tensor([1., 2.]), 2)"});
constinit OpInfo where =
    define<Where, infer_where, grad_where>({.schema = "where(Tensor condition, Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
        .doc = "Selects elements from input where condition is true, and from other elsewhere.",
        .kind = Kind::elementwise,
        .cast = Cast::promote,
        .reads = {{}, {0}, {0}},
        .key = 1,
        .example = "pyburn.where(pyburn.tensor([True, False]), pyburn.tensor([1., 2.]), 0.)",
        .samples = R"(
t(2, 3, dtype=b8), t(2, 3), t(2, 3)
t(3, dtype=b8), t(2, 1), t(2, 3)
t(2, 3, dtype=b8), t(2, 3), 1.5
t(2, 3, dtype=b8), 1.5, t(2, 3)
t(2, 3, dtype=b8), 1.5, -2
t(2, 3, dtype=b8), 1, 0
t(dtype=b8), t(), t()
t(0, dtype=b8), t(1), t(0)
t(4, 3, dtype=b8).T, t(3, 4), t(4, 3).T
t(2, 3, dtype=b8), t(2, 3, dtype=i64), t(2, 3)
t(2, 3, dtype=b8), t(2, 3, dtype=f16), t(2, 3, dtype=f16)
t(2, 3), t(2, 3), t(2, 3) ! boolean
t(2, 3, dtype=b8), t(2, 4), t(2, 3) ! shapes do not broadcast)"});
}  // namespace op

namespace {
constinit FunctionInfo functions[] = {
    {.schema = "div.mode(Tensor|Scalar input, Tensor|Scalar other, *, str? rounding_mode) -> Tensor",
        .doc = "Divides input by other element-wise and rounds: 'trunc' towards zero, 'floor' down, None not at all.",
        .example = "pyburn.div(pyburn.tensor([5, -5]), 2, rounding_mode='trunc')",
        .samples = R"(
t(2, 3), t(2, 3), rounding_mode=None
t(2, 3), t(3), rounding_mode='floor'
t(2, 1), t(1, 3), rounding_mode='trunc'
t(2, 3, dtype=i64), 3, rounding_mode=None
tensor([7, -7, 7, -7]), tensor([2, 2, -2, -2]), rounding_mode='trunc'
tensor([7, -7, 7, -7]), tensor([2, 2, -2, -2]), rounding_mode='floor'
t(2, 3), 0.5, rounding_mode='trunc'
2.5, t(2, 3), rounding_mode='floor'
t(), t(2), rounding_mode='floor'
t(0, 3), t(1, 3), rounding_mode='trunc'
t(4, 3).T, t(3, 4), rounding_mode='trunc'
t(2, 1).expand(2, 3), t(3), rounding_mode='floor'
t(2, 3), t(2, 3), rounding_mode='up' ! rounding_mode)",
        .in_place = true},
    {.schema = "rsub(Tensor input, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor",
        .doc = "Subtracts input, scaled by alpha, from other element-wise: other - alpha * input.",
        .example = "pyburn.rsub(pyburn.tensor([1., 2.]), 10)",
        .samples = R"(
t(2, 3), t(2, 3)
t(2, 3), t(3), alpha=2
t(2, 1), t(1, 3), alpha=0.5
t(2, 3), 2.5
t(2, 3, dtype=i64), 2
t(), t(2)
t(0, 3), t(1, 3)
t(4, 3).T, t(3, 4)
t(2, 1).expand(2, 3), t(3)
t(2, dtype=i64), t(2, dtype=i64), alpha=0.5 ! alpha must not be floating)"},
    {.schema = "float_power(Tensor|Scalar input, Tensor|Scalar exponent) -> Tensor",
        .doc = "Raises input to the power of exponent element-wise, in float64.",
        .example = "pyburn.float_power(pyburn.tensor([1, 2]), -1)",
        .samples = R"(
positive(2, 3), t(2, 3)
t(2, 3, dtype=i64), 2
2, t(3)
positive(), t(2)
positive(0, 3), t(1, 3)
positive(4, 3).T, t(3, 4)
positive(2, 1).expand(2, 3), t(3)
t(2, 3), t(4, 5) ! shapes do not broadcast)",
        .in_place = true},
};
}

TensorHandle fn::div(const Operand& input, const Operand& other, const std::optional<std::string>& rounding_mode) {
  if (!input.is_tensor() && !other.is_tensor()) return div(full(Dims{}, input.value()), other, rounding_mode);
  if (!rounding_mode) return div(input, other);
  if (*rounding_mode == "floor") return floor_divide(input, other);
  require<ValueError>(*rounding_mode == "trunc", "[div] rounding_mode must be None, 'trunc' or 'floor': got '{}'", *rounding_mode);
  auto floating = [](const Operand& o) { return o.is_tensor() ? is_floating(o.tensor().dtype()) : o.value().is_floating(); };
  if (floating(input) || floating(other)) return trunc(div(input, other));
  return floor_divide(sub(input, fmod(input, other)), other);  // floor and trunc agree where nothing is left over
}
TensorHandle fn::rsub(const TensorHandle& input, const Operand& other, const Scalar& alpha) { return sub(other, input, alpha); }
TensorHandle fn::float_power(const Operand& input, const Operand& exponent) {
  const TensorHandle x = input.is_tensor() ? cast(input.tensor(), DType::float64) : TensorHandle();
  const TensorHandle e = exponent.is_tensor() ? cast(exponent.tensor(), DType::float64) : TensorHandle();
  return pow(input.is_tensor() ? Operand(x) : Operand(input.value()), exponent.is_tensor() ? Operand(e) : Operand(exponent.value()));
}

void register_binary(OpTable& table) {
  table.add({&op::add, &op::sub, &op::mul, &op::div, &op::pow, &op::maximum, &op::minimum, &op::eq, &op::ne, &op::lt, &op::le, &op::gt,
      &op::ge, &op::where});
  table.add(functions);
}

}  // namespace pyburn
