// Elements named by indices.
#include "pyburn/ops/index.h"

#include <numeric>

#include "pyburn/onnx/export/export_rows.h"
#include "pyburn/ops/embedding.h"
#include "pyburn/ops/index_tensors.h"
#include "pyburn/ops/scatter.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

void write_gather(const ExportCall& c) { c.make("GatherElements", {c.in(0), c.in(1)}, {{"axis", c.as<Gather>().dim}}); }
void write_scatter(const ExportCall& c) { c.make("ScatterElements", {c.in(0), c.in(1), c.in(2)}, {{"axis", c.as<Gather>().dim}}); }
void write_scatter_add(const ExportCall& c) {
  c.make("ScatterElements", {c.in(0), c.in(1), c.in(2)}, {{"axis", c.as<Gather>().dim}, {"reduction", std::string("add")}});
}
void write_scatter_reduce(const ExportCall& c) {
  const ScatterReduce& a = c.as<ScatterReduce>();
  if (!a.include_self) c.refuse("include_self=False has no counterpart");
  const char* name = a.reduce == Reduction::sum    ? "add"
                     : a.reduce == Reduction::prod ? "mul"
                     : a.reduce == Reduction::amax ? "max"
                     : a.reduce == Reduction::amin ? "min"
                                                   : nullptr;
  if (!name) c.refuse("the mean has no counterpart");
  if (c.writer.opset() < 18 && (a.reduce == Reduction::amax || a.reduce == Reduction::amin)) c.refuse("extrema need opset 18");
  c.make("ScatterElements", {c.in(0), c.in(1), c.in(2)}, {{"axis", a.dim}, {"reduction", std::string(name)}});
}

void write_index_select(const ExportCall& c) { c.make("Gather", {c.in(0), c.in(1)}, {{"axis", c.as<IndexAxis>().dim}}); }
void write_embedding(const ExportCall& c) { c.make("Gather", {c.in(0), c.in(1)}, {{"axis", int64_t(0)}}); }

// The index of each slice as the index of each of its elements.
std::string spread_index(const ExportCall& c, int64_t dim) {
  std::vector<int64_t> shape(size_t(c.meta(2).shape.rank()), 1);
  shape[size_t(dim)] = -1;
  return c.add("Expand", {c.add("Reshape", {c.in(1), c.integers(shape)}), c.shape_of(2)});
}
void write_index_add(const ExportCall& c) {
  const IndexAdd& a = c.as<IndexAdd>();
  const std::string source = a.alpha.to_double() == 1 ? c.in(2) : c.add("Mul", {c.in(2), c.number(a.alpha, 2)});
  c.make("ScatterElements", {c.in(0), spread_index(c, a.dim), source}, {{"axis", a.dim}, {"reduction", std::string("add")}});
}
void write_index_copy(const ExportCall& c) {
  const int64_t dim = c.as<IndexAxis>().dim;
  c.make("ScatterElements", {c.in(0), spread_index(c, dim), c.in(2)}, {{"axis", dim}});
}

// The indices of several axes as one tensor with a last axis of coordinates.
std::string coordinates(const ExportCall& c, int64_t first) {
  const int64_t count = c.inputs() - first;
  int64_t rank = 0;
  for (int64_t i = 0; i < count; ++i) rank = std::max<int64_t>(rank, c.meta(first + i).shape.rank());
  std::string shape;  // that they have in common
  for (int64_t i = 0; i < count && count > 1; ++i) {
    const std::string own = c.shape_of(first + i);
    const int64_t missing = rank - c.meta(first + i).shape.rank();
    const std::string whole =
        missing ? c.add("Concat", {c.integers(std::vector<int64_t>(size_t(missing), 1)), own}, {{"axis", int64_t(0)}}) : own;
    shape = shape.empty() ? whole : c.add("Max", {shape, whole});
  }
  Names columns;
  const std::string last = c.integers(std::vector<int64_t>{-1});
  for (int64_t i = 0; i < count; ++i) {
    std::string index = c.in_as(first + i, DType::int64);
    if (count > 1) index = c.add("Expand", {index, shape});
    columns.push_back(c.add("Unsqueeze", {index, last}));
  }
  return columns.size() == 1 ? columns[0] : c.add("Concat", columns, {{"axis", int64_t(-1)}});
}
// Axes [first, first + count) moved to the front, and back.
std::vector<int64_t> to_front(int64_t rank, int64_t first, int64_t count) {
  std::vector<int64_t> order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin(), order.begin() + first, order.begin() + first + count);
  return order;
}
std::vector<int64_t> inverse(const std::vector<int64_t>& order) {
  std::vector<int64_t> back(order.size());
  for (size_t i = 0; i < order.size(); ++i) back[size_t(order[i])] = int64_t(i);
  return back;
}

void write_index(const ExportCall& c) {
  const int64_t axis = c.as<IndexTensors>().axis, count = c.inputs() - 1;
  if (count == 1) return c.make("Gather", {c.in(0), c.in(1)}, {{"axis", axis}});
  std::string x = c.in(0);
  if (axis > 0) x = c.add("Transpose", {x}, {{"perm", to_front(c.meta(0).shape.rank(), axis, count)}});
  const std::string picked = c.add("GatherND", {x, coordinates(c, 1)});
  if (axis == 0) return c.writer.bind(c.node.out[0], picked);
  int64_t rank = 0;  // of the indices
  for (int64_t i = 1; i <= count; ++i) rank = std::max<int64_t>(rank, c.meta(i).shape.rank());
  c.make("Transpose", {picked}, {{"perm", inverse(to_front(c.result().shape.rank(), axis, rank))}});
}
void write_index_put(const ExportCall& c) {
  const IndexTensors& a = c.as<IndexTensors>();
  const int64_t count = c.inputs() - 2, rank = c.meta(0).shape.rank();
  Attributes attributes;
  if (a.accumulate) attributes.push_back({"reduction", std::string("add")});
  if (a.axis == 0) return c.make("ScatterND", {c.in(0), coordinates(c, 2), c.in(1)}, attributes);
  int64_t index_rank = 0;
  for (int64_t i = 2; i < c.inputs(); ++i) index_rank = std::max<int64_t>(index_rank, c.meta(i).shape.rank());
  const std::vector<int64_t> order = to_front(rank, a.axis, count);
  const std::string x = c.add("Transpose", {c.in(0)}, {{"perm", order}});
  const std::string values = c.add("Transpose", {c.in(1)}, {{"perm", to_front(c.meta(1).shape.rank(), a.axis, index_rank)}});
  c.make("Transpose", {c.add("ScatterND", {x, coordinates(c, 2), values}, attributes)}, {{"perm", inverse(order)}});
}

void write_nonzero(const ExportCall& c) { c.make("Transpose", {c.add("NonZero", {c.in(0)})}, {{"perm", std::vector<int64_t>{1, 0}}}); }

constexpr ExportRow kRows[] = {
    {"gather", write_gather},
    {"scatter.src", write_scatter},
    {"scatter_add", write_scatter_add},
    {"scatter_reduce", write_scatter_reduce},
    {"index_select", write_index_select},
    {"index_add", write_index_add},
    {"index_copy", write_index_copy},
    {"_index", write_index},
    {"_index_put", write_index_put},
    {"_embedding", write_embedding},
    {"nonzero", write_nonzero},
};

}  // namespace

ExportRows index_rows() { return kRows; }

}  // namespace pyburn::onnx
