// 2-d convolutions of tensors, for kernels composed of them, and epilogues applied to their results.
#pragma once
#include "pyburn/backends/cpu/gemm/gemm.h"
#include "pyburn/ops/conv.h"

namespace pyburn::cpu {

// A convolution or transposed convolution (the gradient of an input), of images or volumes.
bool is_convolution(const OpInfo&);

// y = op(in), where `op` is a convolution of floating-point tensors. finish(i, rows, j, columns) is called as described in gemm/gemm.h,
// with y as a matrix in memory order, without holes: a row is a plane, or a pixel if channels come last. A single row may extend into the
// following rows.
void convolve(OpRef op, Inputs in, TensorHandle& y, Finish finish = {});

// Packs the weight in[1] as convolve() needs it, for all calls until it is written to. Only the layouts of x and y are read.
void pack_convolution_weight(OpRef op, Inputs in, const TensorHandle& y);

// T is the compute type. Results may be strided unless an epilogue is applied.

template <class T>
void convolve_images(
    const Conv& a, const TensorHandle& x, const TensorHandle& w, const TensorHandle& bias, const TensorHandle& y, Finish finish = {});
template <class T>
void convolve_images_input(const ConvGrad& a, const TensorHandle& dy, const TensorHandle& w, const TensorHandle& dx, Finish finish = {});
template <class T>
void convolve_images_weight(const ConvGrad& a, const TensorHandle& x, const TensorHandle& dy, const TensorHandle& dw);

}  // namespace pyburn::cpu
