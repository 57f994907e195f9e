// Finds the expression of known numbers that produces the observed numbers.
#pragma once
#include <optional>

#include "pyburn/ir/extent_expression.h"

namespace pyburn {

struct KnownNumber {
  ExtentExpression expression;
  std::vector<int64_t> values;  // one per sample
};

// The simplest that agrees with all samples: a known number, a product of known numbers, a multiple or a whole fraction of one, or
// (a * number + c) // d, or the smaller of two.
std::optional<ExtentExpression> fit_extents(const std::vector<int64_t>& values, std::span<const KnownNumber> known);

}  // namespace pyburn
