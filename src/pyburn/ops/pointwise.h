// Element-wise functions of three operands.
#pragma once
#include "pyburn/ir/op_info.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

struct Lerp {
  std::optional<Scalar> weight;  // else the third input
  PB_FIELDS(weight)
  static Lerp from(const TensorHandle&, const TensorHandle&, const Operand& weight) {
    return {weight.is_tensor() ? std::nullopt : std::optional<Scalar>(weight.value())};
  }
};

// addcmul and addcdiv: input + value * tensor1 (* or /) tensor2.
struct AddProduct {
  Scalar value = 1;
  PB_FIELDS(value)
  static AddProduct from(const TensorHandle&, const TensorHandle&, const TensorHandle&, const Scalar& value) { return {value}; }
};

struct Clamp {
  std::optional<Scalar> min, max;
  PB_FIELDS(min, max)

  const Scalar* promoting() const {
    if (!min || !max) return min ? &*min : max ? &*max : nullptr;
    return max->kind() > min->kind() ? &*max : &*min;
  }
  static Clamp from(const TensorHandle&, const std::optional<Scalar>& min, const std::optional<Scalar>& max);
};

namespace op {
extern OpInfo lerp, addcmul, addcdiv, clamp;
}

}  // namespace pyburn
