// Element-wise functions of two operands, one of which may be a number, and where.
#pragma once
#include "pyburn/ir/op_info.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

// A number operand is stored as an attribute, never as a 0-d tensor.
enum class Side : uint8_t { none, left, right, both };

struct Binary {
  Side scalar = Side::none;
  Scalar value;
  PB_FIELDS(scalar, value)

  const Scalar* promoting() const { return scalar == Side::none ? nullptr : &value; }
  bool number_first() const { return scalar == Side::left; }
  static Binary from(const Operand& input, const Operand& other);
};

// add and sub: input + alpha * other.
struct Additive {
  Side scalar = Side::none;
  Scalar value;
  Scalar alpha = 1;
  PB_FIELDS(scalar, value, alpha)

  const Scalar* promoting() const { return scalar == Side::none ? nullptr : &value; }
  static Additive from(const Operand& input, const Operand& other, const Scalar& alpha) {
    const Binary b = Binary::from(input, other);
    return {b.scalar, b.value, alpha};
  }
};

// where: inputs are (condition, the branches that are tensors). Both branches may be numbers.
struct Where {
  Side scalar = Side::none;
  Scalar value, other;  // value of `other` if both are numbers
  PB_FIELDS(scalar, value, other)

  const Scalar* promoting() const {
    if (scalar == Side::none) return nullptr;
    return scalar == Side::both && other.kind() > value.kind() ? &other : &value;
  }
  static Where from(const TensorHandle&, const Operand& input, const Operand& other);
};

namespace op {
extern OpInfo add, sub, mul, div, pow, maximum, minimum, eq, ne, lt, le, gt, ge, where;
}

}  // namespace pyburn
