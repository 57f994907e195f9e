#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/depthwise.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include "pyburn/backends/cpu/depthwise.h"
#include "pyburn/backends/cpu/tiles.h"
#include "pyburn/support/thread_pool.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// to[i * to_stride] += scale * from[i * from_stride]
template <class T>
void add_scaled(T* HWY_RESTRICT to, int64_t to_stride, const T* HWY_RESTRICT from, int64_t from_stride, T scale, int64_t n) {
  if (to_stride == 1 && from_stride == 1)
    for (int64_t i = 0; i < n; ++i) to[i] += scale * from[i];
  else
    for (int64_t i = 0; i < n; ++i) to[i * to_stride] += scale * from[i * from_stride];
}

// Calls row(input offset, output offset, n) for every output row that tap (i, j) reaches; inputs are g.x.stride apart.
template <class Row>
HWY_INLINE void for_each_row(const ConvGeometry& g, int64_t i, int64_t j, Row row) {
  const auto [top, bottom] = g.y.inside(i);
  const auto [first, last] = g.x.inside(j);
  for (int64_t y = top; y < bottom && first < last; ++y)
    row(g.y.position(y, i) * g.x.in + g.x.position(first, j), y * g.x.out + first, last - first);
}

template <class T>
void forward_plane(const ConvGeometry& g, const T* x, const T* w, T bias, T* y) {
  std::fill_n(y, g.pixels(), bias);
  for (int64_t i = 0; i < g.y.kernel; ++i)
    for (int64_t j = 0; j < g.x.kernel; ++j, ++w)
      for_each_row(g, i, j, [&](int64_t in, int64_t out, int64_t n) HWY_ATTR { add_scaled(y + out, 1, x + in, g.x.stride, *w, n); });
}

template <class T>
void input_plane(const ConvGeometry& g, const T* dy, const T* w, T* dx) {
  for (int64_t i = 0; i < g.y.kernel; ++i)
    for (int64_t j = 0; j < g.x.kernel; ++j, ++w)
      for_each_row(g, i, j, [&](int64_t in, int64_t out, int64_t n) HWY_ATTR { add_scaled(dx + in, g.x.stride, dy + out, 1, *w, n); });
}

// dw[tap] += sum over the plane of x * dy: a vector of partial sums per plane, joined in double.
template <class T>
void weight_plane(const ConvGeometry& g, const T* x, const T* dy, double* dw) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  for (int64_t i = 0; i < g.y.kernel; ++i)
    for (int64_t j = 0; j < g.x.kernel; ++j, ++dw) {
      auto sum = hn::Zero(d);
      double rest = 0;
      for_each_row(g, i, j, [&](int64_t in, int64_t out, int64_t n) HWY_ATTR {
        int64_t k = 0;
        if (g.x.stride == 1)
          for (; k + lanes <= n; k += lanes) sum = hn::MulAdd(hn::LoadU(d, x + in + k), hn::LoadU(d, dy + out + k), sum);
        for (; k < n; ++k) rest += double(x[in + k * g.x.stride]) * double(dy[out + k]);
      });
      *dw += rest + double(hn::GetLane(hn::SumOfLanes(d, sum)));
    }
}

void forward_float(const ConvGeometry& g, const float* x, const float* w, float bias, float* y) { forward_plane(g, x, w, bias, y); }
void forward_double(const ConvGeometry& g, const double* x, const double* w, double bias, double* y) { forward_plane(g, x, w, bias, y); }
void input_float(const ConvGeometry& g, const float* dy, const float* w, float* dx) { input_plane(g, dy, w, dx); }
void input_double(const ConvGeometry& g, const double* dy, const double* w, double* dx) { input_plane(g, dy, w, dx); }
void weight_float(const ConvGeometry& g, const float* x, const float* dy, double* dw) { weight_plane(g, x, dy, dw); }
void weight_double(const ConvGeometry& g, const double* x, const double* dy, double* dw) { weight_plane(g, x, dy, dw); }

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {
namespace {

HWY_EXPORT(forward_float);
HWY_EXPORT(forward_double);
HWY_EXPORT(input_float);
HWY_EXPORT(input_double);
HWY_EXPORT(weight_float);
HWY_EXPORT(weight_double);

template <class T>
struct PlaneFunctions {
  void (*forward)(const ConvGeometry&, const T*, const T*, T, T*);
  void (*input)(const ConvGeometry&, const T*, const T*, T*);
  void (*weight)(const ConvGeometry&, const T*, const T*, double*);
};
PlaneFunctions<float> functions(float) {
  return {HWY_DYNAMIC_DISPATCH(forward_float), HWY_DYNAMIC_DISPATCH(input_float), HWY_DYNAMIC_DISPATCH(weight_float)};
}
PlaneFunctions<double> functions(double) {
  return {HWY_DYNAMIC_DISPATCH(forward_double), HWY_DYNAMIC_DISPATCH(input_double), HWY_DYNAMIC_DISPATCH(weight_double)};
}

int64_t grain(const ConvGeometry& g) { return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, g.pixels() * g.taps())); }

}  // namespace

template <class T>
void depthwise_forward(const ConvGeometry& g, const T* x, const T* weight, const T* bias, T* y) {
  const auto forward = functions(T()).forward;
  const int64_t planes = g.groups * g.outputs;
  parallel_for(g.batch * planes, grain(g), [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      const int64_t image = k / planes, output = k % planes, channel = output / g.outputs;
      forward(g, x + (image * g.groups + channel) * g.plane(), weight + output * g.taps(), bias ? bias[output] : T(0), y + k * g.pixels());
    }
  });
}

template <class T>
void depthwise_input(const ConvGeometry& g, const T* dy, const T* weight, T* dx) {
  const auto input = functions(T()).input;
  parallel_for(g.batch * g.groups, grain(g), [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      const int64_t image = k / g.groups, channel = k % g.groups;
      T* plane = dx + k * g.plane();
      std::fill_n(plane, g.plane(), T(0));
      for (int64_t output = channel * g.outputs; output < (channel + 1) * g.outputs; ++output)
        input(g, dy + (image * g.groups * g.outputs + output) * g.pixels(), weight + output * g.taps(), plane);
    }
  });
}

template <class T>
void depthwise_weight(const ConvGeometry& g, const T* x, const T* dy, T* dw) {
  const auto weight = functions(T()).weight;
  const int64_t planes = g.groups * g.outputs;
  parallel_for(planes, std::max<int64_t>(1, grain(g) / std::max<int64_t>(1, g.batch)), [&](int64_t begin, int64_t end) {
    SmallVector<double, 64> sums;
    for (int64_t output = begin; output < end; ++output) {
      sums.clear();
      sums.resize(g.taps(), 0.0);
      for (int64_t image = 0; image < g.batch; ++image)
        weight(g, x + (image * g.groups + output / g.outputs) * g.plane(), dy + (image * planes + output) * g.pixels(), sums.data());
      for (int64_t t = 0; t < g.taps(); ++t) dw[output * g.taps() + t] = T(sums[t]);
    }
  });
}

template void depthwise_forward(const ConvGeometry&, const float*, const float*, const float*, float*);
template void depthwise_forward(const ConvGeometry&, const double*, const double*, const double*, double*);
template void depthwise_input(const ConvGeometry&, const float*, const float*, float*);
template void depthwise_input(const ConvGeometry&, const double*, const double*, double*);
template void depthwise_weight(const ConvGeometry&, const float*, const float*, float*);
template void depthwise_weight(const ConvGeometry&, const double*, const double*, double*);

}  // namespace pyburn::cpu
#endif
