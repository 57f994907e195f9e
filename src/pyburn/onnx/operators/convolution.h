// A convolution with the attributes of a call, for operators that prepare its operands themselves.
#pragma once
#include "pyburn/onnx/call.h"

namespace pyburn::onnx {

TensorHandle convolution(Call& c, const TensorHandle& x, const TensorHandle& weight, const TensorHandle& bias);

}  // namespace pyburn::onnx
