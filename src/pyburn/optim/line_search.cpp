#include "pyburn/optim/line_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace pyburn::optim {
namespace {

constexpr double kSufficientDecrease = 1e-4, kSufficientFlatness = 0.9, kTolerance = 1e-9;

// Where the cubic through two points with their slopes is lowest, within bounds.
template <class T>
double cubic_minimum(const LinePoint& a, const LinePoint& b, double low, double high) {
  const LinePoint &left = a.at <= b.at ? a : b, &right = a.at <= b.at ? b : a;
  const T left_slope = T(left.slope), right_slope = T(right.slope);
  const T d1 = left_slope + right_slope - T(3 * (a.value - b.value) / (a.at - b.at)), square = d1 * d1 - left_slope * right_slope;
  if (!(square >= 0)) return (low + high) / 2;
  const T d2 = std::sqrt(square), part = (right_slope + d2 - d1) / (right_slope - left_slope + 2 * d2);
  const T at = T(right.at) - T(right.at - left.at) * part;
  return std::min(std::max(double(at), low), high);
}

// T is the type of the parameters: along a parabola that opens downwards the cubic has no minimum but what rounding makes one, and PyTorch
// rounds in that type.
template <class T>
LinePoint search(const std::function<LinePoint(double)>& evaluate, const LinePoint& start, double first, double length, int64_t limit) {
  auto too_high = [&](const LinePoint& p) { return p.value > T(start.value) + T(kSufficientDecrease * p.at) * T(start.slope); };
  auto is_flat = [&](const LinePoint& p) { return std::abs(T(p.slope)) <= T(-kSufficientFlatness) * T(start.slope); };

  // Continues until the minimum is bracketed.
  LinePoint before = start, here = evaluate(first);
  LinePoint bracket[2] = {start, here};
  int64_t i = 0;
  for (; i < limit; ++i) {
    if (too_high(here) || (i > 1 && here.value >= before.value) || (!is_flat(here) && here.slope >= 0)) {
      bracket[0] = before;
      break;
    }
    if (is_flat(here)) return here;
    const double next = cubic_minimum<T>(before, here, here.at + 0.01 * (here.at - before.at), here.at * 10);
    before = here;
    bracket[1] = here = evaluate(next);
  }

  // Narrow the bracket. Of two points at the same height the first counts as the lower one, whichever was found later, as in PyTorch.
  int low = bracket[0].value <= bracket[1].value ? 0 : 1;
  for (bool stuck = false; i < limit; ++i) {
    LinePoint &lowest = bracket[low], &other = bracket[1 - low];
    const double left = std::min(lowest.at, other.at), right = std::max(lowest.at, other.at), width = right - left;
    if (width * length < kTolerance) break;
    double at = cubic_minimum<T>(lowest, other, left, right);
    if (!(std::min(right - at, at - left) < 0.1 * width)) {
      stuck = false;
    } else if (stuck || at >= right || at <= left) {  // too near to an end twice: step away from it
      at = std::abs(at - right) < std::abs(at - left) ? right - 0.1 * width : left + 0.1 * width;
      stuck = false;
    } else {
      stuck = true;
    }
    here = evaluate(at);
    if (too_high(here) || here.value >= lowest.value) {
      other = here;
      low = bracket[0].value <= bracket[1].value ? 0 : 1;
      continue;
    }
    if (is_flat(here)) return here;
    if (here.slope * (other.at - lowest.at) >= 0) other = lowest;
    lowest = here;
  }
  return bracket[low];
}

}  // namespace

LinePoint strong_wolfe(
    const std::function<LinePoint(double)>& evaluate, const LinePoint& start, double first, double length, int64_t limit, bool in_double) {
  return (in_double ? search<double> : search<float>)(evaluate, start, first, length, limit);
}

}  // namespace pyburn::optim
