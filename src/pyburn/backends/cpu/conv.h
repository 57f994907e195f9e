// Two-dimensional convolutions of tensors, for kernels that are made of them, and what is done to the results of convolutions on the way.
#pragma once
#include "pyburn/backends/cpu/gemm/gemm.h"
#include "pyburn/ops/conv.h"

namespace pyburn::cpu {

// A convolution or a transposed one (the gradient of an input), of images or volumes.
bool is_convolution(const OpInfo&);

// y = what `op`, a convolution of floating tensors, makes of `in`. finish(i, rows, j, columns) is called as gemm/gemm.h says, for y as a
// matrix in the order of its memory, which has no holes: a row is a plane, or a pixel where channels come last. A single row may run on
// into the rows behind it.
void convolve(OpRef op, Inputs in, TensorHandle& y, Finish finish = {});

// Packs the weight in[1] as convolve() will want it, for all calls until it is written. Of x and y only layouts are looked at.
void pack_convolution_weight(OpRef op, Inputs in, const TensorHandle& y);

// T is what they compute in; results may be strided, unless they are finished.

template <class T>
void convolve_images(
    const Conv& a, const TensorHandle& x, const TensorHandle& w, const TensorHandle& bias, const TensorHandle& y, Finish finish = {});
template <class T>
void convolve_images_input(const ConvGrad& a, const TensorHandle& dy, const TensorHandle& w, const TensorHandle& dx, Finish finish = {});
template <class T>
void convolve_images_weight(const ConvGrad& a, const TensorHandle& x, const TensorHandle& dy, const TensorHandle& dw);

}  // namespace pyburn::cpu
