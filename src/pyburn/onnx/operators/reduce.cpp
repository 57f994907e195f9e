// Reductions and scans along axes.
#include "pyburn/ops/generated/reduce.h"

#include <limits>

#include "pyburn/onnx/call.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/extremum.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/rearrange.h"
#include "pyburn/ops/generated/scan.h"
#include "pyburn/ops/generated/softmax.h"
#include "pyburn/ops/generated/transcendental.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/generated/views.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

using Reduction = TensorHandle (*)(const TensorHandle& x, const Dims& dims, bool keepdim);

// Axes are an attribute, or an input since 13 (ReduceSum) and 18 (the others). Without any: all, unless noop_with_empty_axes.
template <Reduction F>
Results reduce(Call& c) {
  const TensorHandle x = c.input(0);
  const OptionalDims given = c.integers_of("axes", 1);
  Dims dims;
  if (given && !given->empty()) dims = normalise_dims(*given, x.rank());
  else if (!c.flag("noop_with_empty_axes"))
    for (int axis = 0; axis < x.rank(); ++axis) dims.push_back(axis);
  return F(x, dims, c.flag("keepdims", true));
}

TensorHandle sum_over(const TensorHandle& x, const Dims& dims, bool keepdim) {
  return dims.empty() ? x : fn::sum(x, dims, keepdim, x.dtype());
}
TensorHandle prod_over(const TensorHandle& x, const Dims& dims, bool keepdim) {
  TensorHandle result = x;
  for (int64_t i = dims.size() - 1; i >= 0; --i) result = fn::prod(result, dims[i], keepdim, x.dtype());
  return result;
}
TensorHandle mean_over(const TensorHandle& x, const Dims& dims, bool keepdim) {
  if (dims.empty()) return x;
  if (is_floating(x.dtype())) return fn::mean(x, dims, keepdim);
  return fn::div(sum_over(x, dims, keepdim), Scalar(count(x.shape(), dims)), "trunc");
}

// The least or greatest value of a dtype: what the extremum of no elements is.
Scalar limit_of(DType dtype, bool greatest) {
  if (is_floating(dtype)) return greatest ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
  if (dtype == DType::boolean) return greatest;
  const int bits = dtype_info(dtype).bits;
  if (is_unsigned_integer(dtype)) return greatest ? Scalar(bits == 64 ? int64_t(-1) : (int64_t(1) << bits) - 1) : Scalar(0);
  const int64_t most = std::numeric_limits<int64_t>::max() >> (64 - bits);
  return greatest ? most : -most - 1;
}
template <bool Greatest>
TensorHandle extremum_over(const TensorHandle& x, const Dims& dims, bool keepdim) {
  if (dims.empty()) return x;
  if (count(x.shape(), dims) == 0)
    return fn::full(reduced_shape(x.shape(), dims, keepdim), limit_of(x.dtype(), !Greatest), x.dtype(), &x.device());
  if (x.dtype() == DType::boolean) return Greatest ? fn::any(x, dims, keepdim) : fn::all(x, dims, keepdim);
  return Greatest ? fn::amax(x, dims, keepdim) : fn::amin(x, dims, keepdim);
}

// Sums of many squares or exponentials of integers are computed as ONNX Runtime does: in their own dtype, or in float32 for logarithms.
TensorHandle as_float(const TensorHandle& x) { return is_floating(x.dtype()) ? x : fn::cast(x, widest_float(x.device().backend())); }
TensorHandle l1_over(const TensorHandle& x, const Dims& dims, bool keepdim) { return sum_over(fn::abs(x), dims, keepdim); }
TensorHandle square_sum_over(const TensorHandle& x, const Dims& dims, bool keepdim) { return sum_over(fn::mul(x, x), dims, keepdim); }
TensorHandle l2_over(const TensorHandle& x, const Dims& dims, bool keepdim) {
  return fn::cast(fn::sqrt(square_sum_over(as_float(x), dims, keepdim)), x.dtype());
}
TensorHandle log_sum_over(const TensorHandle& x, const Dims& dims, bool keepdim) {
  return fn::cast(fn::log(sum_over(as_float(x), dims, keepdim)), x.dtype());
}
TensorHandle log_sum_exp_over(const TensorHandle& x, const Dims& dims, bool keepdim) {
  if (dims.empty()) return x;
  if (count(x.shape(), dims) == 0) return extremum_over<true>(x, dims, keepdim);
  return fn::cast(fn::logsumexp(as_float(x), dims, keepdim), x.dtype());
}

template <bool Greatest>
Results arg_extremum(Call& c) {
  const TensorHandle x = c.input(0);
  const int64_t axis = c.integer("axis", 0);
  const bool keepdim = c.flag("keepdims", true);
  const auto find = [&](const TensorHandle& t) { return Greatest ? fn::argmax(t, axis, keepdim) : fn::argmin(t, axis, keepdim); };
  if (!c.flag("select_last_index")) return find(x);
  const int dim = normalise_dim(axis, x.rank());
  return fn::sub(Operand(Scalar(x.shape()[dim] - 1)), find(fn::flip(x, {dim})));
}

// exclusive: without the element itself; reverse: from the end.
template <TensorHandle (*F)(const TensorHandle&, int64_t, std::optional<DType>)>
Results scan(Call& c, double first) {
  TensorHandle x = c.input(0);
  const int axis = normalise_dim(c.read_integer(1), x.rank());
  const bool reverse = c.flag("reverse");
  const int64_t n = x.shape()[axis];
  if (reverse) x = fn::flip(x, {axis});
  if (c.flag("exclusive") && n > 0) {
    Dims shape = x.shape();
    shape[axis] = 1;
    x = fn::cat({fn::full(shape, Scalar(first), x.dtype(), &x.device()), fn::narrow(x, axis, 0, n - 1)}, axis);
  }
  const TensorHandle result = F(x, axis, x.dtype());
  return reverse ? fn::flip(result, {axis}) : result;
}

constexpr Operator kRows[] = {
    {"", "ReduceSum", 1, reduce<sum_over>, inputs_at(1)},
    {"", "ReduceMean", 1, reduce<mean_over>, inputs_at(1)},
    {"", "ReduceProd", 1, reduce<prod_over>, inputs_at(1)},
    {"", "ReduceMax", 1, reduce<extremum_over<true>>, inputs_at(1)},
    {"", "ReduceMin", 1, reduce<extremum_over<false>>, inputs_at(1)},
    {"", "ReduceL1", 1, reduce<l1_over>, inputs_at(1)},
    {"", "ReduceL2", 1, reduce<l2_over>, inputs_at(1)},
    {"", "ReduceLogSum", 1, reduce<log_sum_over>, inputs_at(1)},
    {"", "ReduceLogSumExp", 1, reduce<log_sum_exp_over>, inputs_at(1)},
    {"", "ReduceSumSquare", 1, reduce<square_sum_over>, inputs_at(1)},
    {"", "ArgMax", 1, arg_extremum<true>},
    {"", "ArgMin", 1, arg_extremum<false>},
    {"", "CumSum", 11, [](Call& c) { return scan<fn::cumsum>(c, 0); }, inputs_at(1)},
    {"", "CumProd", 26, [](Call& c) { return scan<fn::cumprod>(c, 1); }, inputs_at(1)},
};

}  // namespace

std::span<const Operator> reduce_operators() { return kRows; }

}  // namespace pyburn::onnx
