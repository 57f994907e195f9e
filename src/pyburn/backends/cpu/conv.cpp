// conv2d and its gradients: by planes where each group has one channel, as matrix products where the kernel has one tap, else by register
// tiles over pixels and channels. Work is cut into tasks by the shape alone and each result is summed in one order, so the number of
// threads does not change it.
#include "pyburn/backends/cpu/conv.h"

#include <algorithm>

#include "pyburn/backends/cpu/conv/depthwise.h"
#include "pyburn/backends/cpu/conv/direct.h"
#include "pyburn/backends/cpu/conv/planes.h"
#include "pyburn/backends/cpu/conv/pointwise.h"
#include "pyburn/backends/cpu/conv/winograd.h"
#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/derived_cache.h"
#include "pyburn/backends/cpu/gemm/gemm.h"
#include "pyburn/backends/cpu/plain_tensors.h"

namespace pyburn::cpu {
namespace {

template <class T>
TensorHandle plain_input(const TensorHandle& x) {
  return is_plain<T>(x) ? x : converted(x, dtype_of<T>);
}
template <class T>
TensorHandle plain_output(const TensorHandle& y) {
  return is_plain<T>(y) ? y : scratch(y, dtype_of<T>);
}
bool rows_follow(const TensorHandle& x) { return x.strides()[2] == x.strides()[3] * x.shape()[3]; }
template <class T>
TensorHandle ordered_output(const TensorHandle& y) {
  const Dims& s = y.strides();
  return y.dtype() == dtype_of<T> && (s[3] == 1 || s[1] == 1) && rows_follow(y) ? y : scratch(y, dtype_of<T>);
}
template <class T>
bool plain_rows(const TensorHandle& x) {  // planes may lie anywhere, but each is contiguous
  return x.dtype() == dtype_of<T> && x.strides()[3] == 1 && rows_follow(x);
}
void deliver(const TensorHandle& from, const TensorHandle& to) {
  if (!from.is_same(to)) convert_into(from, to);
}

// The weights of each group with channels as rows.
template <class T>
Ref<Derived> transposed_weights(const ConvGeometry& g, const TensorHandle& w) {
  return derived_from<T>(w, Dims{int64_t(sizeof(T)), g.groups}, w.numel(), [&](T* to) {
    const int64_t size = g.outputs * g.channels;
    for (int64_t group = 0; group < g.groups; ++group)
      transpose_matrix(g.outputs, g.channels, w.data<T>() + group * size, g.channels, to + group * size, g.outputs);
  });
}

// A kernel of one tap, image by image: rows (a, rows x depth) times an image. For doubles, which are rare, and for so few pixels that they
// do not fill a vector.
constexpr int64_t kFewPixels = 8;
template <class T>
void product_per_image(const ConvGeometry& g, int64_t rows, int64_t depth, const T* a, const T* from, const T* bias, T* to) {
  const int64_t pixels = g.pixels();
  for (int64_t plane = 0; plane < g.batch * g.groups; ++plane) {
    const int64_t group = plane % g.groups;
    T* result = to + plane * rows * pixels;
    if (bias)
      for (int64_t r = 0; r < rows; ++r) std::fill_n(result + r * pixels, pixels, bias[group * rows + r]);
    gemm(rows, pixels, depth, {a + group * rows * depth, depth, 1}, {from + plane * depth * pixels, pixels, 1}, {result, pixels, 1},
        bias != nullptr);
  }
}
template <class T>
bool goes_by_image(const ConvGeometry& g) {
  return g.pointwise() && (std::is_same_v<T, double> || g.batch * g.pixels() <= kFewPixels);
}
template <class T>
bool goes_by_pixels(const ConvGeometry& g) {
  return g.one_tap() && std::is_same_v<T, float> && !goes_by_image<T>(g);
}

// --- tensors ---

// x in an order that the kernels read: columns or channels contiguous.
template <class T>
TensorHandle ordered_input(const TensorHandle& x) {
  const Dims& s = x.strides();
  return x.dtype() == dtype_of<T> && (s[3] == 1 || s[1] == 1) ? x : converted(x, dtype_of<T>);
}
template <class T>
Images<T> images(const TensorHandle& x) {
  const Dims& s = x.strides();
  return {x.data<std::remove_const_t<T>>(), s[0], s[1], s[2], s[3]};
}

// The convolution that the plan describes, with weights that are packed once while they stay the same.
template <class T>
void run_plan(
    const ConvPlan& plan, bool input_gradient, const TensorHandle& x, const TensorHandle& w, const T* bias, const TensorHandle& y) {
  Dims key{int64_t(sizeof(T)), input_gradient, plan.groups, plan.y.stride, plan.x.stride, plan.y.dilation, plan.x.dilation};
  if constexpr (std::is_same_v<T, float>) {
    if (suits_winograd(plan)) {
      const auto packed = derived_from<T>(w, Dims{input_gradient, plan.groups}, winograd_weights_size(plan),
          [&](T* to) { pack_winograd_weights(plan, input_gradient, w.data<T>(), to); });
      return convolve_winograd(plan, images<const T>(x), packed->template data<T>(), bias, images<T>(y));
    }
  }
  const auto packed =
      derived_from<T>(w, key, packed_weights_size(plan, sizeof(T)), [&](T* to) { pack_weights<T>(plan, input_gradient, w.data<T>(), to); });
  convolve<T>(plan, images<const T>(x), packed->template data<T>(), bias, images<T>(y));
}

}  // namespace

template <class T>
void convolve_images(const Conv& a, const TensorHandle& x_, const TensorHandle& w_, const TensorHandle& bias_, const TensorHandle& y_) {
  if (y_.numel() == 0) return;
  const TensorHandle w = plain_input<T>(w_), bias = bias_.defined() ? plain_input<T>(bias_) : bias_;
  const T* b = bias.defined() ? bias.data<T>() : nullptr;
  if (x_.numel() == 0) {  // no channels: a sum of nothing
    const TensorHandle y = plain_output<T>(y_);
    const int64_t outputs = y_.shape()[1], pixels = y_.shape()[2] * y_.shape()[3];
    for (int64_t plane = 0; plane < y_.shape()[0] * outputs; ++plane)
      std::fill_n(y.data<T>() + plane * pixels, pixels, b ? b[plane % outputs] : T(0));
    return deliver(y, y_);
  }
  const ConvGeometry g(a, x_.shape(), w.shape(), y_.shape());
  const ConvPlan plan = ConvPlan::forward(g);
  const bool planes = suits_planes(plan);
  if (planes || g.depthwise() || goes_by_image<T>(g) || goes_by_pixels<T>(g)) {
    const TensorHandle x = plain_input<T>(x_), y = plain_output<T>(y_);
    if (g.depthwise()) convolve_depthwise<T>(plan, x.data<T>(), w.data<T>(), b, y.data<T>());
    else if (planes) convolve_planes<T>(plan, plain_planes<T>(plan, x.data<T>(), y.data<T>()), w.data<T>(), b);
    else if (goes_by_image<T>(g)) product_per_image(g, g.outputs, g.channels, w.data<T>(), x.data<T>(), b, y.data<T>());
    else if constexpr (std::is_same_v<T, float>) convolve_pointwise(g, x.data<T>(), w.data<T>(), b, y.data<T>());
    return deliver(y, y_);
  }
  const TensorHandle x = ordered_input<T>(x_), y = ordered_output<T>(y_);
  run_plan<T>(plan, false, x, w, b, y);
  deliver(y, y_);
}

template <class T>
void convolve_images_input(const ConvGrad& a, const TensorHandle& dy_, const TensorHandle& w_, const TensorHandle& dx_) {
  if (dx_.numel() == 0) return;
  if (dy_.numel() == 0) {
    const TensorHandle dx = plain_output<T>(dx_);
    std::fill_n(dx.data<T>(), dx.numel(), T(0));
    return deliver(dx, dx_);
  }
  const TensorHandle w = plain_input<T>(w_);
  const ConvGeometry g(a, dx_.shape(), w.shape(), dy_.shape());
  const ConvPlan plan = ConvPlan::input_gradient(g);
  const bool planes = suits_planes(plan);
  if (planes || g.depthwise() || goes_by_image<T>(g) || goes_by_pixels<T>(g)) {
    const TensorHandle dy = plain_input<T>(dy_), dx = plain_output<T>(dx_);
    if (g.depthwise()) convolve_depthwise<T>(plan, dy.data<T>(), w.data<T>(), nullptr, dx.data<T>());
    else if (planes) convolve_planes<T>(plan, plain_planes<T>(plan, dy.data<T>(), dx.data<T>()), w.data<T>(), nullptr);
    else {
      const auto transposed = transposed_weights<T>(g, w);
      const T* rows = transposed->template data<T>();
      if (goes_by_image<T>(g)) product_per_image<T>(g, g.channels, g.outputs, rows, dy.data<T>(), nullptr, dx.data<T>());
      else if constexpr (std::is_same_v<T, float>) convolve_pointwise_input(g, dy.data<T>(), rows, dx.data<T>());
    }
    return deliver(dx, dx_);
  }
  const TensorHandle dy = ordered_input<T>(dy_), dx = ordered_output<T>(dx_);
  run_plan<T>(plan, true, dy, w, nullptr, dx);
  deliver(dx, dx_);
}

template <class T>
void convolve_images_weight(const ConvGrad& a, const TensorHandle& x_, const TensorHandle& dy_, const TensorHandle& dw_) {
  if (dw_.numel() == 0) return;
  const TensorHandle dw = plain_output<T>(dw_);
  const ConvGeometry g(a, x_.shape(), dw.shape(), dy_.shape());
  if (dy_.numel() == 0) {
    std::fill_n(dw.data<T>(), dw.numel(), T(0));
  } else if (g.depthwise() || suits_planes_weight(g)) {
    const TensorHandle x = plain_input<T>(x_), dy = plain_input<T>(dy_);
    if (g.depthwise()) convolve_depthwise_weight<T>(g, x.data<T>(), dy.data<T>(), dw.data<T>());
    else convolve_planes_weight<T>(g, x.data<T>(), dy.data<T>(), dw.data<T>());
  } else {
    const TensorHandle x = ordered_input<T>(x_), dy = plain_rows<T>(dy_) ? dy_ : converted(dy_, dtype_of<T>);
    convolve_weight(g, images<const T>(x), images<const T>(dy), dw.data<T>());
  }
  deliver(dw, dw_);
}

template void convolve_images<float>(const Conv&, const TensorHandle&, const TensorHandle&, const TensorHandle&, const TensorHandle&);
template void convolve_images<double>(const Conv&, const TensorHandle&, const TensorHandle&, const TensorHandle&, const TensorHandle&);
template void convolve_images_input<float>(const ConvGrad&, const TensorHandle&, const TensorHandle&, const TensorHandle&);
template void convolve_images_input<double>(const ConvGrad&, const TensorHandle&, const TensorHandle&, const TensorHandle&);
template void convolve_images_weight<float>(const ConvGrad&, const TensorHandle&, const TensorHandle&, const TensorHandle&);
template void convolve_images_weight<double>(const ConvGrad&, const TensorHandle&, const TensorHandle&, const TensorHandle&);

namespace {

template <class T>
void conv2d(const Conv& a, Inputs in, Outputs out) {
  convolve_images<T>(a, *in[0], *in[1], in.size() > 2 ? *in[2] : TensorHandle(), out[0]);
}
template <class T>
void conv2d_input(const ConvGrad& a, const TensorHandle& dy, const TensorHandle& w, TensorHandle& dx) {
  convolve_images_input<T>(a, dy, w, dx);
}
template <class T>
void conv2d_weight(const ConvGrad& a, const TensorHandle& x, const TensorHandle& dy, TensorHandle& dw) {
  convolve_images_weight<T>(a, x, dy, dw);
}

}  // namespace

void register_conv(KernelTable& kernels) {
  const auto single = {DType::float32, DType::float16, DType::bfloat16};
  kernels.add<conv2d<float>>(op::conv2d, single);
  kernels.add<conv2d<double>>(op::conv2d, DType::float64);
  kernels.add<conv2d_input<float>>(op::conv2d_input, single);
  kernels.add<conv2d_input<double>>(op::conv2d_input, DType::float64);
  kernels.add<conv2d_weight<float>>(op::conv2d_weight, single);
  kernels.add<conv2d_weight<double>>(op::conv2d_weight, DType::float64);
}

}  // namespace pyburn::cpu
