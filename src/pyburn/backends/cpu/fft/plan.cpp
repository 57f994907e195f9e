// Plans of fast Fourier transforms: factors, roots of unity, Bluestein's filters.
#include "pyburn/backends/cpu/fft/plan.h"

#include <bit>
#include <cmath>
#include <complex>
#include <deque>
#include <mutex>
#include <numbers>

#include "pyburn/support/checked.h"

namespace pyburn::cpu::fft {
namespace {

constexpr int64_t kLargestRadix = 31;      // beyond, the squares of the factors cost more than Bluestein's three transforms
constexpr size_t kKept = 16;               // plans
constexpr int64_t kLargestKept = 1 << 20;  // numbers

std::vector<int64_t> radices_of(int64_t n) {
  std::vector<int64_t> radices;
  for (const int64_t radix : {4, 2, 3, 5})
    for (; n % radix == 0; n /= radix) radices.push_back(radix);
  for (int64_t radix = 7; n > 1 && radix <= kLargestRadix; radix += 2)
    for (; n % radix == 0; n /= radix) radices.push_back(radix);
  if (n > 1) radices.push_back(n);
  return radices;
}

// A small transform in double precision, for filters: recursive, by the same factors.
void transform(std::vector<std::complex<double>>& x) {
  const auto n = int64_t(x.size());
  if (n == 1) return;
  std::vector<std::complex<double>> even(size_t(n / 2)), odd(size_t(n / 2));
  for (int64_t i = 0; i < n / 2; ++i) even[size_t(i)] = x[size_t(2 * i)], odd[size_t(i)] = x[size_t(2 * i + 1)];
  transform(even), transform(odd);
  for (int64_t k = 0; k < n / 2; ++k) {
    double re, im;
    root_of_unity(k, n, re, im);
    const std::complex<double> turned = odd[size_t(k)] * std::complex(re, im);
    x[size_t(k)] = even[size_t(k)] + turned, x[size_t(k + n / 2)] = even[size_t(k)] - turned;
  }
}

template <class T>
void add_bluestein(Plan<T>& plan) {
  const int64_t n = plan.n, wide = int64_t(std::bit_ceil(uint64_t(2 * Checked(n) - 1)));
  plan.wide = plan_for<T>(wide);
  std::vector<std::complex<double>> filter(size_t(wide), 0.0);
  int64_t square = 0;  // j^2 modulo 2 n: the chirp has that period
  for (int64_t j = 0; j < n; ++j) {
    double re, im;
    root_of_unity(square, 2 * n, re, im);
    plan.chirp_cos.push_back(T(re)), plan.chirp_sin.push_back(T(im));
    filter[size_t(j)] = filter[size_t((wide - j) % wide)] = {re, -im};
    square = (square + 2 * j + 1) % (2 * n);
  }
  transform(filter);
  for (const std::complex<double>& f : filter)  // with the factor of the inverse transform that follows
    plan.filter_cos.push_back(T(f.real() / double(wide))), plan.filter_sin.push_back(T(f.imag() / double(wide)));
}

template <class T>
std::shared_ptr<const Plan<T>> make_plan(int64_t n) {
  auto plan = std::make_shared<Plan<T>>();
  plan->n = n;
  const std::vector<int64_t> radices = radices_of(n);
  if (!radices.empty() && radices.back() > kLargestRadix) {
    add_bluestein(*plan);
    return plan;
  }
  int64_t left = n;
  for (const int64_t radix : radices) {
    const int64_t m = left / radix;
    plan->passes.push_back({radix, m, int64_t(plan->cos.size())});
    for (int64_t k = 1; k < radix; ++k)
      for (int64_t j = 0; j < m; ++j) {
        double re, im;
        root_of_unity(j * k, left, re, im);
        plan->cos.push_back(T(re)), plan->sin.push_back(T(im));
      }
    if (radix > 5)
      for (int64_t k = 0; k < radix; ++k) {
        double re, im;
        root_of_unity(k, radix, re, im);
        plan->small_cos.push_back(T(re)), plan->small_sin.push_back(T(im));
      }
    left = m;
  }
  return plan;
}

}  // namespace

void root_of_unity(int64_t k, int64_t n, double& re, double& im) {
  // By symmetry from the first eighth of the circle, where sine and cosine are exact to the last bit.
  const int64_t eighths = int64_t(__int128(8) * k / n), quarter = (eighths + 1) / 2;      // the nearest axis, counted from 0
  const double turn = double(__int128(4) * k - __int128(quarter) * n) / (4 * double(n));  // from there, in turns
  const double c = std::cos(2 * std::numbers::pi * turn), s = std::sin(2 * std::numbers::pi * turn);
  const double cosines[] = {c, -s, -c, s}, sines[] = {s, c, -s, -c};
  re = cosines[quarter % 4], im = -sines[quarter % 4];
}

// One of a few that are kept, the latest first, or a new one.
template <class Kept>
static std::shared_ptr<const Kept> kept_or_made(int64_t n, std::shared_ptr<const Kept> (*make)(int64_t)) {
  static auto& mutex = *new std::mutex;
  static auto& kept = *new std::deque<std::shared_ptr<const Kept>>;
  {
    const std::lock_guard lock(mutex);
    for (const auto& one : kept)
      if (one->n == n) return one;
  }
  std::shared_ptr<const Kept> made = make(n);
  if (made->scratch() <= kLargestKept) {
    const std::lock_guard lock(mutex);
    kept.push_front(made);
    if (kept.size() > kKept) kept.pop_back();
  }
  return made;
}

template <class T>
std::shared_ptr<const Plan<T>> plan_for(int64_t n) {
  return kept_or_made<Plan<T>>(n, make_plan<T>);
}
template <class T>
std::shared_ptr<const HalfRoots<T>> half_roots_for(int64_t n) {
  return kept_or_made<HalfRoots<T>>(n, [](int64_t size) -> std::shared_ptr<const HalfRoots<T>> {
    auto roots = std::make_shared<HalfRoots<T>>();
    roots->n = size;
    for (int64_t k = 0; k <= size / 2; ++k) {
      double re, im;
      root_of_unity(k, size, re, im);
      roots->cos.push_back(T(re)), roots->sin.push_back(T(im));
    }
    return roots;
  });
}
template std::shared_ptr<const HalfRoots<float>> half_roots_for(int64_t);
template std::shared_ptr<const HalfRoots<double>> half_roots_for(int64_t);
template std::shared_ptr<const Plan<float>> plan_for(int64_t);
template std::shared_ptr<const Plan<double>> plan_for(int64_t);

}  // namespace pyburn::cpu::fft
