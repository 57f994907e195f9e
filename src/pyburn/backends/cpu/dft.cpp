// Discrete Fourier transforms: a few lines at a time, side by side in vectors.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/dft.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include "pyburn/backends/cpu/axis_walk.h"
#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/dispatch_dtype.h"
#include "pyburn/backends/cpu/fft/passes-inl.h"
#include "pyburn/backends/cpu/scratch_buffer.h"
#include "pyburn/ops/dft.h"
#include "pyburn/support/checked.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t kTile = 16;          // numbers of a line that are moved at a time
constexpr int64_t kSideBySide = 16;    // lines in vectors
constexpr int64_t kInCache = 1 << 15;  // numbers of all of them

// So many lines are transformed at a time: as the shapes say, so that results do not depend on threads.
int64_t lines_at_once(int64_t lines, int64_t n) {
  if (lines < 4) return 1;
  return std::clamp<int64_t>(kInCache / n & ~int64_t(7), 8, kSideBySide);
}

// The lines of a tensor (outer, extent, inner): number j of line i.
struct Lines {
  int64_t extent, inner;
  int64_t at(int64_t line, int64_t j) const { return (line / inner * extent + j) * inner + line % inner; }
};

// load(line, l, lines, z, begin, end) brings numbers [begin, end) of a line to place l of z, between whose numbers `lines` lie; store(...)
// brings results away, which are `stored` of a line. A few numbers of all lines at a time: those share what the cache holds of z.
template <class T, class Load, class Store>
void transform_lines(const fft::Plan<T>& plan, int64_t count, int64_t stored, bool inverse, Load load, Store store) {
  const int64_t lines = lines_at_once(count, plan.scratch()), room = Checked(lines) * plan.scratch();
  auto body = [&](int64_t begin, int64_t end) HWY_ATTR {
    ScratchBuffer<T> buffer(Checked(room) * 4);
    T* const p = buffer.data();
    for (int64_t block = begin; block < end; ++block) {
      const Complexes<T> a{p, p + room}, b{p + 2 * room, p + 3 * room};
      const int64_t first = block * lines, present = std::min(lines, count - first);
      if (present < lines) std::fill_n(p, 2 * room, T(0));
      for (int64_t j = 0; j < plan.n; j += kTile)
        for (int64_t l = 0; l < present; ++l) load(first + l, l, lines, a, j, std::min(plan.n, j + kTile));
      Complexes<T> y;
      if (inverse) {
        y = transform(plan, lines, Complexes<T>{a.im, a.re}, Complexes<T>{b.im, b.re});
        y = {y.im, y.re};
      } else y = transform(plan, lines, a, b);
      for (int64_t j = 0; j < stored; j += kTile)
        for (int64_t l = 0; l < present; ++l) store(first + l, l, lines, y, j, std::min(stored, j + kTile));
    }
  };
  parallel_for(divide_up(count, lines), std::max<int64_t>(1, kPassGrain / std::max<int64_t>(1, room)), body);
}

void dft(const Dft& a, const TensorHandle& x_, TensorHandle& y) {
  const DType compute = compute_dtype(y.dtype());
  const TensorHandle x = plain(x_, compute);
  const PlainTarget to(y, compute);
  const Axis axis(x.shape(), a.dim);
  const Lines lines{axis.extent, axis.inner / 2};
  const int64_t count = axis.outer * lines.inner, n = axis.extent;
  if (count == 0) return;
  with_compute_type(compute, [&]<class T>(T*) {
    if constexpr (std::is_floating_point_v<T>) {
      const auto plan = fft::plan_for<T>(n);
      const T *const from = x.data<T>(), scale = T(a.scale);
      T* const into = to.data<T>();
      transform_lines(
          *plan, count, n, a.inverse,
          [&](int64_t line, int64_t l, int64_t side, const Complexes<T>& z, int64_t begin, int64_t end) HWY_ATTR {
            const T* pair = from + 2 * lines.at(line, begin);
            for (int64_t j = begin; j < end; ++j, pair += 2 * lines.inner) z.re[j * side + l] = pair[0], z.im[j * side + l] = pair[1];
          },
          [&](int64_t line, int64_t l, int64_t side, const Complexes<T>& z, int64_t begin, int64_t end) HWY_ATTR {
            T* pair = into + 2 * lines.at(line, begin);
            for (int64_t j = begin; j < end; ++j, pair += 2 * lines.inner)
              pair[0] = z.re[j * side + l] * scale, pair[1] = z.im[j * side + l] * scale;
          });
    }
  });
  to.finish();
}

// An even number of reals is transformed as half as many complex numbers (even ones real, odd ones imaginary), which are then told apart.
void rdft(const RealDft& a, const TensorHandle& x_, TensorHandle& y) {
  const DType compute = compute_dtype(y.dtype());
  const TensorHandle x = plain(x_, compute);
  const PlainTarget to(y, compute);
  const Axis axis(x.shape(), a.dim);
  const int64_t count = axis.outer * axis.inner, n = axis.extent, half = n / 2;
  const Lines reals{n, axis.inner}, pairs{half + 1, axis.inner};
  if (count == 0) return;
  with_compute_type(compute, [&]<class T>(T*) {
    if constexpr (std::is_floating_point_v<T>) {
      const bool even = n % 2 == 0;
      const auto plan = fft::plan_for<T>(even ? half : n);
      const auto roots = fft::half_roots_for<T>(even ? n : 1);
      const T *const from = x.data<T>(), scale = T(a.scale);
      T* const into = to.data<T>();
      transform_lines(
          *plan, count, half + 1, false,
          [&](int64_t line, int64_t l, int64_t side, const Complexes<T>& z, int64_t begin, int64_t end) HWY_ATTR {
            const T* x0 = from + reals.at(line, even ? 2 * begin : begin);
            for (int64_t j = begin; j < end; ++j, x0 += even ? 2 * reals.inner : reals.inner)
              z.re[j * side + l] = *x0, z.im[j * side + l] = even ? x0[reals.inner] : T(0);
          },
          [&](int64_t line, int64_t l, int64_t side, const Complexes<T>& z, int64_t begin, int64_t end) HWY_ATTR {
            T* pair = into + 2 * pairs.at(line, begin);
            for (int64_t k = begin; k < end; ++k, pair += 2 * pairs.inner) {
              const int64_t p = (even && k == half ? 0 : k) * side + l, q = (k == 0 ? 0 : half - k) * side + l;
              if (!even) {
                pair[0] = z.re[p] * scale, pair[1] = z.im[p] * scale;
                continue;
              }
              const T er = (z.re[p] + z.re[q]) / 2, ei = (z.im[p] - z.im[q]) / 2, or_ = (z.im[p] + z.im[q]) / 2,
                      oi = (z.re[q] - z.re[p]) / 2, c = roots->cos[size_t(k)], s = roots->sin[size_t(k)];
              pair[0] = (er + (or_ * c - oi * s)) * scale, pair[1] = (ei + (or_ * s + oi * c)) * scale;
            }
          });
    }
  });
  to.finish();
}

// The steps of rdft backwards.
void irdft(const RealInverseDft& a, const TensorHandle& x_, TensorHandle& y) {
  const DType compute = compute_dtype(y.dtype());
  const TensorHandle x = plain(x_, compute);
  const PlainTarget to(y, compute);
  const Axis axis(y.shape(), a.dim);
  const int64_t count = axis.outer * axis.inner, n = a.n, half = n / 2;
  const Lines reals{n, axis.inner}, pairs{half + 1, axis.inner};
  if (count == 0) return;
  with_compute_type(compute, [&]<class T>(T*) {
    if constexpr (std::is_floating_point_v<T>) {
      const bool even = n % 2 == 0;
      const auto plan = fft::plan_for<T>(even ? half : n);
      const auto roots = fft::half_roots_for<T>(even ? n : 1);
      const T *const from = x.data<T>(), scale = T(a.scale);
      T* const into = to.data<T>();
      auto frequency = [&](int64_t line, int64_t k, T& re, T& im) HWY_ATTR {
        const T* const pair = from + 2 * pairs.at(line, k);
        re = pair[0], im = k == 0 || 2 * k == n ? T(0) : pair[1];
      };
      transform_lines(
          *plan, count, plan->n, true,
          [&](int64_t line, int64_t l, int64_t side, const Complexes<T>& z, int64_t begin, int64_t end) HWY_ATTR {
            for (int64_t k = begin; k < end; ++k) {
              T &re = z.re[k * side + l], &im = z.im[k * side + l];
              if (!even) {
                frequency(line, std::min(k, n - k), re, im);
                if (k > half) im = -im;
                continue;
              }
              T pr, pi, qr, qi;
              frequency(line, k, pr, pi), frequency(line, half - k, qr, qi);
              const T dr = pr - qr, di = pi + qi, c = roots->cos[size_t(k)], s = roots->sin[size_t(k)];
              const T or_ = dr * c + di * s, oi = di * c - dr * s;  // times the conjugate root
              re = pr + qr - oi, im = pi - qi + or_;
            }
          },
          [&](int64_t line, int64_t l, int64_t side, const Complexes<T>& z, int64_t begin, int64_t end) HWY_ATTR {
            T* y0 = into + reals.at(line, even ? 2 * begin : begin);
            for (int64_t j = begin; j < end; ++j, y0 += even ? 2 * reals.inner : reals.inner) {
              *y0 = z.re[j * side + l] * scale;
              if (even) y0[reals.inner] = z.im[j * side + l] * scale;
            }
          });
    }
  });
  to.finish();
}

void add_dft(KernelTable& kernels) {
  for (const DType key : {DType::float32, DType::float64, DType::float16, DType::bfloat16}) {
    kernels.add<dft>(op::dft, key);
    kernels.add<rdft>(op::rdft, key);
    kernels.add<irdft>(op::irdft, key);
  }
}

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {

HWY_EXPORT(add_dft);
void register_dft(KernelTable& kernels) { HWY_DYNAMIC_DISPATCH(add_dft)(kernels); }

}  // namespace pyburn::cpu
#endif
