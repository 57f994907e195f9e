// conv2d and its gradients: by planes where each group has one channel, as matrix products where the kernel has one tap, else by register
// tiles over pixels and channels. Work is cut into tasks by the shape alone and each result is summed in one order, so the number of
// threads does not change it.
#include "pyburn/backends/cpu/conv.h"

#include <algorithm>

#include "pyburn/backends/cpu/conv/depthwise.h"
#include "pyburn/backends/cpu/conv/depthwise_pixels.h"
#include "pyburn/backends/cpu/conv/direct.h"
#include "pyburn/backends/cpu/conv/planes.h"
#include "pyburn/backends/cpu/conv/pointwise.h"
#include "pyburn/backends/cpu/conv/small_planes.h"
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
bool rows_follow(const TensorHandle& x) { return x.strides()[2] == x.strides()[3] * x.shape()[3]; }
template <class T>
bool is_ordered(const TensorHandle& y) {
  const Dims& s = y.strides();
  return y.dtype() == dtype_of<T> && (s[3] == 1 || s[1] == 1) && rows_follow(y);
}
template <class T>
bool plain_rows(const TensorHandle& x) {  // planes may be anywhere, but each is contiguous
  return x.dtype() == dtype_of<T> && x.strides()[3] == 1 && rows_follow(x);
}

// Where the results of a convolution are made, and what becomes of them: they are finished on the way where they are made in y, else when
// they are there.
template <class T>
class Result {
 public:
  Result(const TensorHandle& y, bool fits, Finish finish = {}) : y_(y), made_(fits ? y : scratch(y, dtype_of<T>)), finish_(finish) {}
  const TensorHandle& tensor() const { return made_; }
  T* data() const { return made_.template data<T>(); }
  // For an algorithm that finishes its results.
  ImageFinish finish() {
    if (!finish_ || !made_.is_same(y_)) return {};
    const Shape& s = y_.shape();
    return {std::exchange(finish_, {}), s[1], s[2] * s[3], !y_.layout().is_contiguous()};
  }
  void deliver() const {
    if (!made_.is_same(y_)) convert_into(made_, y_);
    if (finish_) finish_all(y_.numel(), finish_);
  }

 private:
  const TensorHandle& y_;
  const TensorHandle made_;
  Finish finish_;
};

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
void product_per_image(
    const ConvGeometry& g, int64_t rows, int64_t depth, const T* a, const T* from, const T* bias, T* to, ImageFinish finish) {
  const int64_t pixels = g.pixels();
  for (int64_t plane = 0; plane < g.batch * g.groups; ++plane) {
    const int64_t group = plane % g.groups;
    T* result = to + plane * rows * pixels;
    if (bias)
      for (int64_t r = 0; r < rows; ++r) std::fill_n(result + r * pixels, pixels, bias[group * rows + r]);
    const auto finish_part = [&](int64_t i, int64_t count, int64_t j, int64_t columns) {
      finish(plane / g.groups, group * rows + i, count, j, columns);
    };
    gemm_plus(rows, pixels, depth, {a + group * rows * depth, depth, 1}, {from + plane * depth * pixels, pixels, 1},
        Matrix<const T>{bias ? result : nullptr, pixels, 1}, {result, pixels, 1}, finish ? Finish(finish_part) : Finish());
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

bool is_channels_last(const TensorHandle& x) { return x.strides()[1] == 1 && x.shape()[1] > 1; }
constexpr int64_t kSmallPlanesKey = -1, kDepthwisePixelsKey = -3;  // other keys begin with the size of an element, or with 0 or 1

Ref<Derived> small_planes_weights(const ConvGeometry& g, const TensorHandle& w) {
  return derived_from<float>(w, Dims{kSmallPlanesKey, g.groups}, small_planes_weights_size(g),
      [&](float* to) { pack_small_planes_weights(g, w.data<float>(), to); });
}
Ref<Derived> depthwise_pixels_weights(const ConvGeometry& g, const TensorHandle& w) {
  return derived_from<float>(w, Dims{kDepthwisePixelsKey}, depthwise_pixels_weights_size(g),
      [&](float* to) { pack_depthwise_pixels_weights(g, w.data<float>(), to); });
}
template <class T>
bool goes_by_winograd(const ConvPlan& plan) {
  return std::is_same_v<T, float> && suits_winograd(plan);
}
// The weights of a plan, packed once while they stay the same.
template <class T>
Ref<Derived> plan_weights(const ConvPlan& plan, bool input_gradient, const TensorHandle& w) {
  if constexpr (std::is_same_v<T, float>)
    if (goes_by_winograd<T>(plan))
      return derived_from<T>(w, Dims{input_gradient, plan.groups}, winograd_weights_size(plan),
          [&](T* to) { pack_winograd_weights(plan, input_gradient, w.data<T>(), to); });
  const Dims key{int64_t(sizeof(T)), input_gradient, plan.groups, plan.y.stride, plan.x.stride, plan.y.dilation, plan.x.dilation};
  return derived_from<T>(
      w, key, packed_weights_size(plan, sizeof(T)), [&](T* to) { pack_weights<T>(plan, input_gradient, w.data<T>(), to); });
}

// The convolution that the plan describes.
template <class T>
void run_plan(const ConvPlan& plan, bool input_gradient, const TensorHandle& x, const TensorHandle& w, const T* bias, const TensorHandle& y,
    ImageFinish finish) {
  const Ref<Derived> packed = plan_weights<T>(plan, input_gradient, w);
  if constexpr (std::is_same_v<T, float>)
    if (goes_by_winograd<T>(plan))
      return convolve_winograd(plan, images<const T>(x), packed->template data<T>(), bias, images<T>(y), finish);
  convolve<T>(plan, images<const T>(x), packed->template data<T>(), bias, images<T>(y), finish);
}

// How a convolution is computed.
enum class Path : uint8_t { small_planes, depthwise_pixels, depthwise, planes, by_image, by_pixels, by_plan };

template <class T>
Path path_of(const ConvGeometry& g, const ConvPlan& plan) {
  if (g.depthwise()) return Path::depthwise;
  if (suits_planes(plan)) return Path::planes;
  if (goes_by_image<T>(g)) return Path::by_image;
  return goes_by_pixels<T>(g) ? Path::by_pixels : Path::by_plan;
}
// Of a convolution from x to y.
template <class T>
Path forward_path(const ConvGeometry& g, const ConvPlan& plan, const TensorHandle& x, const TensorHandle& y) {
  const bool channels_last = is_channels_last(x) && is_channels_last(y);
  if (std::is_same_v<T, float> && g.depthwise() && channels_last && is_ordered<T>(x) && is_ordered<T>(y)) return Path::depthwise_pixels;
  if (goes_by_pixels<T>(g) && !g.pointwise() && g.groups == 1 && channels_last && g.pixels() >= kFewPixels) return Path::small_planes;
  const bool small = goes_by_pixels<T>(g) && g.pointwise() && suits_small_planes(g, channels_last);
  return small ? Path::small_planes : path_of<T>(g, plan);
}

template <class T>
void pack_forward(const Conv& a, const TensorHandle& x, const TensorHandle& w, const TensorHandle& y) {
  const ConvGeometry g(a, x.shape(), w.shape(), y.shape());
  const ConvPlan plan = ConvPlan::forward(g);
  const Path path = forward_path<T>(g, plan, x, y);
  if (path == Path::small_planes) small_planes_weights(g, w);
  if (path == Path::depthwise_pixels) depthwise_pixels_weights(g, w);
  if (path == Path::by_plan) plan_weights<T>(plan, false, w);
}
template <class T>
void pack_input_gradient(const ConvGrad& a, const TensorHandle& dy, const TensorHandle& w, const TensorHandle& dx) {
  const ConvGeometry g(a, dx.shape(), w.shape(), dy.shape());
  const ConvPlan plan = ConvPlan::input_gradient(g);
  const Path path = path_of<T>(g, plan);
  if (path == Path::by_image || path == Path::by_pixels) transposed_weights<T>(g, w);
  if (path == Path::by_plan) plan_weights<T>(plan, true, w);
}
template <class T>
void pack_weights_of(OpRef op, Inputs in, const TensorHandle& y) {
  const TensorHandle &x = *in[0], &w = *in[1];
  if (!is_plain<T>(w) || x.numel() == 0 || y.numel() == 0 || w.numel() == 0) return;
  if (op.info == &op::conv2d) pack_forward<T>(op.as<Conv>(), x, w, y);
  if (op.info == &op::conv2d_input) pack_input_gradient<T>(op.as<ConvGrad>(), x, w, y);
}

}  // namespace

template <class T>
void convolve_images(
    const Conv& a, const TensorHandle& x_, const TensorHandle& w_, const TensorHandle& bias_, const TensorHandle& y_, Finish finish) {
  if (y_.numel() == 0) return;
  const TensorHandle w = plain_input<T>(w_), bias = bias_.defined() ? plain_input<T>(bias_) : bias_;
  const T* b = bias.defined() ? bias.data<T>() : nullptr;
  if (x_.numel() == 0) {  // no channels: a sum of nothing
    const Result<T> y(y_, is_plain<T>(y_), finish);
    const int64_t outputs = y_.shape()[1], pixels = y_.shape()[2] * y_.shape()[3];
    for (int64_t plane = 0; plane < y_.shape()[0] * outputs; ++plane)
      std::fill_n(y.data() + plane * pixels, pixels, b ? b[plane % outputs] : T(0));
    return y.deliver();
  }
  const ConvGeometry g(a, x_.shape(), w.shape(), y_.shape());
  const ConvPlan plan = ConvPlan::forward(g);
  const Path path = forward_path<T>(g, plan, x_, y_);
  if constexpr (std::is_same_v<T, float>) {
    if (path == Path::small_planes) {
      Result<T> y(y_, is_ordered<T>(y_), finish);
      const Ref<Derived> packed = small_planes_weights(g, w);
      const TensorHandle x = is_ordered<T>(x_) ? x_ : converted(x_, dtype_of<T>);
      convolve_small_planes(g, images<const T>(x), packed->template data<T>(), b, images<T>(y.tensor()), y.finish());
      return y.deliver();
    }
  }
  if constexpr (std::is_same_v<T, float>) {
    if (path == Path::depthwise_pixels) {
      Result<T> y(y_, true, finish);
      const Ref<Derived> packed = depthwise_pixels_weights(g, w);
      return convolve_depthwise_pixels(g, images<const T>(x_), packed->template data<T>(), b, images<T>(y_), y.finish());
    }
  }
  if (path != Path::by_plan) {
    const TensorHandle x = plain_input<T>(x_);
    Result<T> y(y_, is_plain<T>(y_), finish);
    if (path == Path::depthwise) convolve_depthwise<T>(plan, x.data<T>(), w.data<T>(), b, y.data(), y.finish());
    else if (path == Path::planes) convolve_planes<T>(plan, plain_planes<T>(plan, x.data<T>(), y.data()), w.data<T>(), b, y.finish());
    else if (path == Path::by_image) product_per_image(g, g.outputs, g.channels, w.data<T>(), x.data<T>(), b, y.data(), y.finish());
    else if constexpr (std::is_same_v<T, float>) convolve_pointwise(g, x.data<T>(), w.data<T>(), b, y.data(), y.finish());
    return y.deliver();
  }
  Result<T> y(y_, is_ordered<T>(y_), finish);
  run_plan<T>(plan, false, ordered_input<T>(x_), w, b, y.tensor(), y.finish());
  y.deliver();
}

template <class T>
void convolve_images_input(const ConvGrad& a, const TensorHandle& dy_, const TensorHandle& w_, const TensorHandle& dx_, Finish finish) {
  if (dx_.numel() == 0) return;
  if (dy_.numel() == 0) {
    const Result<T> dx(dx_, is_plain<T>(dx_), finish);
    std::fill_n(dx.data(), dx_.numel(), T(0));
    return dx.deliver();
  }
  const TensorHandle w = plain_input<T>(w_);
  const ConvGeometry g(a, dx_.shape(), w.shape(), dy_.shape());
  const ConvPlan plan = ConvPlan::input_gradient(g);
  const Path path = path_of<T>(g, plan);
  if (path != Path::by_plan) {
    const TensorHandle dy = plain_input<T>(dy_);
    Result<T> dx(dx_, is_plain<T>(dx_), finish);
    if (path == Path::depthwise) convolve_depthwise<T>(plan, dy.data<T>(), w.data<T>(), nullptr, dx.data(), dx.finish());
    else if (path == Path::planes)
      convolve_planes<T>(plan, plain_planes<T>(plan, dy.data<T>(), dx.data()), w.data<T>(), nullptr, dx.finish());
    else {
      const auto transposed = transposed_weights<T>(g, w);
      const T* rows = transposed->template data<T>();
      const ImageFinish finish_part = g.pointwise() ? dx.finish() : ImageFinish();
      if (path == Path::by_image) product_per_image<T>(g, g.channels, g.outputs, rows, dy.data<T>(), nullptr, dx.data(), finish_part);
      else if constexpr (std::is_same_v<T, float>) convolve_pointwise_input(g, dy.data<T>(), rows, dx.data(), finish_part);
    }
    return dx.deliver();
  }
  Result<T> dx(dx_, is_ordered<T>(dx_), finish);
  run_plan<T>(plan, true, ordered_input<T>(dy_), w, nullptr, dx.tensor(), dx.finish());
  dx.deliver();
}

template <class T>
void convolve_images_weight(const ConvGrad& a, const TensorHandle& x_, const TensorHandle& dy_, const TensorHandle& dw_) {
  if (dw_.numel() == 0) return;
  const Result<T> dw(dw_, is_plain<T>(dw_));
  const ConvGeometry g(a, x_.shape(), dw_.shape(), dy_.shape());
  if (dy_.numel() == 0) {
    std::fill_n(dw.data(), dw_.numel(), T(0));
  } else if (g.depthwise() || suits_planes_weight(g)) {
    const TensorHandle x = plain_input<T>(x_), dy = plain_input<T>(dy_);
    if (g.depthwise()) convolve_depthwise_weight<T>(g, x.data<T>(), dy.data<T>(), dw.data());
    else convolve_planes_weight<T>(g, x.data<T>(), dy.data<T>(), dw.data());
  } else {
    const TensorHandle x = ordered_input<T>(x_), dy = plain_rows<T>(dy_) ? dy_ : converted(dy_, dtype_of<T>);
    convolve_weight(g, images<const T>(x), images<const T>(dy), dw.data());
  }
  dw.deliver();
}

template void convolve_images<float>(
    const Conv&, const TensorHandle&, const TensorHandle&, const TensorHandle&, const TensorHandle&, Finish);
template void convolve_images<double>(
    const Conv&, const TensorHandle&, const TensorHandle&, const TensorHandle&, const TensorHandle&, Finish);
template void convolve_images_input<float>(const ConvGrad&, const TensorHandle&, const TensorHandle&, const TensorHandle&, Finish);
template void convolve_images_input<double>(const ConvGrad&, const TensorHandle&, const TensorHandle&, const TensorHandle&, Finish);
template void convolve_images_weight<float>(const ConvGrad&, const TensorHandle&, const TensorHandle&, const TensorHandle&);
template void convolve_images_weight<double>(const ConvGrad&, const TensorHandle&, const TensorHandle&, const TensorHandle&);

namespace {

TensorHandle bias_of(Inputs in) { return in.size() > 2 ? *in[2] : TensorHandle(); }

template <class T>
void conv2d(const Conv& a, Inputs in, Outputs out) {
  convolve_images<T>(a, *in[0], *in[1], bias_of(in), out[0]);
}
template <class T>
void conv2d_input(const ConvGrad& a, const TensorHandle& dy, const TensorHandle& w, TensorHandle& dx) {
  convolve_images_input<T>(a, dy, w, dx);
}
template <class T>
void conv2d_weight(const ConvGrad& a, const TensorHandle& x, const TensorHandle& dy, TensorHandle& dw) {
  convolve_images_weight<T>(a, x, dy, dw);
}

template <class T>
void convolve_finished(OpRef op, Inputs in, TensorHandle& y, Finish finish) {
  if (op.info == &op::conv2d) return convolve_images<T>(op.as<Conv>(), *in[0], *in[1], bias_of(in), y, finish);
  if (op.info == &op::conv2d_input) return convolve_images_input<T>(op.as<ConvGrad>(), *in[0], *in[1], y, finish);
  cpu_backend().kernels().find(*op.info, y.dtype())(op.attrs, in, {&y, 1});
  if (finish) finish_all(y.numel(), finish);
}

}  // namespace

bool is_convolution(const OpInfo& op) {
  return &op == &op::conv2d || &op == &op::conv2d_input || &op == &op::conv3d || &op == &op::conv3d_input;
}

void convolve(OpRef op, Inputs in, TensorHandle& y, Finish finish) {
  if (y.dtype() == DType::float64) convolve_finished<double>(op, in, y, finish);
  else convolve_finished<float>(op, in, y, finish);
}

void pack_convolution_weight(OpRef op, Inputs in, const TensorHandle& y) {
  if (y.dtype() == DType::float64) pack_weights_of<double>(op, in, y);
  else pack_weights_of<float>(op, in, y);
}

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
