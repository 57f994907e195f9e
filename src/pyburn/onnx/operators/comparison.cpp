// Comparisons and logic.
#include "pyburn/onnx/call.h"
#include "pyburn/onnx/operators/string_tensors.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/logic.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

template <TensorHandle (*F)(const TensorHandle&, const TensorHandle&)>
Results binary(Call& c) {
  return F(c.input(0), c.input(1));
}
template <TensorHandle (*F)(const Operand&, const Operand&)>
Results compare(Call& c) {
  return F(c.input(0), c.input(1));
}

Results equal(Call& c) {
  if (c.value(0).is_strings()) return equal_strings(c);
  return fn::eq(c.input(0), c.input(1));
}

Results is_infinite(Call& c) {
  const TensorHandle x = c.input(0);
  const bool negative = c.flag("detect_negative", true), positive = c.flag("detect_positive", true);
  if (negative && positive) return fn::isinf(x);
  if (negative) return fn::isneginf(x);
  if (positive) return fn::isposinf(x);
  return fn::zeros_like(x, DType::boolean);
}

constexpr Operator kRows[] = {
    {"", "Equal", 7, equal},
    {"", "Greater", 7, compare<fn::gt>},
    {"", "Less", 7, compare<fn::lt>},
    {"", "GreaterOrEqual", 12, compare<fn::ge>},
    {"", "LessOrEqual", 12, compare<fn::le>},
    {"", "And", 7, binary<fn::logical_and>},
    {"", "Or", 7, binary<fn::logical_or>},
    {"", "Xor", 7, binary<fn::logical_xor>},
    {"", "Not", 1, [](Call& c) -> Results { return fn::logical_not(c.input(0)); }},
    {"", "IsNaN", 9, [](Call& c) -> Results { return fn::isnan(c.input(0)); }},
    {"", "IsInf", 10, is_infinite},
};

}  // namespace

std::span<const Operator> comparison_operators() { return kRows; }

}  // namespace pyburn::onnx
