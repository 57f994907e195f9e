// Fast Fourier transforms of lines that lie side by side, for each instruction set: include after foreach_target.h. Real and imaginary
// parts are apart, and number j of line l is at [j * lines + l], so that the loops over lines become vectors; in a single line, those over
// neighbours do (Stockham's algorithm: no bit reversal).
#if defined(PYBURN_FFT_PASSES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PYBURN_FFT_PASSES_INL_H
#undef PYBURN_FFT_PASSES_INL_H
#else
#define PYBURN_FFT_PASSES_INL_H
#endif

#include <algorithm>
#include <utility>

#include "pyburn/backends/cpu/fft/plan.h"
#include "pyburn/support/thread_pool.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

template <class T>
struct Complexes {
  T *re, *im;
};

constexpr int64_t kPassGrain = 1 << 15;  // numbers of a pass that a thread takes at least

// y_k = sum over l of x_l exp(-2 pi i k l / radix), for the radices that have code of their own.
template <int radix, class T>
HWY_INLINE void butterfly(const T (&xr)[radix], const T (&xi)[radix], T (&yr)[radix], T (&yi)[radix]) {
  if constexpr (radix == 2) {
    yr[0] = xr[0] + xr[1], yi[0] = xi[0] + xi[1];
    yr[1] = xr[0] - xr[1], yi[1] = xi[0] - xi[1];
  } else if constexpr (radix == 3) {
    constexpr T half_root = T(0.86602540378443864676);
    const T sr = xr[1] + xr[2], si = xi[1] + xi[2], dr = (xr[1] - xr[2]) * half_root, di = (xi[1] - xi[2]) * half_root;
    const T mr = xr[0] - sr / 2, mi = xi[0] - si / 2;
    yr[0] = xr[0] + sr, yi[0] = xi[0] + si;
    yr[1] = mr + di, yi[1] = mi - dr;
    yr[2] = mr - di, yi[2] = mi + dr;
  } else if constexpr (radix == 4) {
    const T ar = xr[0] + xr[2], ai = xi[0] + xi[2], br = xr[0] - xr[2], bi = xi[0] - xi[2];
    const T cr = xr[1] + xr[3], ci = xi[1] + xi[3], dr = xr[1] - xr[3], di = xi[1] - xi[3];
    yr[0] = ar + cr, yi[0] = ai + ci;
    yr[1] = br + di, yi[1] = bi - dr;
    yr[2] = ar - cr, yi[2] = ai - ci;
    yr[3] = br - di, yi[3] = bi + dr;
  } else {
    static_assert(radix == 5);
    constexpr T c1 = T(0.30901699437494742410), c2 = T(-0.80901699437494742410), s1 = T(0.95105651629515357212),
                s2 = T(0.58778525229247312917);
    const T ar = xr[1] + xr[4], ai = xi[1] + xi[4], br = xr[2] + xr[3], bi = xi[2] + xi[3];
    const T cr = xr[1] - xr[4], ci = xi[1] - xi[4], dr = xr[2] - xr[3], di = xi[2] - xi[3];
    const T pr = xr[0] + c1 * ar + c2 * br, pi = xi[0] + c1 * ai + c2 * bi, qr = s1 * cr + s2 * dr, qi = s1 * ci + s2 * di;
    const T rr = xr[0] + c2 * ar + c1 * br, ri = xi[0] + c2 * ai + c1 * bi, tr = s2 * cr - s1 * dr, ti = s2 * ci - s1 * di;
    yr[0] = xr[0] + ar + br, yi[0] = xi[0] + ai + bi;
    yr[1] = pr + qi, yi[1] = pi - qr;
    yr[4] = pr - qi, yi[4] = pi + qr;
    yr[2] = rr + ti, yi[2] = ri - tr;
    yr[3] = rr - ti, yi[3] = ri + tr;
  }
}

// Numbers [begin, end) of the rows; `stride` numbers of earlier passes and of other lines lie side by side in each place.
template <int radix, class T>
void pass_rows(
    const fft::Pass& pass, const T* cos, const T* sin, Complexes<const T> x, Complexes<T> y, int64_t stride, int64_t begin, int64_t end) {
  const int64_t m = pass.m;
  auto one = [&](int64_t from, int64_t to, const T(&wr)[radix], const T(&wi)[radix]) HWY_ATTR {
    T xr[radix], xi[radix], yr[radix], yi[radix];
    for (int k = 0; k < radix; ++k) xr[k] = x.re[from + k * m * stride], xi[k] = x.im[from + k * m * stride];
    butterfly<radix>(xr, xi, yr, yi);
    y.re[to] = yr[0], y.im[to] = yi[0];
    for (int k = 1; k < radix; ++k) {
      y.re[to + k * stride] = yr[k] * wr[k] - yi[k] * wi[k];
      y.im[to + k * stride] = yr[k] * wi[k] + yi[k] * wr[k];
    }
  };
  auto roots = [&](int64_t j, T(&wr)[radix], T(&wi)[radix]) HWY_ATTR {
    for (int k = 1; k < radix; ++k) wr[k] = cos[(k - 1) * m + j], wi[k] = sin[(k - 1) * m + j];
  };
  if (stride == 1) {
#pragma GCC ivdep
    for (int64_t j = begin; j < end; ++j) {
      T wr[radix], wi[radix];
      roots(j, wr, wi);
      one(j, radix * j, wr, wi);
    }
    return;
  }
  for (int64_t j = begin; j < end; ++j) {
    T wr[radix], wi[radix];
    roots(j, wr, wi);
#pragma GCC ivdep
    for (int64_t q = 0; q < stride; ++q) one(q + stride * j, q + stride * radix * j, wr, wi);
  }
}

// The same for any radix, a sum over all pairs.
template <class T>
void pass_rows_of_any_radix(const fft::Pass& pass, const T* cos, const T* sin, const T* small_cos, const T* small_sin, Complexes<const T> x,
    Complexes<T> y, int64_t stride, int64_t begin, int64_t end) {
  const int64_t m = pass.m, radix = pass.radix;
  for (int64_t j = begin; j < end; ++j)
    for (int64_t k = 0; k < radix; ++k) {
      T *const yr = y.re + stride * (radix * j + k), *const yi = y.im + stride * (radix * j + k);
      std::fill_n(yr, stride, T(0)), std::fill_n(yi, stride, T(0));
      const T turn_r = k ? cos[(k - 1) * m + j] : T(1), turn_i = k ? sin[(k - 1) * m + j] : T(0);
      for (int64_t l = 0; l < radix; ++l) {
        const T ar = small_cos[k * l % radix], ai = small_sin[k * l % radix];
        const T wr = ar * turn_r - ai * turn_i, wi = ar * turn_i + ai * turn_r;
        const T *const xr = x.re + stride * (j + m * l), *const xi = x.im + stride * (j + m * l);
#pragma GCC ivdep
        for (int64_t q = 0; q < stride; ++q) {
          yr[q] += xr[q] * wr - xi[q] * wi;
          yi[q] += xr[q] * wi + xi[q] * wr;
        }
      }
    }
}

// All passes of a plan, to and fro between two buffers; returns the one that holds the result.
template <class T>
Complexes<T> run_passes(const fft::Plan<T>& plan, int64_t lines, Complexes<T> a, Complexes<T> b) {
  int64_t stride = lines;
  size_t small = 0;
  for (const fft::Pass& pass : plan.passes) {
    const T *const cos = plan.cos.data() + pass.roots, *const sin = plan.sin.data() + pass.roots;
    const Complexes<const T> x{a.re, a.im};
    parallel_for(pass.m, std::max<int64_t>(1, kPassGrain / (stride * pass.radix)), [&](int64_t begin, int64_t end) HWY_ATTR {
      switch (pass.radix) {
        case 2:
          return pass_rows<2>(pass, cos, sin, x, b, stride, begin, end);
        case 3:
          return pass_rows<3>(pass, cos, sin, x, b, stride, begin, end);
        case 4:
          return pass_rows<4>(pass, cos, sin, x, b, stride, begin, end);
        case 5:
          return pass_rows<5>(pass, cos, sin, x, b, stride, begin, end);
        default:
          pass_rows_of_any_radix(pass, cos, sin, plan.small_cos.data() + small, plan.small_sin.data() + small, x, b, stride, begin, end);
      }
    });
    if (pass.radix > 5) small += size_t(pass.radix);
    stride *= pass.radix;
    std::swap(a, b);
  }
  return a;
}

// Transforms a, of room for plan.scratch() numbers per line, with b for intermediate results; returns the one that holds the result.
// The inverse transform, without its factor, is this with the real and the imaginary parts exchanged.
template <class T>
Complexes<T> transform(const fft::Plan<T>& plan, int64_t lines, Complexes<T> a, Complexes<T> b) {
  if (!plan.wide) return run_passes(plan, lines, a, b);
  const int64_t n = plan.n, wide = plan.wide->n;
  auto times = [&](Complexes<T> z, const T* cos, const T* sin, int64_t count) HWY_ATTR {
    parallel_for(count, std::max<int64_t>(1, kPassGrain / lines), [&](int64_t begin, int64_t end) HWY_ATTR {
      for (int64_t j = begin; j < end; ++j) {
        T *const re = z.re + j * lines, *const im = z.im + j * lines;
        for (int64_t l = 0; l < lines; ++l) {
          const T r = re[l] * cos[j] - im[l] * sin[j];
          im[l] = re[l] * sin[j] + im[l] * cos[j];
          re[l] = r;
        }
      }
    });
  };
  times(a, plan.chirp_cos.data(), plan.chirp_sin.data(), n);
  std::fill(a.re + n * lines, a.re + wide * lines, T(0)), std::fill(a.im + n * lines, a.im + wide * lines, T(0));
  Complexes<T> y = run_passes(*plan.wide, lines, a, b);
  const Complexes<T> other = y.re == a.re ? b : a;
  times(y, plan.filter_cos.data(), plan.filter_sin.data(), wide);
  y = run_passes(*plan.wide, lines, Complexes<T>{y.im, y.re}, Complexes<T>{other.im, other.re});
  y = {y.im, y.re};
  times(y, plan.chirp_cos.data(), plan.chirp_sin.data(), n);
  return y;
}

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
