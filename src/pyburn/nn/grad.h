// Gradients of convolutions as functions, for layers with a custom backward pass.
#pragma once
#include "pyburn/tensor/handle.h"

namespace pyburn::nn::grad {

struct ConvOptions {  // one number applies to all dimensions
  Dims stride = {1}, padding = {0}, dilation = {1};
  int64_t groups = 1;
};

// With respect to the input of the given size, and to the weight. The number of spatial dimensions (1 to 3) follows from the sizes.
TensorHandle conv_input(const Dims& input_size, const TensorHandle& weight, const TensorHandle& grad_output, const ConvOptions& = {});
TensorHandle conv_weight(const TensorHandle& input, const Dims& weight_size, const TensorHandle& grad_output, const ConvOptions& = {});

}  // namespace pyburn::nn::grad
