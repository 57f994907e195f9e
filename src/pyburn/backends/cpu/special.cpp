// Functions of physics and statistics, one element at a time in double precision.
#include "pyburn/ops/special.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/math/gamma.h"
#include "pyburn/backends/cpu/number_tiles.h"

namespace pyburn::cpu {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kSmall = 1e-17;  // terms below it do not count

// exp(-|x|) times the modified Bessel function of that order (0 or 1): its power series, whose terms are all positive, or its
// asymptotic series, whose terms shrink up to number 2 |x|.
template <int order>
double scaled_bessel_i(double x) {
  const double r = std::abs(x);
  double term = 1, sum = 1;
  if (r < 25) {
    const double quarter = x * x / 4;
    for (int k = 1; term > kSmall * sum; ++k) sum += term *= quarter / (k * double(k + order));
    return sum * std::exp(-r) * (order ? x / 2 : 1);
  }
  for (int k = 1; k < 40 && std::abs(term) > kSmall; ++k) sum += term *= -(4.0 * order - (2.0 * k - 1) * (2.0 * k - 1)) / (8.0 * k * r);
  const double y = sum / std::sqrt(2 * std::numbers::pi * r);
  return std::isinf(r) ? 0 : order ? std::copysign(y, x) : y;
}
template <int order>
double bessel_i(double x) {
  return std::isinf(x) ? (order ? x : kInfinity) : scaled_bessel_i<order>(x) * std::exp(std::abs(x));
}

double erfcx(double x) {
  if (x < 25) return std::exp(x * x) * std::erfc(x);
  const double s = 1 / (x * x);
  return std::numbers::inv_sqrtpi / x * (1 - s / 2 * (1 - s * 1.5 * (1 - s * 2.5 * (1 - s * 3.5))));
}

// Newton's method on the logarithm of the distribution function, which is concave: from the left it never steps too far.
double ndtri(double p) {
  if (!(p > 0 && p < 1)) return p == 0 ? -kInfinity : p == 1 ? kInfinity : kNaN;
  if (p > 0.5) return -ndtri(1 - p);
  double x = -std::sqrt(-2 * std::log(p));
  for (int i = 0; i < 100; ++i) {
    const double value = std::erfc(-x / std::numbers::sqrt2) / 2, slope = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    const double step = std::log(p / value) * value / slope;
    x += step;
    if (!(std::abs(step) > 1e-15 * std::abs(x))) break;
  }
  return x;
}

// Terms one by one, then the formula of Euler and Maclaurin for the rest.
double zeta(double s, double q) {
  if (s == 1) return kInfinity;
  if (s < 1 || std::isnan(s) || std::isnan(q)) return kNaN;
  if (q <= 0) {
    if (q == std::floor(q)) return kInfinity;
    if (s != std::floor(s)) return kNaN;
  }
  constexpr int kTerms = 12;
  double sum = 0;
  while (q <= 0) sum += std::pow(q, -s), q += 1;
  for (int k = 0; k < kTerms; ++k, q += 1) sum += std::pow(q, -s);
  constexpr double bernoulli[] = {1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730, 7.0 / 6};
  const double tail = std::pow(q, -s);
  sum += tail * q / (s - 1) + tail / 2;
  double factor = s / (2 * q);  // s (s + 1) ... (s + 2 k) / (2 k + 2)! / q^(2 k + 1)
  for (int k = 0; k < 7; ++k) {
    sum += tail * factor * bernoulli[k];
    factor *= (s + 2 * k + 1) * (s + 2 * k + 2) / ((2 * k + 3) * (2 * k + 4) * q * q);
  }
  return sum;
}

// The regularised incomplete gamma functions. Below the mean a power series gives the lower one, above it a continued fraction
// (evaluated from the front, after Lentz) the upper one.
double incomplete_gamma(double s, double x, bool upper) {
  if (!(s >= 0 && x >= 0)) return kNaN;
  if (s == 0) return x > 0 ? (upper ? 0 : 1) : kNaN;
  if (x == 0) return upper ? 1 : 0;
  if (std::isinf(s)) return std::isinf(x) ? kNaN : upper ? 1 : 0;
  if (std::isinf(x)) return upper ? 0 : 1;
  const double scale = std::exp(s * std::log(x) - x - log_gamma(s));
  if (x < s + 1) {
    double term = 1 / s, sum = term;
    for (double k = s + 1; term > kSmall * sum; k += 1) sum += term *= x / k;
    return upper ? 1 - scale * sum : scale * sum;
  }
  double b = x + 1 - s, c = kInfinity, d = 1 / b, fraction = d;
  for (int k = 1; k < 100000; ++k) {
    const double a = -k * (k - s);
    b += 2;
    d = 1 / (a * d + b);
    c = b + a / c;
    const double change = c * d;
    fraction *= change;
    if (std::abs(change - 1) < 1e-16) break;
  }
  return upper ? scale * fraction : 1 - scale * fraction;
}
double igamma(double s, double x) { return incomplete_gamma(s, x, false); }
double igammac(double s, double x) { return incomplete_gamma(s, x, true); }

}  // namespace

void register_special(KernelTable& kernels) {
  add_unary<bessel_i<0>>(kernels, op::i0);
  add_unary<scaled_bessel_i<0>>(kernels, op::special_i0e);
  add_unary<bessel_i<1>>(kernels, op::special_i1);
  add_unary<scaled_bessel_i<1>>(kernels, op::special_i1e);
  add_unary<erfcx>(kernels, op::special_erfcx);
  add_unary<ndtri>(kernels, op::special_ndtri);
  add_binary<zeta>(kernels, op::special_zeta);
  add_binary<igamma>(kernels, op::igamma);
  add_binary<igammac>(kernels, op::igammac);
}

}  // namespace pyburn::cpu
