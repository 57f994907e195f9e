// im2col, col2im, and what conv3d is made of.
#include "pyburn/backends/cpu/unfold.h"

#include <algorithm>
#include <cstring>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/plain_tensors.h"
#include "pyburn/ops/unfold.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn::cpu {
namespace {

// Calls body(channel, z tap, y tap, x tap, row of the matrix) for the rows of each channel; channels in parallel.
template <class Body>
void for_rows(const Volume& v, int64_t channels, int64_t width, Body body) {
  parallel_for(channels, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, v.taps() * width)), [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      int64_t row = c * v.taps();
      for (int64_t i = 0; i < v.z.kernel; ++i)
        for (int64_t j = 0; j < v.y.kernel; ++j)
          for (int64_t k = 0; k < v.x.kernel; ++k) body(c, i, j, k, row++);
    }
  });
}

}  // namespace

template <class T>
void unfold(const Volume& v, const T* image, int64_t channels, int64_t begin, int64_t end, T* columns) {
  const int64_t width = (end - begin) * v.x.out, stride = v.x.stride;
  for_rows(v, channels, width, [&](int64_t c, int64_t i, int64_t j, int64_t k, int64_t row) {
    T* to = columns + row * width;
    const auto [first, last] = v.x.inside(k);
    for (int64_t out = begin; out < end; ++out, to += v.x.out) {
      const int64_t depth = v.z.position(out / v.y.out, i), line = v.y.position(out % v.y.out, j);
      if (depth < 0 || depth >= v.z.in || line < 0 || line >= v.y.in || first >= last) {
        std::fill_n(to, v.x.out, T(0));
        continue;
      }
      const T* from = image + ((c * v.z.in + depth) * v.y.in + line) * v.x.in + v.x.position(first, k);
      std::fill_n(to, first, T(0));
      if (stride == 1) std::memcpy(to + first, from, size_t(last - first) * sizeof(T));
      else
        for (int64_t x = first; x < last; ++x) to[x] = from[(x - first) * stride];
      std::fill_n(to + last, v.x.out - last, T(0));
    }
  });
}

template <class T>
void fold(const Volume& v, const T* columns, int64_t channels, int64_t begin, int64_t end, T* image) {
  const int64_t width = (end - begin) * v.x.out, stride = v.x.stride;
  for_rows(v, channels, width, [&](int64_t c, int64_t i, int64_t j, int64_t k, int64_t row) {
    const auto [first, last] = v.x.inside(k);
    for (int64_t out = begin; out < end; ++out) {
      const int64_t depth = v.z.position(out / v.y.out, i), line = v.y.position(out % v.y.out, j);
      if (depth < 0 || depth >= v.z.in || line < 0 || line >= v.y.in) continue;
      const T* from = columns + row * width + (out - begin) * v.x.out + first;
      T* to = image + ((c * v.z.in + depth) * v.y.in + line) * v.x.in + v.x.position(first, k);
      if (stride == 1)
        for (int64_t x = 0; x < last - first; ++x) to[x] += from[x];
      else
        for (int64_t x = 0; x < last - first; ++x) to[x * stride] += from[x];
    }
  });
}

template void unfold(const Volume&, const float*, int64_t, int64_t, int64_t, float*);
template void unfold(const Volume&, const double*, int64_t, int64_t, int64_t, double*);
template void fold(const Volume&, const float*, int64_t, int64_t, int64_t, float*);
template void fold(const Volume&, const double*, int64_t, int64_t, int64_t, double*);

namespace {

Volume volume(const Unfold& a, const Shape& image) {
  const Dims in{image[image.rank() - 2], image.back()};
  return {in, a.kernel_size, a.grid(in), a.stride, a.padding, a.dilation};
}

template <class T>
void im2col(const Unfold& a, const TensorHandle& x_, TensorHandle& y_) {
  const PlainInput<T> x(x_);
  const PlainOutput<T> y(y_);
  if (y.numel() == 0) return;
  const Volume v = volume(a, x.shape());
  unfold(v, x.data(), x_.numel() / v.plane(), 0, v.lines(), y.data());  // the batch is more channels
}

template <class T>
void col2im(const Unfold& a, const TensorHandle& x_, TensorHandle& y_) {
  const PlainInput<T> x(x_);
  const PlainOutput<T> y(y_);
  std::fill_n(y.data(), y.numel(), T(0));
  if (y.numel() == 0) return;
  const Volume v = volume(a, y.shape());
  fold(v, x.data(), y.numel() / v.plane(), 0, v.lines(), y.data());
}

}  // namespace

void register_unfold(KernelTable& kernels) {
  const auto single = {DType::float32, DType::float16, DType::bfloat16};
  kernels.add<im2col<float>>(op::im2col, {DType::float32, DType::float16, DType::bfloat16, DType::boolean});
  kernels.add<im2col<double>>(op::im2col, DType::float64);
  kernels.add<col2im<float>>(op::col2im, single);
  kernels.add<col2im<double>>(op::col2im, DType::float64);
}

}  // namespace pyburn::cpu
