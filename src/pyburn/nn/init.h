// Initialisers: they fill a tensor in place, without recording a gradient.
#pragma once
#include <cmath>

#include "pyburn/tensor/handle.h"

namespace pyburn::nn::init {

enum class FanMode : uint8_t { fan_in, fan_out };
struct Fans {
  int64_t in, out;
};
Fans fans(const TensorHandle& weight);  // ShapeError below two axes

void constant_(const TensorHandle& x, double value);
void uniform_(const TensorHandle& x, double low = 0, double high = 1);
void normal_(const TensorHandle& x, double mean = 0, double std = 1);
// Keeps the variance of activations through leaky rectifiers of slope `a`.
void kaiming_uniform_(const TensorHandle& weight, double a = 0, FanMode mode = FanMode::fan_in);
// Keeps the variance of activations and of gradients.
void xavier_uniform_(const TensorHandle& weight, double gain = 1);
void xavier_normal_(const TensorHandle& weight, double gain = 1);

// PyTorch's start for linear and convolution layers: weight and bias uniform within 1 / sqrt(fan_in).
void layer_default_(const TensorHandle& weight, const TensorHandle& bias);

}  // namespace pyburn::nn::init
