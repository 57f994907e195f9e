// conv2d and its gradients: directly where each group has one channel, else as matrix products of the unfolded input. Work is cut
// into tasks by the shape alone and each result is summed in one order, so the number of threads does not change it.
#include "pyburn/ops/conv.h"

#include <algorithm>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/depthwise.h"
#include "pyburn/backends/cpu/gemm.h"
#include "pyburn/backends/cpu/im2col.h"
#include "pyburn/backends/cpu/scratch_buffer.h"
#include "pyburn/backends/cpu/tiles.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn::cpu {
namespace {

constexpr int64_t kUnfolded = 1 << 17;      // elements of the unfolded input at a time: they stay in L2
constexpr int64_t kTaskWork = 1 << 18;      // multiply-adds that are worth a task
constexpr int64_t kTasks = 8;               // where one image gives fewer, it is cut

template <class T>
constexpr DType kDType = std::is_same_v<T, float> ? DType::float32 : DType::float64;

template <class T>
bool is_plain(const TensorHandle& x) { return x.dtype() == kDType<T> && x.layout().is_contiguous(); }
template <class T>
TensorHandle plain_input(const TensorHandle& x) { return is_plain<T>(x) ? x : converted(x, kDType<T>); }
template <class T>
TensorHandle plain_output(const TensorHandle& y) { return is_plain<T>(y) ? y : scratch(y, kDType<T>); }
void deliver(const TensorHandle& from, const TensorHandle& to) {
  if (!from.is_same(to)) convert_into(from, to);
}

int64_t divided_up(int64_t n, int64_t by) { return (n + by - 1) / by; }

// Few tasks run one after the other, and each uses all threads inside; many run side by side.
template <class Body>
void for_tasks(int64_t tasks, int64_t work_of_task, Body body) {
  parallel_for(tasks, tasks < num_threads() ? tasks : std::max<int64_t>(1, kTaskWork / std::max<int64_t>(1, work_of_task)), body);
}

template <class T>
void forward(const ConvGeometry& g, const T* x, const T* w, const T* bias, T* y) {
  const int64_t columns = g.columns(), pixels = g.pixels();
  const int64_t rows = g.pointwise() ? g.y.out : std::clamp<int64_t>(std::max<int64_t>(256, kUnfolded / std::max<int64_t>(1, columns)) / g.x.out, 1, g.y.out);
  const int64_t strips = divided_up(g.y.out, rows);
  for_tasks(g.batch * g.groups * strips, g.outputs * columns * rows * g.x.out, [&](int64_t begin, int64_t end) {
    ScratchBuffer<T> unfolded(g.pointwise() ? 0 : columns * rows * g.x.out);
    for (int64_t task = begin; task < end; ++task) {
      const int64_t plane = task / strips, group = plane % g.groups;  // plane: image * groups + group
      const int64_t row = task % strips * rows, row_end = std::min(g.y.out, row + rows), n = (row_end - row) * g.x.out;
      const T* image = x + plane * g.channels * g.plane();
      if (!g.pointwise()) im2col(g, image, g.channels, row, row_end, unfolded.data());
      T* result = y + plane * g.outputs * pixels + row * g.x.out;
      if (bias)
        for (int64_t o = 0; o < g.outputs; ++o) std::fill_n(result + o * pixels, n, bias[group * g.outputs + o]);
      gemm(g.outputs, n, columns, {w + group * g.outputs * columns, columns, 1}, {g.pointwise() ? image : unfolded.data(), n, 1},
           {result, pixels, 1}, bias != nullptr);
    }
  });
}

// `w` transposed: (groups, columns, outputs).
template <class T>
void input_gradient(const ConvGeometry& g, const T* dy, const T* w, T* dx) {
  const int64_t taps = g.taps(), pixels = g.pixels();
  int64_t step = g.batch * g.groups >= kTasks ? g.channels : divided_up(g.channels, kTasks);  // channels per task
  if (!g.pointwise()) step = std::min(step, 2 * kUnfolded / std::max<int64_t>(1, taps * pixels));
  step = std::clamp<int64_t>(std::max(step, divided_up(24, taps)), 1, g.channels);  // enough rows for the product
  const int64_t blocks = divided_up(g.channels, step);
  for_tasks(g.batch * g.groups * blocks, step * taps * pixels * g.outputs, [&](int64_t begin, int64_t end) {
    ScratchBuffer<T> unfolded(g.pointwise() ? 0 : step * taps * pixels);
    for (int64_t task = begin; task < end; ++task) {
      const int64_t plane = task / blocks, group = plane % g.groups;
      const int64_t channel = task % blocks * step, channels = std::min(step, g.channels - channel);
      T* image = dx + (plane * g.channels + channel) * g.plane();
      T* product = g.pointwise() ? image : unfolded.data();
      gemm(channels * taps, pixels, g.outputs, {w + (group * g.columns() + channel * taps) * g.outputs, g.outputs, 1},
           {dy + plane * g.outputs * pixels, pixels, 1}, {product, pixels, 1});
      if (g.pointwise()) continue;
      std::fill_n(image, channels * g.plane(), T(0));
      col2im(g, unfolded.data(), channels, image);
    }
  });
}

template <class T>
void weight_gradient(const ConvGeometry& g, const T* x, const T* dy, T* dw) {
  const int64_t taps = g.taps(), pixels = g.pixels(), columns = g.columns(), size = g.groups * g.outputs * columns;
  const int64_t step = std::clamp<int64_t>(std::max(divided_up(64, taps), divided_up(g.channels, kTasks)), 1, g.channels);
  const int64_t blocks = divided_up(g.channels, step), rows = std::clamp<int64_t>(2 * kUnfolded / (step * taps * g.x.out), 1, g.y.out);
  // Where there are few channels the images are shared out, too, and their gradients added up afterwards.
  const int64_t parts = std::clamp<int64_t>(kTasks / (g.groups * blocks), 1, std::max<int64_t>(1, g.batch));
  ScratchBuffer<T> others((parts - 1) * size);
  auto part_of = [&](int64_t part) { return part == 0 ? dw : others.data() + (part - 1) * size; };
  for_tasks(parts * g.groups * blocks, divided_up(g.batch, parts) * g.outputs * step * taps * pixels, [&](int64_t begin, int64_t end) {
    ScratchBuffer<T> unfolded(g.pointwise() ? 0 : step * taps * rows * g.x.out);
    for (int64_t task = begin; task < end; ++task) {
      const int64_t part = task / (g.groups * blocks), group = task / blocks % g.groups;
      const int64_t channel = task % blocks * step, channels = std::min(step, g.channels - channel);
      const Matrix<T> result{part_of(part) + group * g.outputs * columns + channel * taps, columns, 1};
      bool accumulate = false;
      for (int64_t image = g.batch * part / parts; image < g.batch * (part + 1) / parts; ++image) {
        const int64_t plane = image * g.groups + group;
        const T* from = x + (plane * g.channels + channel) * g.plane();
        for (int64_t row = 0; row < g.y.out; row += rows, accumulate = true) {
          const int64_t row_end = std::min(g.y.out, row + rows), n = (row_end - row) * g.x.out;
          if (!g.pointwise()) im2col(g, from, channels, row, row_end, unfolded.data());
          const Matrix<const T> right = g.pointwise() ? Matrix<const T>{from + row * g.x.out, 1, pixels} : Matrix<const T>{unfolded.data(), 1, n};
          gemm(g.outputs, channels * taps, n, {dy + plane * g.outputs * pixels + row * g.x.out, pixels, 1}, right, result, accumulate);
        }
      }
    }
  });
  for (int64_t part = 1; part < parts; ++part)
    for (int64_t i = 0; i < size; ++i) dw[i] += part_of(part)[i];
}

template <class T>
void conv2d(const Conv& a, Inputs in, Outputs out) {
  const TensorHandle x = plain_input<T>(*in[0]), w = plain_input<T>(*in[1]), y = plain_output<T>(out[0]);
  const TensorHandle bias = in.size() > 2 && in[2]->defined() ? plain_input<T>(*in[2]) : TensorHandle();
  const T* b = bias.defined() ? bias.data<T>() : nullptr;
  const ConvGeometry g(a, x.shape(), w.shape(), y.shape());
  if (y.numel() == 0) return;
  if (g.depthwise()) depthwise_forward(g, x.data<T>(), w.data<T>(), b, y.data<T>());
  else forward(g, x.data<T>(), w.data<T>(), b, y.data<T>());
  deliver(y, out[0]);
}

template <class T>
void conv2d_input(const ConvGrad& a, const TensorHandle& dy_, const TensorHandle& w_, TensorHandle& dx_) {
  const TensorHandle dy = plain_input<T>(dy_), w = plain_input<T>(w_), dx = plain_output<T>(dx_);
  const ConvGeometry g(a, dx.shape(), w.shape(), dy.shape());
  if (dx.numel() == 0) return;
  if (g.depthwise()) {
    depthwise_input(g, dy.data<T>(), w.data<T>(), dx.data<T>());
  } else {
    const Layout transposed{Shape{g.groups, g.columns(), g.outputs}, Dims{g.outputs * g.columns(), 1, g.columns()}, w.layout().offset};
    input_gradient(g, dy.data<T>(), converted(alias(w, transposed), w.dtype()).template data<T>(), dx.data<T>());
  }
  deliver(dx, dx_);
}

template <class T>
void conv2d_weight(const ConvGrad& a, const TensorHandle& x_, const TensorHandle& dy_, TensorHandle& dw_) {
  const TensorHandle x = plain_input<T>(x_), dy = plain_input<T>(dy_), dw = plain_output<T>(dw_);
  const ConvGeometry g(a, x.shape(), dw.shape(), dy.shape());
  if (dw.numel() == 0) return;
  if (dy.numel() == 0) std::fill_n(dw.data<T>(), dw.numel(), T(0));
  else if (g.depthwise()) depthwise_weight(g, x.data<T>(), dy.data<T>(), dw.data<T>());
  else weight_gradient(g, x.data<T>(), dy.data<T>(), dw.data<T>());
  deliver(dw, dw_);
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
