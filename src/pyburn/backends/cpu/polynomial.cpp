// Orthogonal polynomials, by the recurrences of three terms that each family has.
#include "pyburn/ops/polynomial.h"

#include <cmath>
#include <limits>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/number_tiles.h"

namespace pyburn::cpu {
namespace {

constexpr double kMostSteps = 1 << 20;  // rounding has left no digit long before

// The polynomial of degree n: 1, then first(x), then next(k, x, degree k, degree k - 1) for degree k + 1.
template <class First, class Next>
double by_recurrence(double x, double n, First first, Next next) {
  const double degree = std::trunc(n);
  if (!(degree >= 0)) return std::isnan(n) ? n : 0;
  if (degree > kMostSteps) return std::numeric_limits<double>::quiet_NaN();
  double before = 1, now = first(x);
  if (degree == 0) return std::isnan(x) ? x : 1;
  for (double k = 1; k < degree && std::isfinite(now); ++k) {
    const double after = next(k, x, now, before);
    before = now;
    now = after;
  }
  return now;
}

// The four kinds of Chebyshev differ in the second one alone; inside (-1, 1) a high degree is a quotient of waves.
template <class First, class Wave>
double chebyshev(double x, double n, First first, Wave wave) {
  if (n > 8 && std::abs(x) < 1) return wave(std::trunc(n), std::acos(x));
  return by_recurrence(x, n, first, [](double, double x, double now, double before) { return 2 * x * now - before; });
}
double chebyshev_t(double x, double n) {
  return chebyshev(
      x, n, [](double x) { return x; }, [](double n, double angle) { return std::cos(n * angle); });
}
double chebyshev_u(double x, double n) {
  return chebyshev(
      x, n, [](double x) { return 2 * x; }, [](double n, double angle) { return std::sin((n + 1) * angle) / std::sin(angle); });
}
double chebyshev_v(double x, double n) {
  return chebyshev(
      x, n, [](double x) { return 2 * x - 1; }, [](double n, double angle) { return std::cos((n + 0.5) * angle) / std::cos(angle / 2); });
}
double chebyshev_w(double x, double n) {
  return chebyshev(
      x, n, [](double x) { return 2 * x + 1; }, [](double n, double angle) { return std::sin((n + 0.5) * angle) / std::sin(angle / 2); });
}
double hermite_h(double x, double n) {
  return by_recurrence(
      x, n, [](double x) { return 2 * x; }, [](double k, double x, double now, double before) { return 2 * x * now - 2 * k * before; });
}
double hermite_he(double x, double n) {
  return by_recurrence(
      x, n, [](double x) { return x; }, [](double k, double x, double now, double before) { return x * now - k * before; });
}
double laguerre(double x, double n) {
  return by_recurrence(
      x, n, [](double x) { return 1 - x; },
      [](double k, double x, double now, double before) { return ((2 * k + 1 - x) * now - k * before) / (k + 1); });
}
double legendre(double x, double n) {
  return by_recurrence(
      x, n, [](double x) { return x; },
      [](double k, double x, double now, double before) { return ((2 * k + 1) * x * now - k * before) / (k + 1); });
}

}  // namespace

void register_polynomial(KernelTable& kernels) {
  add_binary<chebyshev_t>(kernels, op::special_chebyshev_polynomial_t);
  add_binary<chebyshev_u>(kernels, op::special_chebyshev_polynomial_u);
  add_binary<chebyshev_v>(kernels, op::special_chebyshev_polynomial_v);
  add_binary<chebyshev_w>(kernels, op::special_chebyshev_polynomial_w);
  add_binary<hermite_h>(kernels, op::special_hermite_polynomial_h);
  add_binary<hermite_he>(kernels, op::special_hermite_polynomial_he);
  add_binary<laguerre>(kernels, op::special_laguerre_polynomial_l);
  add_binary<legendre>(kernels, op::special_legendre_polynomial_p);
}

}  // namespace pyburn::cpu
