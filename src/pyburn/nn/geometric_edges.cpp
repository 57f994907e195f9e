#include "pyburn/nn/geometric_edges.h"

#include <cmath>
#include <limits>

#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/binary_math.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/pointwise.h"
#include "pyburn/ops/generated/rearrange.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/scatter.h"
#include "pyburn/ops/generated/sort.h"
#include "pyburn/ops/generated/transcendental.h"
#include "pyburn/ops/operators.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/error.h"

namespace pyburn::nn::geometric {
namespace {

// A vector of numbers as one of the shape of `like`, the same in all axes but dim.
TensorHandle along(const TensorHandle& index, const TensorHandle& like, int64_t dim) {
  Dims shape(like.rank(), 1);
  shape[dim] = index.numel();
  return fn::expand(fn::reshape(index, shape), like.shape());
}

TensorHandle places(const TensorHandle& condition) { return fn::flatten(fn::nonzero(condition)); }
TensorHandle loops(const TensorHandle& index, int64_t count) {
  const TensorHandle nodes = fn::arange(count, {}, 1, index.dtype(), &index.device());
  return fn::stack({nodes, nodes});
}

TensorHandle loop_attr(const Edges& edges, const LoopFill& fill, int64_t count) {
  if (!fill.reduce.empty()) return scatter(edges.attr, edges.targets(), 0, count, fill.reduce);
  Dims shape = edges.attr.shape();
  shape[0] = count;
  if (fill.tensor.defined()) return fn::expand(fn::cast(fill.tensor, edges.attr.dtype()), shape);
  return fn::full(shape, fill.number, edges.attr.dtype(), &edges.attr.device());
}

}  // namespace

TensorHandle Edges::sources() const { return fn::select(index, 0, 0); }
TensorHandle Edges::targets() const { return fn::select(index, 0, 1); }

int64_t node_count(const TensorHandle& index, std::optional<int64_t> given) {
  if (given) return *given;
  return index.numel() ? int64_t(read_number(fn::amax(index))) + 1 : 0;
}

TensorHandle scatter(
    const TensorHandle& src, const TensorHandle& index, int64_t dim, std::optional<int64_t> size, const std::string& reduce) {
  require<ValueError>(index.rank() == 1, "The `index` argument must be one-dimensional (got {} dimensions)", index.rank());
  dim = dim < 0 ? dim + src.rank() : dim;
  require<ValueError>(dim >= 0 && dim < src.rank(), "src has no dimension {}: got {}", dim, src.shape());
  Dims shape = src.shape();
  shape[dim] = node_count(index, size);
  const TensorHandle none = fn::zeros(shape, src.dtype(), &src.device()), at = along(index, src, dim);
  if (reduce == "sum" || reduce == "add") return fn::scatter_add(none, dim, at, src);
  const bool is_product = reduce == "mul" || reduce == "prod";
  require<ValueError>(
      is_product || reduce == "mean" || reduce == "max" || reduce == "min", "Encountered invalid `reduce` argument '{}'", reduce);
  return fn::scatter_reduce(none, dim, at, src, is_product ? "prod" : reduce == "mean" ? "mean" : "a" + reduce, false);
}

TensorHandle softmax(const TensorHandle& src, const TensorHandle& index, std::optional<int64_t> num_nodes, int64_t dim) {
  dim = dim < 0 ? dim + src.rank() : dim;
  const int64_t count = node_count(index, num_nodes);
  const TensorHandle largest = fn::index_select(scatter(fn::detach(src), index, dim, count, "max"), dim, index);
  const TensorHandle risen = fn::exp(src - largest);
  return risen / fn::index_select(scatter(risen, index, dim, count) + 1e-16, dim, index);
}

bool contains_self_loops(const TensorHandle& index) {
  return index.numel() && read_number(fn::any(fn::eq(fn::select(index, 0, 0), fn::select(index, 0, 1)))) == 1;
}

TensorHandle to_undirected(const TensorHandle& index, std::optional<int64_t> num_nodes) {
  const int64_t count = std::max<int64_t>(node_count(index, num_nodes), 1);
  const TensorHandle both = fn::cat({index, fn::flip(index, {0})}, 1);
  const TensorHandle numbers = fn::sort(fn::select(both, 0, 0) * count + fn::select(both, 0, 1))[0];
  if (numbers.numel() == 0) return both;
  const TensorHandle is_new = fn::ne(fn::narrow(numbers, 0, 1, numbers.numel() - 1), fn::narrow(numbers, 0, 0, numbers.numel() - 1));
  const TensorHandle once = fn::index_select(numbers, 0, places(fn::cat({fn::ones({1}, DType::boolean, &index.device()), is_new})));
  return fn::stack({fn::floor_divide(once, count), fn::remainder(once, count)});
}

Edges remove_self_loops(const Edges& edges) {
  const TensorHandle kept = places(fn::ne(edges.sources(), edges.targets()));
  return {fn::index_select(edges.index, 1, kept), edges.attr.defined() ? fn::index_select(edges.attr, 0, kept) : TensorHandle()};
}

Edges add_self_loops(const Edges& edges, const LoopFill& fill, std::optional<int64_t> num_nodes) {
  const int64_t count = node_count(edges.index, num_nodes);
  return {fn::cat({edges.index, loops(edges.index, count)}, 1),
      edges.attr.defined() ? fn::cat({edges.attr, loop_attr(edges, fill, count)}) : TensorHandle()};
}

Edges add_remaining_self_loops(const Edges& edges, const LoopFill& fill, std::optional<int64_t> num_nodes) {
  const int64_t count = node_count(edges.index, num_nodes);
  const Edges others = remove_self_loops(edges);
  Edges result{fn::cat({others.index, loops(edges.index, count)}, 1), {}};
  if (edges.attr.defined()) {
    const TensorHandle there = places(fn::eq(edges.sources(), edges.targets()));
    const TensorHandle carried = fn::index_select(edges.attr, 0, there), nodes = fn::index_select(edges.sources(), 0, there);
    result.attr = fn::cat({others.attr, fn::scatter(loop_attr(edges, fill, count), 0, along(nodes, carried, 0), carried)});
  }
  return result;
}

Edges gcn_norm(const Edges& given, const GcnNormOptions& o) {
  const int64_t count = node_count(given.index, o.num_nodes);
  Edges edges = given;
  if (o.add_self_loops) edges = add_remaining_self_loops(edges, {.number = o.improved ? 2.0 : 1.0}, count);
  if (!edges.attr.defined()) edges.attr = fn::ones({edges.index.shape()[1]}, o.dtype, &edges.index.device());
  const TensorHandle degrees = scatter(edges.attr, o.target_to_source ? edges.sources() : edges.targets(), 0, count);
  const TensorHandle root = fn::pow(degrees, -0.5);
  const TensorHandle inverse = fn::masked_fill(root, fn::eq(root, std::numeric_limits<double>::infinity()), 0.0);
  edges.attr = fn::index_select(inverse, 0, edges.sources()) * edges.attr * fn::index_select(inverse, 0, edges.targets());
  return edges;
}

}  // namespace pyburn::nn::geometric
