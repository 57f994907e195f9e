#include "pyburn/optim/line_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace pyburn::optim {
namespace {

constexpr double kSufficientDecrease = 1e-4, kSufficientFlatness = 0.9;

// Where the cubic through two points with their slopes is lowest, within bounds.
double cubic_minimum(const LinePoint& a, const LinePoint& b, double low, double high) {
  const double d1 = a.slope + b.slope - 3 * (a.value - b.value) / (a.at - b.at), square = d1 * d1 - a.slope * b.slope;
  if (!(square >= 0)) return (low + high) / 2;
  const double d2 = std::sqrt(square);
  const LinePoint &left = a.at <= b.at ? a : b, &right = a.at <= b.at ? b : a;
  const double at = right.at - (right.at - left.at) * ((right.slope + d2 - d1) / (right.slope - left.slope + 2 * d2));
  return std::min(std::max(at, low), high);
}

}  // namespace

LinePoint strong_wolfe(const std::function<LinePoint(double)>& evaluate, const LinePoint& start, double first, double length,
    double tolerance_change, int64_t limit) {
  auto too_high = [&](const LinePoint& p) { return p.value > start.value + kSufficientDecrease * p.at * start.slope; };
  auto is_flat = [&](const LinePoint& p) { return std::abs(p.slope) <= -kSufficientFlatness * start.slope; };

  // Go on until the lowest point lies behind.
  LinePoint before = start, here = evaluate(first);
  LinePoint low = start, high = here;  // the bracket
  int64_t i = 0;
  for (;; ++i) {
    if (i >= limit) {
      low = start, high = here;
      break;
    }
    if (too_high(here) || (i > 1 && here.value >= before.value) || (!is_flat(here) && here.slope >= 0)) {
      low = before, high = here;
      break;
    }
    if (is_flat(here)) return here;
    const double next = cubic_minimum(before, here, here.at + 0.01 * (here.at - before.at), here.at * 10);
    before = here;
    here = evaluate(next);
  }
  if (low.value > high.value) std::swap(low, high);

  // Narrow the bracket.
  for (bool stuck = false; i < limit; ++i) {
    const double left = std::min(low.at, high.at), right = std::max(low.at, high.at), width = right - left;
    if (width * length < tolerance_change) break;
    double at = cubic_minimum(low, high, left, right);
    if (std::min(right - at, at - left) >= 0.1 * width) {
      stuck = false;
    } else if (stuck || at >= right || at <= left) {  // too near to an end twice: step away from it
      at = std::abs(at - right) < std::abs(at - left) ? right - 0.1 * width : left + 0.1 * width;
      stuck = false;
    } else {
      stuck = true;
    }
    here = evaluate(at);
    if (too_high(here) || here.value >= low.value) {
      high = here;
      if (low.value > high.value) std::swap(low, high);
      continue;
    }
    if (is_flat(here)) return here;
    if (here.slope * (high.at - low.at) >= 0) high = low;
    low = here;
  }
  return low;
}

}  // namespace pyburn::optim
