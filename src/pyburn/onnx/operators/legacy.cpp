// Operators as they were before version 7, when broadcasting had to be asked for.
#include "pyburn/onnx/call.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/logic.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

// The second operand lies along the axes of the first from `axis` on; by default along the last ones.
TensorHandle placed(Call& c, const TensorHandle& a, TensorHandle b) {
  if (!c.flag("broadcast") || !c.has("axis")) return b;
  const int axis = normalise_dim(c.integer("axis"), a.rank());
  require(axis + b.rank() <= a.rank(), "[onnx] {} does not lie along {} from axis {} on", b.shape(), a.shape(), axis);
  for (int i = axis + b.rank(); i < a.rank(); ++i) b = fn::unsqueeze(b, -1);
  return b;
}

template <class F>
TensorHandle combine(Call& c, const F& operation) {
  const TensorHandle a = c.input(0);
  return operation(a, placed(c, a, c.input(1)));
}

Results add(Call& c) {
  return combine(c, [](const auto& a, const auto& b) { return fn::add(a, b); });
}
Results sub(Call& c) {
  return combine(c, [](const auto& a, const auto& b) { return fn::sub(a, b); });
}
Results mul(Call& c) {
  return combine(c, [](const auto& a, const auto& b) { return fn::mul(a, b); });
}
Results div(Call& c) {
  return combine(c, [](const auto& a, const auto& b) { return is_integral(a.dtype()) ? fn::div(a, b, "trunc") : fn::div(a, b); });
}
Results pow(Call& c) {
  return combine(c, [](const auto& a, const auto& b) { return fn::pow(a, b); });
}
template <TensorHandle (*F)(const TensorHandle&, const TensorHandle&)>
Results logical(Call& c) {
  return combine(c, F);
}
template <TensorHandle (*F)(const Operand&, const Operand&)>
Results compare(Call& c) {
  return combine(c, [](const TensorHandle& a, const TensorHandle& b) { return F(a, b); });
}

constexpr Operator kRows[] = {
    {"", "Add", 1, add},
    {"", "Sub", 1, sub},
    {"", "Mul", 1, mul},
    {"", "Div", 1, div},
    {"", "Pow", 1, pow},
    {"", "Equal", 1, compare<fn::eq>},
    {"", "Greater", 1, compare<fn::gt>},
    {"", "Less", 1, compare<fn::lt>},
    {"", "And", 1, logical<fn::logical_and>},
    {"", "Or", 1, logical<fn::logical_or>},
    {"", "Xor", 1, logical<fn::logical_xor>},
};

}  // namespace

std::span<const Operator> legacy_operators() { return kRows; }

}  // namespace pyburn::onnx
