// Questions about elements, and operations on truth values and bits.
#include "pyburn/ops/generated/logic.h"

#include <limits>

#include "pyburn/ops/binary_rules.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/value_checks.h"
#include "pyburn/runtime/transfer.h"

namespace pyburn {
namespace {

Meta infer_bits(const Binary& a, Metas in) {
  require<DTypeError>(is_integral(in[0].dtype), "expected integers or bool: got {}", in[0].dtype);
  return infer_binary(a, in);
}
Meta infer_shift(const Binary& a, Metas in) {
  require<DTypeError>(is_integral(in[0].dtype) && in[0].dtype != DType::boolean, "expected integers: got {}", in[0].dtype);
  return infer_binary(a, in);
}

constexpr const char* kLogical = R"(
t(2, 3, dtype=b8), t(2, 3, dtype=b8)
t(2, 1, dtype=b8), t(1, 3, dtype=b8)
t(dtype=b8), t(2, dtype=b8)
t(0, 3, dtype=b8), t(1, 3, dtype=b8)
t(4, 3, dtype=b8).T, t(3, 4, dtype=b8)
tensor([0., 1., nan, -2.]), tensor([0., 0., 1., 2.])
t(5, dtype=i64), t(5, dtype=b8)
t(5, dtype=u8), t(5, dtype=f16)
t(2, 3), t(4, 5) ! shapes do not broadcast)";
constexpr const char* kBits = R"(
t(2, 3, dtype=i64), t(2, 3, dtype=i64)
t(2, 1, dtype=i32), t(1, 3, dtype=i32)
t(dtype=i64), t(2, dtype=i64)
t(0, 3, dtype=i64), t(1, 3, dtype=i64)
t(4, 3, dtype=i16).T, t(3, 4, dtype=i16)
t(4, dtype=u8), t(4, dtype=i8)
t(4, dtype=b8), t(4, dtype=b8)
t(4, dtype=b8), t(4, dtype=i64)
t(4, dtype=i64), 6
6, t(4, dtype=i64)
t(2), t(2) ! integers or bool
t(2, 3, dtype=i64), t(4, 5, dtype=i64) ! shapes do not broadcast)";
constexpr const char* kShifts = R"(
t(2, 3, dtype=i64), index(2, 3, below=5)
t(2, 1, dtype=i32), index(1, 3, below=5)
t(dtype=i64), index(2, below=5)
t(0, 3, dtype=i64), index(1, 3, below=5)
t(4, 3, dtype=i64).T, index(3, 4, below=5)
t(4, dtype=u8), positive(4, dtype=u8)
tensor([1, -1, 5], dtype=i8), tensor([7, 9, 8], dtype=i8)
tensor([1, -1, 5]), tensor([63, 64, 70])
tensor([1, -1, 5], dtype=i32), tensor([31, 32, 40], dtype=i32)
t(4, dtype=i64), 2
6, index(4, below=5)
t(2), t(2) ! integers
t(2, 3, dtype=i64), t(4, 5, dtype=i64) ! shapes do not broadcast)";

constexpr OpInfo predicate(OpSpec spec) {
  OpInfo row = define<NoAttrs, infer_truth<NoAttrs>>(spec);
  row.kind = Kind::elementwise;
  row.no_grad = "the result is bool";
  row.samples = kPredicateSamples;
  return row;
}
constexpr OpInfo logical(OpSpec spec) {
  OpInfo row = define<Binary, infer_comparison<Binary>>(spec);
  row.kind = Kind::elementwise;
  row.cast = Cast::promote;
  row.no_grad = "the result is bool";
  row.samples = kLogical;
  return row;
}
constexpr OpInfo bitwise(OpInfo row, const char* samples = kBits) {
  row.kind = Kind::elementwise;
  row.cast = Cast::promote;
  row.no_grad = "integers have no gradient";
  row.samples = samples;
  return row;
}

}  // namespace

namespace op {
constinit OpInfo isinf = predicate({.schema = "isinf(Tensor input) -> Tensor",
    .doc = "Tests element-wise for positive or negative infinity.",
    .example = "pyburn.isinf(pyburn.tensor([1., float('inf')]))"});
constinit OpInfo isfinite = predicate({.schema = "isfinite(Tensor input) -> Tensor",
    .doc = "Tests element-wise for finite values (neither infinite nor NaN).",
    .example = "pyburn.isfinite(pyburn.tensor([1., float('inf')]))"});
constinit OpInfo signbit = predicate({.schema = "signbit(Tensor input) -> Tensor",
    .doc = "Tests element-wise whether the sign bit is set, as for negative values and -0.",
    .example = "pyburn.signbit(pyburn.tensor([1., -0.]))"});
constinit OpInfo logical_not = predicate({.schema = "logical_not(Tensor input) -> Tensor",
    .doc = "Computes the element-wise logical NOT; non-zero elements count as true.",
    .example = "pyburn.logical_not(pyburn.tensor([True, False]))"});
constinit OpInfo logical_and = logical({.schema = "logical_and(Tensor input, Tensor other) -> Tensor",
    .doc = "Computes the element-wise logical AND; non-zero elements count as true.",
    .example = "pyburn.logical_and(pyburn.tensor([True, False]), pyburn.tensor([True, True]))"});
constinit OpInfo logical_or = logical({.schema = "logical_or(Tensor input, Tensor other) -> Tensor",
    .doc = "Computes the element-wise logical OR; non-zero elements count as true.",
    .example = "pyburn.logical_or(pyburn.tensor([True, False]), pyburn.tensor([False, False]))"});
constinit OpInfo logical_xor = logical({.schema = "logical_xor(Tensor input, Tensor other) -> Tensor",
    .doc = "Computes the element-wise logical XOR; non-zero elements count as true.",
    .example = "pyburn.logical_xor(pyburn.tensor([True, False]), pyburn.tensor([True, True]))"});
constinit OpInfo bitwise_and =
    bitwise(define<Binary, infer_bits>({.schema = "bitwise_and(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
        .doc = "Computes the bitwise AND of integers, or the logical AND of bools.",
        .example = "pyburn.bitwise_and(pyburn.tensor([6, 5]), 3)"}));
constinit OpInfo bitwise_or =
    bitwise(define<Binary, infer_bits>({.schema = "bitwise_or(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
        .doc = "Computes the bitwise OR of integers, or the logical OR of bools.",
        .example = "pyburn.bitwise_or(pyburn.tensor([6, 5]), 3)"}));
constinit OpInfo bitwise_xor =
    bitwise(define<Binary, infer_bits>({.schema = "bitwise_xor(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
        .doc = "Computes the bitwise XOR of integers, or the logical XOR of bools.",
        .example = "pyburn.bitwise_xor(pyburn.tensor([6, 5]), 3)"}));
constinit OpInfo bitwise_left_shift =
    bitwise(define<Binary, infer_shift>({.schema = "bitwise_left_shift(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
                .doc = "Shifts the bits of input to the left by other.",
                .example = "pyburn.bitwise_left_shift(pyburn.tensor([1, 3]), 2)"}),
        kShifts);
constinit OpInfo bitwise_right_shift =
    bitwise(define<Binary, infer_shift>({.schema = "bitwise_right_shift(Tensor|Scalar input, Tensor|Scalar other) -> Tensor",
                .doc = "Shifts the bits of input to the right by other (arithmetic shift).",
                .example = "pyburn.bitwise_right_shift(pyburn.tensor([8, -8]), 2)"}),
        kShifts);
}  // namespace op

namespace {
constinit FunctionInfo functions[] = {
    {.schema = "isnan(Tensor input) -> Tensor",
        .doc = "Tests element-wise for NaN.",
        .example = "pyburn.isnan(pyburn.tensor([1., float('nan')]))",
        .samples = kPredicateSamples},
    {.schema = "isposinf(Tensor input) -> Tensor",
        .doc = "Tests element-wise for positive infinity.",
        .example = "pyburn.isposinf(pyburn.tensor([1., float('inf')]))",
        .samples = kPredicateSamples,
        .out = true},
    {.schema = "isneginf(Tensor input) -> Tensor",
        .doc = "Tests element-wise for negative infinity.",
        .example = "pyburn.isneginf(pyburn.tensor([1., -float('inf')]))",
        .samples = kPredicateSamples,
        .out = true},
    {.schema = "bitwise_not(Tensor input) -> Tensor",
        .doc = "Computes the bitwise NOT of integers, or the logical NOT of bools.",
        .example = "pyburn.bitwise_not(pyburn.tensor([0, 5]))",
        .samples =
            "t(2, 3, dtype=i64)\nt(dtype=i32)\nt(0, dtype=i64)\nt(3, 2, dtype=i8).T\nt(2, 1, dtype=i16).expand(2, 3)\nt(4, dtype=u8)\n"
            "t(4, dtype=b8)\nt(2) ! integers or bool",
        .in_place = true},
    {.schema = "isclose(Tensor input, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor",
        .doc = "Tests element-wise whether |input - other| <= atol + rtol * |other|.",
        .example = "pyburn.isclose(pyburn.tensor([1., 2.]), pyburn.tensor([1., 2.1]))",
        .samples = R"(
t(2, 3), t(2, 3)
t(2, 3), t(3), 0.5
t(2, 1), t(1, 3), 0.1, 0.2
tensor([1., nan, inf, -inf, inf]), tensor([1., nan, inf, inf, 1.])
tensor([1., nan, inf, 2.]), tensor([1., nan, inf, nan]), equal_nan=True
t(5, dtype=i64), t(5, dtype=i64), atol=2.0
t(), t()
t(0, 3), t(1, 3)
t(4, 3).T, t(3, 4)
t(2, 1).expand(2, 3), t(2, 3)
t(2), t(2), rtol=-1.0 ! at least 0
t(2), t(2, dtype=f64) ! dtypes)"},
    {.schema = "allclose(Tensor input, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> bool",
        .doc = "Tests whether |input - other| <= atol + rtol * |other| for all elements.",
        .example = "pyburn.allclose(pyburn.tensor([1., 2.]), pyburn.tensor([1., 2.0000001]))",
        .samples = R"(
t(2, 3), t(2, 3)
t(2, 3), t(3), 5.0
t(2, 1), t(1, 3), 0.1, 5.0
tensor([1., nan]), tensor([1., nan])
tensor([1., nan]), tensor([1., nan]), equal_nan=True
t(5, dtype=i64), t(5, dtype=i64), atol=20.0
t(), t()
t(0, 3), t(1, 3)
t(4, 3).T, t(3, 4)
t(2, 1).expand(2, 3), t(2, 3)
t(2), t(2, dtype=f64) ! dtypes)"},
    {.schema = "equal(Tensor input, Tensor other) -> bool",
        .doc = "Tests whether two tensors have the same shape and equal elements.",
        .example = "pyburn.equal(pyburn.tensor([1, 2]), pyburn.tensor([1, 2]))",
        .samples = "t(2, 3), t(2, 3)\ntensor([1., 2.]), tensor([1., 2.])\ntensor([1., nan]), tensor([1., nan])\nt(2), t(3)\nt(), t()\n"
                   "t(0), t(0)\nt(3, 2).T, t(2, 3)\nt(2, 1).expand(2, 3), t(2, 3)\n1, t(2) ! Tensor"},
};

bool all_true(const TensorHandle& condition) { return read_number(sum(condition)) == double(condition.numel()); }
}  // namespace

bool holds_everywhere(const TensorHandle& condition) { return !condition.storage()->has_values || all_true(condition); }

TensorHandle fn::isnan(const TensorHandle& input) { return ne(input, input); }
TensorHandle fn::isposinf(const TensorHandle& input) { return eq(input, std::numeric_limits<double>::infinity()); }
TensorHandle fn::isneginf(const TensorHandle& input) { return eq(input, -std::numeric_limits<double>::infinity()); }
TensorHandle fn::bitwise_not(const TensorHandle& input) {
  return input.dtype() == DType::boolean ? logical_not(input) : bitwise_xor(input, -1);
}
TensorHandle fn::isclose(const TensorHandle& input, const TensorHandle& other, double rtol, double atol, bool equal_nan) {
  require<DTypeError>(input.dtype() == other.dtype(), "[isclose] expected equal dtypes: got {} and {}", input.dtype(), other.dtype());
  require<ValueError>(rtol >= 0 && atol >= 0, "[isclose] expected rtol and atol of at least 0: got {} and {}", rtol, atol);
  const bool exact = !is_floating(input.dtype());
  const DType wide = widest_float(input.device().backend());
  const TensorHandle a = exact ? cast(input, wide) : detach(input), b = exact ? cast(other, wide) : detach(other);
  const TensorHandle near = logical_and(le(abs(a - b), abs(b) * rtol + atol), isfinite(b));  // no distance to an infinity
  const TensorHandle close = logical_or(eq(a, b), near);
  return equal_nan ? logical_or(close, logical_and(isnan(a), isnan(b))) : close;
}
bool fn::allclose(const TensorHandle& input, const TensorHandle& other, double rtol, double atol, bool equal_nan) {
  return all_true(isclose(input, other, rtol, atol, equal_nan));
}
bool fn::equal(const TensorHandle& input, const TensorHandle& other) {
  return input.shape() == other.shape() && all_true(eq(detach(input), detach(other)));
}

void register_logic(OpTable& table) {
  table.add({&op::isinf, &op::isfinite, &op::signbit, &op::logical_not, &op::logical_and, &op::logical_or, &op::logical_xor,
      &op::bitwise_and, &op::bitwise_or, &op::bitwise_xor, &op::bitwise_left_shift, &op::bitwise_right_shift});
  table.add(functions);
}

}  // namespace pyburn
