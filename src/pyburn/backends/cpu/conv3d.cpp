// conv3d and its gradients as 2-d convolutions: the input planes used by an output plane become channels of one image. They are copied
// next to each other, a few output planes at a time, or read in place: if there are few, and for the weight gradient, one depth tap at a
// time.
#include <algorithm>

#include "pyburn/backends/cpu/conv.h"
#include "pyburn/backends/cpu/conv/geometry.h"
#include "pyburn/backends/cpu/conv/planes.h"
#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/plain_tensors.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn::cpu {
namespace {

constexpr int64_t kStacked = 1 << 22;  // elements of the copied planes at a time
constexpr int64_t kGrainPlanes = 1 << 16;

Dims flat(const Dims& v) { return {v[1], v[2]}; }

struct Geometry {
  int64_t batch, channels;  // of all groups
  ConvAxis z;
  int64_t height, width, step;  // step: planes of the output at a time

  Geometry(const auto& a, const Shape& x, const Shape& w, const Shape& y)
      : batch(x[0]),
        channels(x[1]),
        z{x[2], w[2], y[2], a.stride[0], a.padding[0], a.dilation[0]},
        height(x[3]),
        width(x[4]),
        step(std::clamp<int64_t>(kStacked / std::max<int64_t>(1, channels * z.kernel * plane()), 1, std::max<int64_t>(1, z.out))) {}

  int64_t plane() const { return height * width; }
  Shape stacked(int64_t planes) const { return Dims{planes, channels * z.kernel, height, width}; }

  template <class Body>  // body(image, first plane of the output, last)
  void for_parts(Body body) const {
    for (int64_t image = 0; image < batch; ++image)
      for (int64_t first = 0; first < z.out; first += step) body(image, first, std::min(z.out, first + step));
  }
};

// `count` planes of one image from `first` on, each `step` behind the last, as images of their own.
TensorHandle planes_of(const TensorHandle& x, int64_t image, int64_t first, int64_t count, int64_t step = 1) {
  const Dims& s = x.strides();
  const Layout planes{Dims{count, x.shape()[1], x.shape()[3], x.shape()[4]}, Dims{step * s[2], s[1], s[3], s[4]},
      x.layout().offset + image * s[0] + first * s[2]};
  return alias(x, planes);
}
// A kernel of one tap that uses every element: depth and height form one dimension of an image.
bool is_pointwise(const auto& a, const Shape& w) {
  const auto all = [](const Dims& v, int64_t n) { return std::all_of(v.begin(), v.end(), [n](int64_t i) { return i == n; }); };
  return w[2] * w[3] * w[4] == 1 && all(a.stride, 1) && all(a.padding, 0);
}
TensorHandle as_images(const TensorHandle& x) {
  const Shape& s = x.shape();
  Layout layout = contiguous_layout(Dims{s[0], s[1], s[2] * s[3], s[4]});
  layout.offset = x.layout().offset;
  return alias(x, std::move(layout));
}
// The weights (outputs, channels, depth, height, width), with depth as part of the channels.
TensorHandle flat_weight(const TensorHandle& w) {
  const Shape& s = w.shape();
  Layout layout = contiguous_layout(Dims{s[0], s[1] * s[2], s[3], s[4]});
  layout.offset = w.layout().offset;
  return alias(w, std::move(layout));
}

// For output planes [first, last): the input planes that each uses, channel by channel; zero outside.
template <class T>
void stack_planes(const Geometry& g, const T* x, int64_t first, int64_t last, T* stacked) {
  const int64_t rows = (last - first) * g.channels;
  parallel_for(rows, std::max<int64_t>(1, kGrainPlanes / std::max<int64_t>(1, g.z.kernel * g.plane())), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t o = first + row / g.channels, channel = row % g.channels;
      for (int64_t tap = 0; tap < g.z.kernel; ++tap) {
        const int64_t from = g.z.position(o, tap);
        T* to = stacked + (row * g.z.kernel + tap) * g.plane();
        if (from < 0 || from >= g.z.in) std::fill_n(to, g.plane(), T(0));
        else std::copy_n(x + (channel * g.z.in + from) * g.plane(), g.plane(), to);
      }
    }
  });
}
// The reverse: adds what the planes of the output give to each plane of the input.
template <class T>
void add_planes(const Geometry& g, const T* stacked, int64_t first, int64_t last, T* x) {
  parallel_for(g.channels, std::max<int64_t>(1, kGrainPlanes / std::max<int64_t>(1, (last - first) * g.z.kernel * g.plane())),
      [&](int64_t begin, int64_t end) {
        for (int64_t channel = begin; channel < end; ++channel)
          for (int64_t o = first; o < last; ++o)
            for (int64_t tap = 0; tap < g.z.kernel; ++tap) {
              const int64_t at = g.z.position(o, tap);
              if (at < 0 || at >= g.z.in) continue;
              const T* from = stacked + (((o - first) * g.channels + channel) * g.z.kernel + tap) * g.plane();
              T* to = x + (channel * g.z.in + at) * g.plane();
              for (int64_t i = 0; i < g.plane(); ++i) to[i] += from[i];
            }
      });
}

template <class T>
TensorHandle stacked_planes(const Geometry& g, const TensorHandle& x, int64_t image, int64_t first, int64_t last) {
  const TensorHandle stacked = scratch(x.device(), g.stacked(last - first), dtype_of<T>);
  stack_planes(g, x.data<T>() + image * g.channels * g.z.in * g.plane(), first, last, stacked.template data<T>());
  return stacked;
}

// Few channels: the planes are read in place. Returns false if this is not faster.
template <class T>
bool convolve_in_place(
    const Geometry& g, const Conv& images, const TensorHandle& x, const TensorHandle& w, const T* bias, const TensorHandle& y) {
  const int64_t outputs = y.shape()[1], pixels = y.shape()[3] * y.shape()[4];
  const Shape planes = g.stacked(g.z.out), result = Dims{g.z.out, outputs, y.shape()[3], y.shape()[4]};
  const ConvPlan plan = ConvPlan::forward(ConvGeometry(images, planes, flat_weight(w).shape(), result));
  if (!suits_planes(plan)) return false;
  for (int64_t image = 0; image < g.batch; ++image) {
    Planes<T> all{{}, y.data<T>() + image * outputs * g.z.out * pixels, pixels, g.z.out * pixels};
    for (int64_t o = 0; o < g.z.out; ++o)
      for (int64_t channel = image * g.channels; channel < (image + 1) * g.channels; ++channel)
        for (int64_t tap = 0; tap < g.z.kernel; ++tap) {
          const int64_t at = g.z.position(o, tap);
          all.source.push_back(at < 0 || at >= g.z.in ? nullptr : x.data<T>() + (channel * g.z.in + at) * g.plane());
        }
    convolve_planes<T>(plan, all, w.data<T>(), bias);
  }
  return true;
}

template <class T>
TensorHandle plain_of(const TensorHandle& x) {
  return is_plain<T>(x) ? x : converted(x, dtype_of<T>);
}

template <class T>
void conv3d(const Conv& a, Inputs in, Outputs out) {
  if (out[0].numel() == 0) return;
  const TensorHandle x = plain_of<T>(*in[0]), w = plain_of<T>(*in[1]), y = is_plain<T>(out[0]) ? out[0] : scratch(out[0], dtype_of<T>);
  const Geometry g(a, x.shape(), w.shape(), y.shape());
  const Conv images{flat(a.stride), flat(a.padding), flat(a.dilation), a.groups};
  const TensorHandle bias = in.size() > 2 && in[2]->defined() ? plain_of<T>(*in[2]) : TensorHandle();
  if (is_pointwise(a, w.shape())) convolve_images<T>(images, as_images(x), flat_weight(w), bias, as_images(y));
  else if (!convolve_in_place(g, images, x, w, bias.defined() ? bias.data<T>() : nullptr, y))
    g.for_parts([&](int64_t image, int64_t first, int64_t last) {
      convolve_images<T>(
          images, stacked_planes<T>(g, x, image, first, last), flat_weight(w), bias, planes_of(y, image, first, last - first));
    });
  if (!y.is_same(out[0])) convert_into(y, out[0]);
}

template <class T>
void conv3d_input(const ConvGrad& a, const TensorHandle& dy_, const TensorHandle& w_, TensorHandle& dx_) {
  const TensorHandle dy = plain_of<T>(dy_), w = plain_of<T>(w_);
  if (is_pointwise(a, w.shape()) && is_plain<T>(dx_)) {
    const ConvGrad images{as_images(dx_).shape(), flat(a.stride), flat(a.padding), flat(a.dilation), a.groups};
    return convolve_images_input<T>(images, as_images(dy), flat_weight(w), as_images(dx_));
  }
  const PlainOutput<T> dx(dx_);
  std::fill_n(dx.data(), dx.numel(), T(0));
  if (dx.numel() == 0 || dy.numel() == 0) return;
  const Geometry g(a, dx.shape(), w.shape(), dy.shape());
  g.for_parts([&](int64_t image, int64_t first, int64_t last) {
    const TensorHandle stacked = scratch(dx_.device(), g.stacked(last - first), dtype_of<T>);
    const ConvGrad images{stacked.shape(), flat(a.stride), flat(a.padding), flat(a.dilation), a.groups};
    convolve_images_input<T>(images, planes_of(dy, image, first, last - first), flat_weight(w), stacked);
    add_planes(g, stacked.data<T>(), first, last, dx.data() + image * g.channels * g.z.in * g.plane());
  });
}

// The gradient of each depth tap separately: it uses whole planes, which are read in place.
constexpr int64_t kTapColumns = 32;  // channels times columns of the kernel, from which on one tap fills the tiles
template <class T>
void weight_by_taps(const Geometry& g, const ConvGrad& a, const TensorHandle& x, const TensorHandle& dy, const PlainOutput<T>& dw) {
  const Shape& s = dw.shape();
  const int64_t taps = s[3] * s[4], rows = s[0] * s[1];
  const TensorHandle part = scratch(dy.device(), Dims{s[0], s[1], s[3], s[4]}, dtype_of<T>);
  const ConvGrad images{part.shape(), flat(a.stride), flat(a.padding), flat(a.dilation), a.groups};
  for (int64_t tap = 0; tap < g.z.kernel; ++tap) {
    const auto [first, last] = g.z.inside(tap);
    if (first == last) continue;
    for (int64_t image = 0; image < g.batch; ++image) {
      convolve_images_weight<T>(
          images, planes_of(x, image, g.z.position(first, tap), last - first, g.z.stride), planes_of(dy, image, first, last - first), part);
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t i = 0; i < taps; ++i) dw.data()[(row * g.z.kernel + tap) * taps + i] += part.data<T>()[row * taps + i];
    }
  }
}

template <class T>
void conv3d_weight(const ConvGrad& a, const TensorHandle& x_, const TensorHandle& dy_, TensorHandle& dw_) {
  const TensorHandle x = plain_of<T>(x_), dy = plain_of<T>(dy_);
  const PlainOutput<T> dw(dw_);
  std::fill_n(dw.data(), dw.numel(), T(0));
  if (dw.numel() == 0 || dy.numel() == 0) return;
  const Geometry g(a, x.shape(), dw.shape(), dy.shape());
  const TensorHandle part = scratch(dw_, dtype_of<T>), flat_part = flat_weight(part);
  const ConvGrad images{flat_part.shape(), flat(a.stride), flat(a.padding), flat(a.dilation), a.groups};
  if (is_pointwise(a, dw.shape())) {
    convolve_images_weight<T>(images, as_images(x), as_images(dy), flat_part);
    std::copy_n(part.data<T>(), dw.numel(), dw.data());
    return;
  }
  if (dw.shape()[1] * dw.shape()[4] >= kTapColumns) return weight_by_taps(g, a, x, dy, dw);
  g.for_parts([&](int64_t image, int64_t first, int64_t last) {
    convolve_images_weight<T>(images, stacked_planes<T>(g, x, image, first, last), planes_of(dy, image, first, last - first), flat_part);
    for (int64_t i = 0; i < dw.numel(); ++i) dw.data()[i] += part.data<T>()[i];
  });
}

}  // namespace

void register_conv3d(KernelTable& kernels) {
  const auto single = {DType::float32, DType::float16, DType::bfloat16};
  kernels.add<conv3d<float>>(op::conv3d, single);
  kernels.add<conv3d<double>>(op::conv3d, DType::float64);
  kernels.add<conv3d_input<float>>(op::conv3d_input, single);
  kernels.add<conv3d_input<double>>(op::conv3d_input, DType::float64);
  kernels.add<conv3d_weight<float>>(op::conv3d_weight, single);
  kernels.add<conv3d_weight<double>>(op::conv3d_weight, DType::float64);
}

}  // namespace pyburn::cpu
