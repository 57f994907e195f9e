// Parts that the quantised operators of both domains share.
#pragma once
#include "pyburn/onnx/call.h"

namespace pyburn::onnx {

// x / scale to the nearest integer, ties to even, plus the zero point (or undefined), inside of the range of a type: from the quotient.
TensorHandle saturated(const TensorHandle& quotient, const TensorHandle& zero_point, ElementType type);
// A scale for each row (axis -2) or column (axis -1) of a product, or one number.
TensorHandle along(const TensorHandle& scale, int axis);
// The product of two inputs without their zero points, in float32. Numbers of inputs; `transpose`: of the matrices first. Sums are exact up
// to 2^24; larger ones keep 24 bits, which is far below a step of a result of 8 bits.
TensorHandle centered_matmul(Call& c, int a, int b, int a_zero, int b_zero, bool transpose_a = false, bool transpose_b = false);
// x without its zero point, in float32: one number, or one for each row (axis -2) or column (axis -1) of matrices.
TensorHandle centered(const TensorHandle& x, const TensorHandle& zero_point, int axis);
// QLinearConv; x is (N, C, ...).
TensorHandle qlinear_conv_of(Call& c, const TensorHandle& x);

}  // namespace pyburn::onnx
