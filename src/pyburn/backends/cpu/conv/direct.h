// Convolution by register tiles over pixels and channels: the source is copied, a strip of rows at a time, into an order in which channels
// are contiguous (unless it has it), the weights into panels. Both stay in L2; no unfolded copy is made.
#pragma once
#include "pyburn/backends/cpu/conv/finish.h"
#include "pyburn/backends/cpu/conv/plan.h"

namespace pyburn::cpu {

// Images as they lie in memory, with the strides of a tensor; either columns (NCHW) or channels (channels last) are contiguous.
template <class T>
struct Images {
  T* data;
  int64_t image, channel, row, column;
};

// The weights of a plan as panels, for any number of calls. `weight` is the plain tensor (outputs, channels, height, width).
int64_t packed_weights_size(const ConvPlan& plan, int64_t element_size);  // elements
template <class T>
void pack_weights(const ConvPlan& plan, bool input_gradient, const T* weight, T* packed);

// result = the convolution that the plan describes; bias (one per result channel of all groups) may be null.
template <class T>
void convolve(const ConvPlan& plan, Images<const T> source, const T* packed, const T* bias, Images<T> result, ImageFinish finish);

// dw, a plain tensor; dy's columns must be contiguous, its rows following each other.
template <class T>
void convolve_weight(const ConvGeometry& g, Images<const T> x, Images<const T> dy, T* dw);

}  // namespace pyburn::cpu
