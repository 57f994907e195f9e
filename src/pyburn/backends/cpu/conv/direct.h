// Direct convolution with register tiles over pixels and channels. The source is repacked strip by strip so that channels are contiguous
// (unless they already are), and the weights are packed into panels. Both fit in L2; no unfolded (im2col) copy is made.
#pragma once
#include "pyburn/backends/cpu/conv/finish.h"
#include "pyburn/backends/cpu/conv/plan.h"

namespace pyburn::cpu {

// Images with the strides of a tensor; either columns (NCHW) or channels (channels last) are contiguous.
template <class T>
struct Images {
  T* data;
  int64_t image, channel, row, column;
};

// The packed weights of a plan, reusable for any number of calls. `weight` is a contiguous tensor (outputs, channels, height, width).
int64_t packed_weights_size(const ConvPlan& plan, int64_t element_size);  // number of elements
template <class T>
void pack_weights(const ConvPlan& plan, bool input_gradient, const T* weight, T* packed);

// Computes the convolution described by the plan. bias (one per output channel of all groups) may be null.
template <class T>
void convolve(const ConvPlan& plan, Images<const T> source, const T* packed, const T* bias, Images<T> result, ImageFinish finish);

// Computes dw, a contiguous tensor; dy must have contiguous columns and rows that follow each other.
template <class T>
void convolve_weight(const ConvGeometry& g, Images<const T> x, Images<const T> dy, T* dw);

}  // namespace pyburn::cpu
