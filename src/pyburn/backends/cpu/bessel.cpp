// Bessel functions and Airy's, one element at a time in double precision.
#include "pyburn/ops/bessel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "pyburn/backends/cpu/number_tiles.h"

namespace pyburn::cpu {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kSmall = 1e-18;  // terms below it do not count

// The C library has the functions of orders 0 and 1.
double bessel_j0(double x) { return ::j0(x); }
double bessel_j1(double x) { return ::j1(x); }
double bessel_y0(double x) { return x < 0 ? kNaN : ::y0(x); }
double bessel_y1(double x) { return x < 0 ? kNaN : ::y1(x); }

// exp(x) K(x): the integral of exp(-x (cosh t - 1)) cosh(order t) over t from 0. The trapezoidal rule is practically exact for such an
// integrand if the points are close enough.
double scaled_bessel_k(double order, double x) {
  if (!(x > 0)) return x == 0 ? kInfinity : kNaN;
  if (std::isinf(x)) return 0;
  const double step = std::min(0.25, 0.7 / std::sqrt(x));
  double sum = 0.5;
  for (double t = step, value = 1; value > kSmall * sum; t += step) {
    const double half = std::sinh(t / 2);  // cosh t - 1 = 2 half^2, without cancellation
    value = std::exp(-2 * x * half * half) * std::cosh(order * t);
    if (!std::isfinite(value)) return kInfinity;
    sum += value;
  }
  return sum * step;
}
double scaled_bessel_k0(double x) { return scaled_bessel_k(0, x); }
double scaled_bessel_k1(double x) { return scaled_bessel_k(1, x); }

// Its power series near 0, a Bessel function of order 1/3 to the right, waves to the left.
double airy_ai(double x) {
  if (!std::isfinite(x)) return std::isnan(x) ? x : 0;
  const double angle = 2.0 / 3 * std::abs(x) * std::sqrt(std::abs(x));
  if (x > 2) return std::sqrt(x / 3) / std::numbers::pi * scaled_bessel_k(1.0 / 3, angle) * std::exp(-angle);
  if (x >= -8) {
    constexpr double value = 0.35502805388781723926, slope = -0.25881940379280679841;  // at 0
    double even = value, odd = slope * x, sum = even + odd;
    for (int k = 3; std::abs(even) + std::abs(odd) > 1e-20; k += 3) {
      even *= x * x * x / (k * (k - 1.0));
      odd *= x * x * x / (k * (k + 1.0));
      sum += even + odd;
    }
    return sum;
  }
  double term = 1, cosines = 1, sines = 0;
  for (int k = 1; k < 25; ++k) {  // every two terms the sign changes
    const double next = term * (6 * k - 5.0) * (6 * k - 1.0) / (72 * k * angle);
    if (next > term || next < kSmall) break;
    term = next;
    (k % 2 ? sines : cosines) += k % 4 < 2 ? term : -term;
  }
  const double phase = angle - std::numbers::pi / 4;
  return (std::cos(phase) * cosines + std::sin(phase) * sines) / (std::sqrt(std::numbers::pi) * std::sqrt(std::sqrt(-x)));
}

}  // namespace

void register_bessel(KernelTable& kernels) {
  add_unary<airy_ai>(kernels, op::special_airy_ai);
  add_unary<bessel_j0>(kernels, op::special_bessel_j0);
  add_unary<bessel_j1>(kernels, op::special_bessel_j1);
  add_unary<bessel_y0>(kernels, op::special_bessel_y0);
  add_unary<bessel_y1>(kernels, op::special_bessel_y1);
  add_unary<scaled_bessel_k0>(kernels, op::special_scaled_modified_bessel_k0);
  add_unary<scaled_bessel_k1>(kernels, op::special_scaled_modified_bessel_k1);
}

}  // namespace pyburn::cpu
