#include "pyburn/backends/cpu/math/gamma.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace pyburn::cpu {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();
// Bernoulli numbers B2, B4, ...: the corrections that turn a sum into an integral.
constexpr double kBernoulli[] = {1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730, 7.0 / 6, -3617.0 / 510};

// The sum of (x + k)^-s over all k >= 0, for integer s > 1: first terms one by one, the rest by Euler and Maclaurin.
double hurwitz_zeta(double s, double x) {
  if (x <= 0 && x == std::floor(x)) return kInfinity;
  double sum = 0;
  for (; x < 12; x += 1) sum += std::pow(x, -s);
  const double power = std::pow(x, -s);
  sum += power * x / (s - 1) + power / 2;
  double factor = s * power / x, factorial = 2;  // s (s + 1) ... x^-(s + 2j - 1), and (2j)!
  for (int j = 1; j <= 8; ++j) {
    sum += kBernoulli[j - 1] / factorial * factor;
    factor *= (s + 2 * j - 1) * (s + 2 * j) / (x * x);
    factorial *= (2 * j + 1) * (2 * j + 2);
  }
  return sum;
}

}  // namespace

double log_gamma(double x) {
  int sign;
  return ::lgamma_r(x, &sign);  // std::lgamma writes a global
}

double digamma(double x) {
  if (x == 0) return std::copysign(kInfinity, -x);
  if (x < 0) {
    const double fraction = x - std::trunc(x);
    return fraction == 0 ? kNaN : digamma(1 - x) - std::numbers::pi / std::tan(std::numbers::pi * fraction);
  }
  double sum = 0;
  for (; x < 12; x += 1) sum -= 1 / x;
  if (x == kInfinity) return x;
  sum += std::log(x) - 0.5 / x;
  double power = 1;
  for (int j = 1; j <= 8; ++j) {
    power /= x * x;
    sum -= kBernoulli[j - 1] / (2 * j) * power;
  }
  return sum;
}

double polygamma(int64_t n, double x) {
  if (n == 0) return digamma(x);
  return (n % 2 ? 1 : -1) * std::exp(log_gamma(double(n) + 1)) * hurwitz_zeta(double(n) + 1, x);
}

double inverse_erf(double x) {
  const double a = std::abs(x);
  if (!(a < 1)) return a == 1 ? std::copysign(kInfinity, x) : kNaN;
  // A formula with three digits, then steps of Halley's method, which triple them; near 1 by erfc, which keeps the digits of 1 - a.
  constexpr double c = 0.147;
  const double log = std::log1p(-a * a), t = 2 / (std::numbers::pi * c) + log / 2;
  double y = std::sqrt(std::sqrt(t * t - log / c) - t);
  for (int step = 0; step < 3; ++step) {
    const double error = a < 0.5 ? std::erf(y) - a : (1 - a) - std::erfc(y);
    const double newton = error / (2 * std::numbers::inv_sqrtpi * std::exp(-y * y));
    y -= newton / (1 + y * newton);
  }
  return std::copysign(y, x);
}

}  // namespace pyburn::cpu
