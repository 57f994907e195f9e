// Gradients of convolutions as functions: what a layer with a backward pass of its own calls.
#pragma once
#include "pyburn/tensor/handle.h"

namespace pyburn::nn::grad {

struct ConvOptions {  // one number stands for all axes
  Dims stride = {1}, padding = {0}, dilation = {1};
  int64_t groups = 1;
};

// With respect to the input, of the given size, and to the weight. How many axes are slid over follows from the sizes: one to three.
TensorHandle conv_input(const Dims& input_size, const TensorHandle& weight, const TensorHandle& grad_output, const ConvOptions& = {});
TensorHandle conv_weight(const TensorHandle& input, const Dims& weight_size, const TensorHandle& grad_output, const ConvOptions& = {});

}  // namespace pyburn::nn::grad
