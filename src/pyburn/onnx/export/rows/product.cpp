// Products of matrices and attention.
#include <cmath>

#include "pyburn/onnx/export/export_rows.h"
#include "pyburn/ops/attention.h"
#include "pyburn/ops/matmul.h"

namespace pyburn::onnx {
namespace {

void write_bmm(const ExportCall& c) { c.make("MatMul", {c.in(0), c.in(1)}); }
void write_bmm_plus(const ExportCall& c) {
  const Blend& a = c.as<Blend>();
  std::string product = c.add("MatMul", {c.in(1), c.in(2)}), start = c.in(0);
  if (a.alpha.to_double() != 1) product = c.add("Mul", {product, c.number(a.alpha)});
  if (a.beta.to_double() == 0) return c.writer.bind(c.node.out[0], product);
  if (a.beta.to_double() != 1) start = c.add("Mul", {start, c.number(a.beta)});
  c.make("Add", {product, start});
}

// The weight keeps its name and its order, (out, in), as in a state dict.
void write_linear(const ExportCall& c) {
  const int64_t rank = c.meta(0).shape.rank();
  if (c.meta(1).shape.rank() == 2 && rank == 2 && (!c.has(2) || c.meta(2).shape.rank() == 1))
    return c.make("Gemm", {c.in(0), c.in(1), c.in(2)}, {flag("transB", true)});
  const std::string weight = c.meta(1).shape.rank() == 2 ? c.add("Transpose", {c.in(1)}, {{"perm", std::vector<int64_t>{1, 0}}}) : c.in(1);
  if (!c.has(2)) return c.make("MatMul", {c.in(0), weight});
  c.make("Add", {c.add("MatMul", {c.in(0), weight}), c.in(2)});
}

// Keys and values of fewer heads are repeated.
std::string repeated_heads(const ExportCall& c, int64_t i) {
  const Shape& x = c.meta(i).shape;
  const int64_t heads = c.meta(0).shape[1];
  if (x[1] == heads) return c.in(i);
  if (!c.is_fixed()) c.refuse("heads that share keys need opset 23, or fixed shapes");
  const std::string wide = c.add("Unsqueeze", {c.in(i), c.integers(std::vector<int64_t>{2})});
  const std::string spread = c.add("Expand", {wide, c.integers(std::vector<int64_t>{x[0], x[1], heads / x[1], x[2], x[3]})});
  return c.add("Reshape", {spread, c.integers(std::vector<int64_t>{x[0], heads, x[2], x[3]})});
}
void write_attention(const ExportCall& c) {
  const Attention& a = c.as<Attention>();
  if (c.writer.opset() >= 23)
    return c.make("Attention", {c.in(0), c.in(1), c.in(2), c.in(3)}, {{"scale", a.scale}, flag("is_causal", a.is_causal)});
  const std::string keys = c.add("Transpose", {repeated_heads(c, 1)}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
  std::string scores = c.add("MatMul", {c.add("Mul", {c.in(0), c.number(a.scale)}), keys});
  const std::string hidden = c.number(-INFINITY);
  if (a.is_causal) {
    const std::string ones = c.add("Expand", {c.writer.number(true, DType::boolean), c.add("Shape", {scores})});
    scores = c.add("Where", {c.add("Trilu", {ones}, {flag("upper", false)}), scores, hidden});
  }
  if (c.has(3)) scores = c.meta(3).dtype == DType::boolean ? c.add("Where", {c.in(3), scores, hidden}) : c.add("Add", {scores, c.in(3)});
  std::string weights = c.add("Softmax", {scores}, {{"axis", int64_t(-1)}});
  if (c.has(3)) weights = c.add("Where", {c.add("IsNaN", {weights}), c.number(0.0), weights});  // a query that sees no key
  c.make("MatMul", {weights, repeated_heads(c, 2)});
}

constexpr ExportRow kRows[] = {
    {"bmm", write_bmm},
    {"bmm_plus", write_bmm_plus},
    {"linear", write_linear},
    {"attention", write_attention},
};

}  // namespace

ExportRows product_rows() { return kRows; }

}  // namespace pyburn::onnx
