// Convolution with one input channel per group: too little work per element for a matrix product, so directly. Tensors are contiguous.
#pragma once
#include "pyburn/backends/cpu/conv_geometry.h"

namespace pyburn::cpu {

template <class T>
void depthwise_forward(const ConvGeometry& g, const T* x, const T* weight, const T* bias, T* y);  // bias may be null
template <class T>
void depthwise_input(const ConvGeometry& g, const T* dy, const T* weight, T* dx);
template <class T>
void depthwise_weight(const ConvGeometry& g, const T* x, const T* dy, T* dw);

}  // namespace pyburn::cpu
