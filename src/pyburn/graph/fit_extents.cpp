#include "pyburn/graph/fit_extents.h"

#include <algorithm>

namespace pyburn {
namespace {

using Kind = ExtentExpression::Kind;
using Values = std::vector<int64_t>;
using Fit = std::optional<ExtentExpression>;

ExtentExpression with(Kind kind, ExtentExpression left, int64_t right) {
  return ExtentExpression::of(kind, std::move(left), ExtentExpression::constant(right));
}

// Products of several known numbers; none where one overflows.
struct Product {
  ExtentExpression expression;
  Values values;
};
std::optional<Product> times(const Product& p, const KnownNumber& k) {
  Product result{ExtentExpression::of(Kind::multiply, p.expression, k.expression), p.values};
  for (size_t s = 0; s < result.values.size(); ++s)
    if (__builtin_mul_overflow(result.values[s], k.values[s], &result.values[s])) return {};
  return result;
}

// All products of up to `depth` known numbers, the short ones first.
std::vector<Product> products(std::span<const KnownNumber> known, int depth) {
  std::vector<Product> found;
  std::vector<size_t> last;  // the known number that each product ends with: the same set is made once
  for (size_t k = 0; k < known.size(); ++k) found.push_back({known[k].expression, known[k].values}), last.push_back(k);
  constexpr size_t kMost = 2000;
  size_t begin = 0;
  for (int d = 1; d < depth && found.size() < kMost; ++d) {
    const size_t end = found.size();
    for (size_t i = begin; i < end && found.size() < kMost; ++i)
      for (size_t k = last[i]; k < known.size(); ++k)
        if (std::optional<Product> next = times(found[i], known[k])) found.push_back(std::move(*next)), last.push_back(k);
    begin = end;
  }
  return found;
}

// values = factor * p, or p / factor.
Fit multiple_of(const Product& p, const Values& values) {
  if (p.values == values) return p.expression;
  if (p.values[0] == 0 || values[0] == 0) return {};
  const int64_t factor = values[0] / p.values[0], share = p.values[0] / values[0];
  auto all = [&](auto agrees) {
    for (size_t s = 0; s < values.size(); ++s)
      if (!agrees(p.values[s], values[s])) return false;
    return true;
  };
  if (factor != 0 && all([&](int64_t x, int64_t v) {
        int64_t y;
        return !__builtin_mul_overflow(x, factor, &y) && y == v;
      }))
    return with(Kind::multiply, p.expression, factor);
  if (share > 1 && all([&](int64_t x, int64_t v) { return x / share == v && x % share == 0; }))
    return with(Kind::divide, p.expression, share);
  return {};
}

// values = (a * k + c) // d
Fit line_through(const KnownNumber& k, const Values& values) {
  size_t other = 0;
  while (other < values.size() && k.values[other] == k.values[0]) ++other;
  if (other == values.size()) return {};
  const int64_t run = k.values[other] - k.values[0], rise = values[other] - values[0];
  constexpr int64_t kMostDivisor = 64;
  for (int64_t d = 1; d <= kMostDivisor; ++d) {
    const int64_t a = (rise * d + (rise > 0 ? run - 1 : 0)) / run;
    for (int64_t slope : {a, a - 1, a + 1}) {
      if (slope == 0 || slope > (1 << 20) || slope < -(1 << 20)) continue;
      for (int64_t extra = 0; extra < d; ++extra) {
        const int64_t c = values[0] * d - slope * k.values[0] + extra;
        bool fits = true;
        for (size_t s = 0; s < values.size() && fits; ++s) {
          const int64_t x = slope * k.values[s] + c;
          fits = x / d - (x % d < 0) == values[s];
        }
        if (!fits) continue;
        ExtentExpression e = slope == 1 ? k.expression : with(Kind::multiply, k.expression, slope);
        if (c != 0) e = with(Kind::add, std::move(e), c);
        return d == 1 ? e : with(Kind::divide, std::move(e), d);
      }
    }
  }
  return {};
}

// What is cut off at the end of a dimension.
Fit smaller_of_two(const Values& values, std::span<const KnownNumber> known) {
  for (size_t a = 0; a < known.size(); ++a)
    for (size_t b = a + 1; b < known.size(); ++b) {
      bool fits = true;
      for (size_t s = 0; s < values.size() && fits; ++s) fits = std::min(known[a].values[s], known[b].values[s]) == values[s];
      if (fits) return ExtentExpression::of(Kind::least, known[a].expression, known[b].expression);
    }
  return {};
}

}  // namespace

Fit fit_extents(const Values& values, std::span<const KnownNumber> known) {
  for (const KnownNumber& k : known)
    if (k.values == values) return k.expression;
  for (const Product& p : products(known, 4))
    if (Fit found = multiple_of(p, values)) return found;
  for (const KnownNumber& k : known)
    if (Fit found = line_through(k, values)) return found;
  return smaller_of_two(values, known);
}

}  // namespace pyburn
