// conv3d and its gradients, as matrix products of the unfolded input, a few lines of the output at a time.
#include <algorithm>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/gemm.h"
#include "pyburn/backends/cpu/plain_tensors.h"
#include "pyburn/backends/cpu/scratch_buffer.h"
#include "pyburn/backends/cpu/unfold.h"
#include "pyburn/ops/conv.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn::cpu {
namespace {

constexpr int64_t kUnfolded = 1 << 16;  // elements of the unfolded input at a time: they stay in L2

struct Geometry : Volume {
  int64_t batch, groups, channels, outputs;  // channels and outputs: per group
  int64_t columns, step;                     // step: lines of the output at a time

  Geometry(const auto& a, const Shape& x, const Shape& w, const Shape& y)
      : Volume(space(x), space(w), space(y), a.stride, a.padding, a.dilation),
        batch(x[0]),
        groups(a.groups),
        channels(w[1]),
        outputs(w[0] / a.groups),
        columns(w[1] * taps()),
        step(std::clamp<int64_t>(std::max<int64_t>(128, kUnfolded / std::max<int64_t>(1, columns)) / this->x.out, 1, lines())) {}
  static Dims space(const Shape& s) { return {s[2], s[3], s[4]}; }

  // body(image, group, first line, last line, pixels between): images and groups side by side where there are enough of them, else
  // the products use all threads. Lines follow each other, so that sums have one order.
  template <class Body>
  void for_parts(Body body) const {
    const int64_t planes = batch * groups;
    parallel_for(planes, planes < num_threads() ? planes : 1, [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane)
        for (int64_t line = 0; line < lines(); line += step) {
          const int64_t last = std::min(lines(), line + step);
          body(plane / groups, plane % groups, line, last, (last - line) * x.out);
        }
    });
  }
  int64_t input_offset(int64_t image, int64_t group) const { return (image * groups + group) * channels * plane(); }
  int64_t output_offset(int64_t image, int64_t group, int64_t line) const {
    return (image * groups + group) * outputs * pixels() + line * x.out;
  }
  int64_t weight_offset(int64_t group) const { return group * outputs * columns; }
};

template <class T>
void conv3d(const Conv& a, Inputs in, Outputs out) {
  const PlainInput<T> x(*in[0]), w(*in[1]), bias(in.size() > 2 ? *in[2] : TensorHandle());
  const PlainOutput<T> y(out[0]);
  if (y.numel() == 0) return;
  const Geometry g(a, x.shape(), w.shape(), y.shape());
  g.for_parts([&](int64_t image, int64_t group, int64_t line, int64_t last, int64_t n) {
    ScratchBuffer<T> unfolded(g.columns * n);
    unfold(g, x.data() + g.input_offset(image, group), g.channels, line, last, unfolded.data());
    T* result = y.data() + g.output_offset(image, group, line);
    if (bias.data())
      for (int64_t o = 0; o < g.outputs; ++o) std::fill_n(result + o * g.pixels(), n, bias.data()[group * g.outputs + o]);
    gemm(g.outputs, n, g.columns, Matrix<const T>{w.data() + g.weight_offset(group), g.columns, 1}, Matrix<const T>{unfolded.data(), n, 1},
        Matrix<T>{result, g.pixels(), 1}, bias.data() != nullptr);
  });
}

template <class T>
void conv3d_input(const ConvGrad& a, const TensorHandle& dy_, const TensorHandle& w_, TensorHandle& dx_) {
  const PlainInput<T> dy(dy_), w(w_);
  const PlainOutput<T> dx(dx_);
  std::fill_n(dx.data(), dx.numel(), T(0));
  if (dx.numel() == 0) return;
  const Geometry g(a, dx.shape(), w.shape(), dy.shape());
  g.for_parts([&](int64_t image, int64_t group, int64_t line, int64_t last, int64_t n) {
    ScratchBuffer<T> unfolded(g.columns * n);
    gemm(g.columns, n, g.outputs, Matrix<const T>{w.data() + g.weight_offset(group), 1, g.columns},
        Matrix<const T>{dy.data() + g.output_offset(image, group, line), g.pixels(), 1}, Matrix<T>{unfolded.data(), n, 1});
    fold(g, unfolded.data(), g.channels, line, last, dx.data() + g.input_offset(image, group));
  });
}

// All images add to one weight: one after the other, each product on all threads.
template <class T>
void conv3d_weight(const ConvGrad& a, const TensorHandle& x_, const TensorHandle& dy_, TensorHandle& dw_) {
  const PlainInput<T> x(x_), dy(dy_);
  const PlainOutput<T> dw(dw_);
  std::fill_n(dw.data(), dw.numel(), T(0));
  if (dw.numel() == 0 || dy_.numel() == 0) return;
  const Geometry g(a, x.shape(), dw.shape(), dy.shape());
  ScratchBuffer<T> unfolded(g.columns * g.step * g.x.out);
  for (int64_t image = 0; image < g.batch; ++image)
    for (int64_t group = 0; group < g.groups; ++group)
      for (int64_t line = 0; line < g.lines(); line += g.step) {
        const int64_t last = std::min(g.lines(), line + g.step), n = (last - line) * g.x.out;
        unfold(g, x.data() + g.input_offset(image, group), g.channels, line, last, unfolded.data());
        gemm(g.outputs, g.columns, n, Matrix<const T>{dy.data() + g.output_offset(image, group, line), g.pixels(), 1},
            Matrix<const T>{unfolded.data(), 1, n}, Matrix<T>{dw.data() + g.weight_offset(group), g.columns, 1}, true);
      }
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
