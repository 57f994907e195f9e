// Two-dimensional convolutions of tensors, for kernels that are made of them. T is what they compute in; results may be strided.
#pragma once
#include "pyburn/ops/conv.h"

namespace pyburn::cpu {

template <class T>
void convolve_images(const Conv& a, const TensorHandle& x, const TensorHandle& w, const TensorHandle& bias, const TensorHandle& y);
template <class T>
void convolve_images_input(const ConvGrad& a, const TensorHandle& dy, const TensorHandle& w, const TensorHandle& dx);
template <class T>
void convolve_images_weight(const ConvGrad& a, const TensorHandle& x, const TensorHandle& dy, const TensorHandle& dw);

}  // namespace pyburn::cpu
