// Reductions, running sums, extrema with their positions, softmax.
#include <cmath>

#include "pyburn/onnx/export/export_rows.h"
#include "pyburn/ops/extremum.h"
#include "pyburn/ops/moments.h"
#include "pyburn/ops/reduce.h"
#include "pyburn/ops/scan.h"
#include "pyburn/ops/softmax.h"
#include "pyburn/ops/sort.h"
#include "pyburn/ops/vector_norm.h"

namespace pyburn::onnx {
namespace {

// Axes are an input since opset 18 (of ReduceSum since 13). No axes: those of a 0-d tensor.
std::string reduced(const ExportCall& c, const std::string& type, const std::string& x, const Dims& dim, bool keepdim) {
  Names inputs{x};
  Attributes attributes{flag("keepdims", keepdim)};
  if (!dim.empty() && (c.writer.opset() >= 18 || type == "ReduceSum")) inputs.push_back(c.integers(dim));
  else if (!dim.empty()) attributes.push_back(ints("axes", dim));
  return c.add(type, inputs, attributes);
}
void give(const ExportCall& c, const std::string& name) { c.writer.bind(c.node.out[0], name); }

void write_reduce(const ExportCall& c) {
  const Reduce& a = c.as<Reduce>();
  give(c, reduced(c, c.type, c.in_as(0, a.result), a.dim, a.keepdim));
}
void write_logsumexp(const ExportCall& c) {
  const Reduce& a = c.as<Reduce>();
  give(c, reduced(c, "ReduceLogSumExp", c.in_as(0, c.result().dtype), a.dim, a.keepdim));
}
void write_count(const ExportCall& c) {
  const Reduce& a = c.as<Reduce>();
  give(c, reduced(c, "ReduceSum", c.cast(c.in_as(0, DType::boolean), DType::boolean, DType::int64), a.dim, a.keepdim));
}
void write_truth(const ExportCall& c) {
  const Truth& a = c.as<Truth>();
  const std::string x = c.in_as(0, DType::boolean);
  if (a.dim.empty() && c.meta(0).shape.rank() > 0) return give(c, x);
  give(c, c.cast(reduced(c, c.type, c.cast(x, DType::boolean, DType::int32), a.dim, a.keepdim), DType::int32, DType::boolean));
}
void write_norm(const ExportCall& c) {
  const VectorNorm& a = c.as<VectorNorm>();
  const std::string x = c.in_as(0, a.result);
  if (a.ord == 2) return give(c, reduced(c, "ReduceL2", x, a.dim, a.keepdim));
  if (a.ord == 1) return give(c, reduced(c, "ReduceL1", x, a.dim, a.keepdim));
  if (std::isinf(a.ord)) return give(c, reduced(c, a.ord > 0 ? "ReduceMax" : "ReduceMin", c.add("Abs", {x}), a.dim, a.keepdim));
  if (a.ord == 0) c.refuse("the norm of order 0 has no counterpart");
  const auto number = [&](double v) { return c.writer.number(v, a.result); };
  const std::string sum = reduced(c, "ReduceSum", c.add("Pow", {c.add("Abs", {x}), number(a.ord)}), a.dim, a.keepdim);
  give(c, c.add("Pow", {sum, number(1 / a.ord)}));
}

void write_position(const ExportCall& c) {
  const ArgReduce& a = c.as<ArgReduce>();
  if (a.dim >= 0) return c.make(c.type, {c.in(0)}, {{"axis", a.dim}, flag("keepdims", a.keepdim)});
  const std::string flat = c.add("Reshape", {c.in(0), c.integers(std::vector<int64_t>{-1})});
  const std::string place = c.add(c.type, {flat}, {{"axis", int64_t(0)}, flag("keepdims", false)});
  if (!a.keepdim) return give(c, place);
  c.make("Reshape", {place, c.integers(std::vector<int64_t>(size_t(c.meta(0).shape.rank()), 1))});
}
void write_extremum(const ExportCall& c) {
  const ArgReduce& a = c.as<ArgReduce>();
  const bool largest = std::string(c.type) == "Max";
  if (c.meta(0).shape.rank() == 0) {
    c.make("Identity", {c.in(0)});
    return c.writer.bind(c.node.out[1], c.writer.number(0, DType::int64));
  }
  give(c, reduced(c, largest ? "ReduceMax" : "ReduceMin", c.in(0), Dims{a.dim}, a.keepdim));
  c.writer.make(c.node.out[1], largest ? "ArgMax" : "ArgMin", {c.in(0)}, {{"axis", a.dim}, flag("keepdims", a.keepdim)});
}

void write_cumsum(const ExportCall& c) {
  const Scan& a = c.as<Scan>();
  if (c.meta(0).shape.rank() == 0) return give(c, c.in_as(0, a.result));
  c.make("CumSum", {c.in_as(0, a.result), c.writer.number(a.dim, DType::int64)}, {flag("reverse", a.reverse)});
}
void write_softmax(const ExportCall& c) {
  const Softmax& a = c.as<Softmax>();
  const std::string x = c.in_as(0, a.result);
  if (c.meta(0).shape.rank() > 0) return c.make(c.type, {x}, {{"axis", a.dim}});
  const std::string axis = c.integers(std::vector<int64_t>{0});
  c.make("Squeeze", {c.add(c.type, {c.add("Unsqueeze", {x, axis})}, {{"axis", int64_t(0)}}), axis});
}

void give_both(const ExportCall& c, const Names& results) {
  c.writer.bind(c.node.out[0], results[0]);
  c.writer.bind(c.node.out[1], results[1]);
}
void write_topk(const ExportCall& c) {
  const TopK& a = c.as<TopK>();
  give_both(c, c.writer.add("TopK", {c.in(0), c.writer.integers_of(c.node, {&a.k, 1}, 0)},
                   {{"axis", a.dim}, flag("largest", a.largest), flag("sorted", a.sorted)}, 2));
}
void write_sort(const ExportCall& c) {
  const Sort& a = c.as<Sort>();
  if (c.meta(0).shape.rank() == 0) return give_both(c, {c.in(0), c.writer.number(0, DType::int64)});
  const std::string count = c.writer.has_fixed_shape(c.node.in[0])
                                ? c.integers(std::vector<int64_t>{c.meta(0).shape[a.dim]})
                                : c.add("Gather", {c.shape_of(0), c.integers(std::vector<int64_t>{a.dim})});
  give_both(c, c.writer.add("TopK", {c.in(0), count}, {{"axis", a.dim}, flag("largest", a.descending)}, 2));
}

constexpr ExportRow kRows[] = {
    {"sum", write_reduce, "ReduceSum"},
    {"mean", write_reduce, "ReduceMean"},
    {"prod", write_reduce, "ReduceProd"},
    {"amax", write_reduce, "ReduceMax"},
    {"amin", write_reduce, "ReduceMin"},
    {"logsumexp", write_logsumexp},
    {"count_nonzero", write_count},
    {"any", write_truth, "ReduceMax"},
    {"all", write_truth, "ReduceMin"},
    {"linalg_vector_norm", write_norm},
    {"argmax", write_position, "ArgMax"},
    {"argmin", write_position, "ArgMin"},
    {"max.dim", write_extremum, "Max"},
    {"min.dim", write_extremum, "Min"},
    {"cumsum", write_cumsum},
    {"softmax", write_softmax, "Softmax"},
    {"log_softmax", write_softmax, "LogSoftmax"},
    {"topk", write_topk},
    {"sort", write_sort},
};

}  // namespace

ExportRows reduction_rows() { return kRows; }

}  // namespace pyburn::onnx
