// An integer of an operation as an expression of the graph's dynamic sizes and of the shapes of the operation's inputs.
#pragma once
#include <span>
#include <vector>

#include "pyburn/tensor/shape.h"

namespace pyburn {

class ExtentExpression {
 public:
  enum class Kind : uint8_t {
    constant,   // a
    extent,     // dynamic size number a
    dimension,  // size of dimension b of input a
    add,        // applied to the two previous values, like the following
    multiply,
    divide,  // rounded towards minus infinity
    least,
    greatest,
  };
  struct Term {
    Kind kind;
    int64_t a = 0, b = 0;
    bool operator==(const Term&) const = default;
  };

  ExtentExpression() = default;
  explicit ExtentExpression(std::vector<Term> terms) : terms_(std::move(terms)) {}
  static ExtentExpression constant(int64_t v) { return ExtentExpression({{Kind::constant, v}}); }
  static ExtentExpression extent(int64_t number) { return ExtentExpression({{Kind::extent, number}}); }
  static ExtentExpression dimension(int64_t input, int64_t axis) { return ExtentExpression({{Kind::dimension, input, axis}}); }
  // left kind right
  static ExtentExpression of(Kind kind, ExtentExpression left, const ExtentExpression& right);

  const std::vector<Term>& terms() const { return terms_; }  // operands precede their operator
  bool operator==(const ExtentExpression&) const = default;

  static constexpr size_t kMostTerms = 64;
  // FormatError unless it yields one number and refers only to dynamic sizes below `extents`.
  void check(int64_t extents) const;
  // Shapes of the node's inputs; null for absent ones. ShapeError on overflow or division by zero.
  int64_t evaluate(std::span<const int64_t> extents, std::span<const Shape* const> inputs) const;

 private:
  std::vector<Term> terms_;
};
std::string to_text(const ExtentExpression&);

}  // namespace pyburn
