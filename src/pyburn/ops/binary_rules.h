// Helpers shared by families of functions of two operands.
#pragma once
#include "pyburn/ops/binary.h"
#include "pyburn/ops/elementwise.h"

namespace pyburn {

// At most one operand is a number; operations from the wire may violate this.
template <class A>
void check_operands(const A& a, Metas in) {
  require<ValueError>(a.scalar <= Side::right, "unknown side: got {}", int64_t(a.scalar));
  require<ValueError>(in.size() == (a.scalar == Side::none ? 2 : 1), "expected two operands: got {} tensors", int64_t(in.size()));
}
template <class A>
Meta infer_binary(const A& a, Metas in) {
  check_operands(a, in);
  return in[0];
}
template <class A>
Meta infer_comparison(const A& a, Metas in) {
  check_operands(a, in);
  return {in[0].shape, DType::boolean};
}

// The operands of a gradient rule, tensors or numbers. They are read on access: only the values that some gradient reads are saved.
class BothOperands {
 public:
  BothOperands(const GradContext& context, Side number_side, const Scalar& number)
      : number(number), context_(context), number_side_(number_side) {}
  const TensorHandle& left_tensor() const { return number_side_ == Side::left ? left_ : read(left_, 0); }
  const TensorHandle& right_tensor() const {
    return number_side_ == Side::right ? right_ : read(right_, number_side_ == Side::left ? 0 : 1);
  }
  Operand left() const { return number_side_ == Side::left ? Operand(number) : Operand(left_tensor()); }
  Operand right() const { return number_side_ == Side::right ? Operand(number) : Operand(right_tensor()); }

  const Scalar number;

 private:
  const TensorHandle& read(TensorHandle& tensor, int input) const {
    if (!tensor.defined()) tensor = context_.input(input);
    return tensor;
  }
  const GradContext& context_;
  const Side number_side_;
  mutable TensorHandle left_, right_;  // undefined until read, or if the operand is a number
};
template <class A>
BothOperands operands_of(const A& a, const GradContext& c) {
  return {c, a.scalar, a.value};
}
template <class A>
Grads in_order(const A& a, TensorHandle left, TensorHandle right) {
  if (a.scalar == Side::left) return {right};
  if (a.scalar == Side::right) return {left};
  return {left, right};
}
// The required gradients: left() and right() are called only for operands that require one.
template <class A, class Left, class Right>
Grads gradients(const A& a, const GradContext& c, Left left, Right right) {
  const bool wants_left = a.scalar != Side::left && c.needs(0);
  const bool wants_right = a.scalar != Side::right && c.needs(a.scalar == Side::left ? 0 : 1);
  return in_order(a, wants_left ? TensorHandle(left()) : TensorHandle(), wants_right ? TensorHandle(right()) : TensorHandle());
}

inline constexpr const char* kNumberSamples = R"(
t(2, 3), t(2, 3)
t(2, 3), t(3)
t(2, 1), t(1, 3)
t(), t(2)
t(0, 3), t(1, 3)
t(4, 3).T, t(3, 4)
t(3, 4)[:, ::2], t(2)
t(2, 3), 2.5
t(2, 3, dtype=i64), 2
t(2, 3, dtype=i64), 2.5
2.5, t(2, 3)
t(5, dtype=f64), t(5)
t(5, dtype=f16), t(5, dtype=f16)
t(5, dtype=bf16), t()
t(4, dtype=u8), t(4, dtype=i8)
t(3000), t(3000)
tensor([1., 2., 3., nan]), tensor([1., 3., 2., 1.])
t(2, 3), t(4, 5) ! shapes do not broadcast)";

}  // namespace pyburn
