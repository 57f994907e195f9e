// conv2d and its gradients by im2col and gemm, an image and a group at a time.
#include "pyburn/ops/conv.h"

#include <algorithm>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/gemm.h"
#include "pyburn/backends/cpu/tiles.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn::cpu {
namespace {

struct Geometry {
  int64_t batch, groups, channels, outputs;  // channels and outputs per group
  int64_t h, w, kh, kw, oh, ow;
  const Dims &stride, &padding, &dilation;
  int64_t columns() const { return channels * kh * kw; }
  int64_t pixels() const { return oh * ow; }
};
template <class A>
Geometry geometry(const A& a, const Shape& x, const Shape& w, const Shape& y) {
  return {x[0], a.groups, w[1], w[0] / a.groups, x[2], x[3], w[2], w[3], y[2], y[3], a.stride, a.padding, a.dilation};
}

// Calls at(column, pixel, offset into the image or -1) in order of memory.
template <class At>
void for_each_tap(const Geometry& g, At at) {
  int64_t column = 0;
  for (int64_t c = 0; c < g.channels; ++c)
    for (int64_t i = 0; i < g.kh; ++i)
      for (int64_t j = 0; j < g.kw; ++j, ++column)
        for (int64_t y = 0, pixel = 0; y < g.oh; ++y) {
          const int64_t row = y * g.stride[0] - g.padding[0] + i * g.dilation[0];
          for (int64_t x = 0; x < g.ow; ++x, ++pixel) {
            const int64_t col = x * g.stride[1] - g.padding[1] + j * g.dilation[1];
            const bool inside = row >= 0 && row < g.h && col >= 0 && col < g.w;
            at(column, pixel, inside ? (c * g.h + row) * g.w + col : int64_t(-1));
          }
        }
}
template <class T>
void im2col(const Geometry& g, const T* image, T* columns) {
  const int64_t n = g.pixels();
  for_each_tap(g, [&](int64_t c, int64_t p, int64_t o) { columns[c * n + p] = o < 0 ? T(0) : image[o]; });
}
template <class T>
void col2im(const Geometry& g, const T* columns, T* image) {
  const int64_t n = g.pixels();
  for_each_tap(g, [&](int64_t c, int64_t p, int64_t o) {
    if (o >= 0) image[o] += columns[c * n + p];
  });
}

template <class T>
T* at(const TensorHandle& t, int64_t image, int64_t group, int64_t channels) {
  return t.data<T>() + image * t.strides()[0] + group * channels * t.strides()[1];
}

template <class T>
TensorHandle plain(const TensorHandle& x) {
  return x.layout().is_contiguous() && x.dtype() == (sizeof(T) == 4 ? DType::float32 : DType::float64) ? x : converted(x, sizeof(T) == 4 ? DType::float32 : DType::float64);
}

template <class T>
void conv2d(const Conv& a, Inputs in, Outputs out) {
  const TensorHandle x = plain<T>(*in[0]), w = plain<T>(*in[1]);
  const bool biased = in.size() > 2 && in[2]->defined();
  const TensorHandle bias = biased ? plain<T>(*in[2]) : TensorHandle();
  const Geometry g = geometry(a, x.shape(), w.shape(), out[0].shape());
  const TensorHandle y = plain<T>(out[0]);
  parallel_for(g.batch * g.groups, 1, [&](int64_t begin, int64_t end) {
    const TensorHandle columns = make_tensor(x.device(), x.dtype(), {}, cpu_backend().allocate(x.dtype(), g.columns() * g.pixels()));
    for (int64_t k = begin; k < end; ++k) {
      const int64_t image = k / g.groups, group = k % g.groups, n = g.pixels();
      im2col(g, at<T>(x, image, group, g.channels), columns.data<T>());
      T* result = at<T>(y, image, group, g.outputs);
      for (int64_t o = 0; o < g.outputs; ++o) std::fill_n(result + o * n, n, biased ? bias.data<T>()[group * g.outputs + o] : T(0));
      gemm(g.outputs, n, g.columns(), {w.data<T>() + group * g.outputs * g.columns(), g.columns(), 1}, {columns.data<T>(), n, 1}, {result, n, 1}, true);
    }
  });
  if (!y.is_same(out[0])) convert_into(y, out[0]);
}

template <class T>
void conv2d_input(const ConvGrad& a, const TensorHandle& dy_, const TensorHandle& w_, TensorHandle& dx_) {
  const TensorHandle dy = plain<T>(dy_), w = plain<T>(w_), dx = scratch(dx_, dy.dtype());
  const Geometry g = geometry(a, dx.shape(), w.shape(), dy.shape());
  std::fill_n(dx.data<T>(), dx.numel(), T(0));
  parallel_for(g.batch * g.groups, 1, [&](int64_t begin, int64_t end) {
    const TensorHandle columns = make_tensor(dy.device(), dy.dtype(), {}, cpu_backend().allocate(dy.dtype(), g.columns() * g.pixels()));
    for (int64_t k = begin; k < end; ++k) {
      const int64_t image = k / g.groups, group = k % g.groups, n = g.pixels();
      gemm(g.columns(), n, g.outputs, {w.data<T>() + group * g.outputs * g.columns(), 1, g.columns()}, {at<T>(dy, image, group, g.outputs), n, 1},
           {columns.data<T>(), n, 1});
      col2im(g, columns.data<T>(), at<T>(dx, image, group, g.channels));
    }
  });
  convert_into(dx, dx_);
}

template <class T>
void conv2d_weight(const ConvGrad& a, const TensorHandle& x_, const TensorHandle& dy_, TensorHandle& dw_) {
  const TensorHandle x = plain<T>(x_), dy = plain<T>(dy_), dw = scratch(dw_, x.dtype());
  const Geometry g = geometry(a, x.shape(), dw.shape(), dy.shape());
  std::fill_n(dw.data<T>(), dw.numel(), T(0));
  const TensorHandle columns = make_tensor(x.device(), x.dtype(), {}, cpu_backend().allocate(x.dtype(), g.columns() * g.pixels()));
  for (int64_t k = 0; k < g.batch * g.groups; ++k) {
    const int64_t image = k / g.groups, group = k % g.groups, n = g.pixels();
    im2col(g, at<T>(x, image, group, g.channels), columns.data<T>());
    gemm(g.outputs, g.columns(), n, {at<T>(dy, image, group, g.outputs), n, 1}, {columns.data<T>(), 1, n},
         {dw.data<T>() + group * g.outputs * g.columns(), g.columns(), 1}, true);
  }
  convert_into(dw, dw_);
}

}  // namespace

void register_conv(KernelTable& kernels) {
  const auto half = {DType::float32, DType::float16, DType::bfloat16};
  kernels.add<conv2d<float>>(op::conv2d, half);
  kernels.add<conv2d<double>>(op::conv2d, DType::float64);
  kernels.add<conv2d_input<float>>(op::conv2d_input, half);
  kernels.add<conv2d_input<double>>(op::conv2d_input, DType::float64);
  kernels.add<conv2d_weight<float>>(op::conv2d_weight, half);
  kernels.add<conv2d_weight<double>>(op::conv2d_weight, DType::float64);
}

}  // namespace pyburn::cpu
