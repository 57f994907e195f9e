#include "pyburn/ir/extent_expression.h"

#include <algorithm>

#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"

namespace pyburn {
namespace {

using Kind = ExtentExpression::Kind;

bool is_operand(Kind k) { return k <= Kind::dimension; }

int64_t combined(Kind kind, int64_t x, int64_t y) {
  switch (kind) {
    case Kind::add:
      return Checked(x) + Checked(y);
    case Kind::multiply:
      return Checked(x) * Checked(y);
    case Kind::divide: {
      require<ShapeError>(y > 0, "[graph] a size is divided by {}", y);
      return x / y - (x % y < 0);
    }
    case Kind::least:
      return std::min(x, y);
    default:
      return std::max(x, y);
  }
}

}  // namespace

ExtentExpression ExtentExpression::of(Kind kind, ExtentExpression left, const ExtentExpression& right) {
  left.terms_.insert(left.terms_.end(), right.terms_.begin(), right.terms_.end());
  left.terms_.push_back({kind});
  return left;
}

void ExtentExpression::check(int64_t extents) const {
  require<FormatError>(!terms_.empty() && terms_.size() <= kMostTerms, "[graph] an expression of {} terms", int64_t(terms_.size()));
  int64_t depth = 0;
  for (const Term& t : terms_) {
    require<FormatError>(t.kind <= Kind::greatest, "[graph] unknown term in an expression: got {}", int64_t(t.kind));
    require<FormatError>(
        t.kind != Kind::extent || (t.a >= 0 && t.a < extents), "[graph] dynamic size out of range: got {} of {}", t.a, extents);
    require<FormatError>(
        t.kind != Kind::dimension || (t.a >= 0 && t.b >= 0), "[graph] dimension out of range: got dimension {} of input {}", t.b, t.a);
    depth += is_operand(t.kind) ? 1 : -1;
    require<FormatError>(depth > 0, "[graph] an expression has too few operands");
  }
  require<FormatError>(depth == 1, "[graph] an expression gives {} numbers", depth);
}

int64_t ExtentExpression::evaluate(std::span<const int64_t> extents, std::span<const Shape* const> inputs) const {
  SmallVector<int64_t, 8> stack;
  for (const Term& t : terms_) {
    if (t.kind == Kind::constant) {
      stack.push_back(t.a);
    } else if (t.kind == Kind::extent) {
      require<ShapeError>(extents[size_t(t.a)] >= 0, "[graph] extent {} is used before it is known", t.a);
      stack.push_back(extents[size_t(t.a)]);
    } else if (t.kind == Kind::dimension) {
      const bool there = t.a < int64_t(inputs.size()) && inputs[size_t(t.a)] && t.b < inputs[size_t(t.a)]->rank();
      require<FormatError>(there, "[graph] an expression refers to dimension {} of input {}, which does not exist", t.b, t.a);
      stack.push_back((*inputs[size_t(t.a)])[int(t.b)]);
    } else {
      const int64_t y = stack.back();
      stack.pop_back();
      stack.back() = combined(t.kind, stack.back(), y);
    }
  }
  return stack.back();
}

std::string to_text(const ExtentExpression& e) {
  std::vector<std::string> stack;
  static constexpr const char* signs[] = {" + ", " * ", " // "};
  for (const ExtentExpression::Term& t : e.terms()) {
    if (t.kind == Kind::constant) stack.push_back(to_text(t.a));
    else if (t.kind == Kind::extent) stack.push_back("n" + to_text(t.a));
    else if (t.kind == Kind::dimension) stack.push_back("in" + to_text(t.a) + "[" + to_text(t.b) + "]");
    else {
      if (stack.size() < 2) return "?";
      const std::string y = stack.back();
      stack.pop_back();
      std::string& x = stack.back();
      if (t.kind == Kind::least || t.kind == Kind::greatest) x = (t.kind == Kind::least ? "min(" : "max(") + x + ", " + y + ")";
      else x = "(" + x + signs[size_t(t.kind) - size_t(Kind::add)] + y + ")";
    }
  }
  return stack.size() == 1 ? stack[0] : "?";
}

}  // namespace pyburn
