// Mean, variance and standard deviation.
#include "pyburn/ops/moments.h"

#include <algorithm>

#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/moments.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/rules.h"

namespace pyburn {
namespace {

MetaList infer(const VarMean& a, Metas in) {
  check_dims(a.dim, in[0].shape.rank());
  require<DTypeError>(is_floating(in[0].dtype), "expected a floating dtype: got {}", in[0].dtype);
  const Meta result{reduced_shape(in[0].shape, a.dim, a.keepdim), in[0].dtype};
  return {result, result};
}
double divisor(const VarMean& a, const Shape& x) { return std::max(double(count(x, a.dim)) - a.correction, 0.0); }

Grads grad(const VarMean& a, const GradContext& c) {
  const Shape& shape = c.meta(0).shape;
  auto over = [&](const TensorHandle& t) { return TensorHandle(spread(t, a.dim, a.keepdim, shape)); };
  TensorHandle dx;
  if (c.has_dy(0)) {
    const TensorHandle x = c.input(0);
    dx = (x - mean(x, a.dim, true)) * over(c.dy(0) * (2 / divisor(a, shape)));  // mean(x), not the output: it has a gradient too
  }
  if (c.has_dy(1)) {
    const TensorHandle share = over(c.dy(1) / double(count(shape, a.dim)));
    dx = dx.defined() ? dx + share : share;
  }
  return {dx};
}
Tensors as_sums(const VarMean& a, Inputs in) {
  const TensorHandle& x = *in[0];
  const TensorHandle average = mean(x, a.dim, true), centred = x - average;
  const TensorHandle variance = sum(centred * centred, a.dim, a.keepdim) / divisor(a, x.shape());
  return {variance, reshape(average, variance.shape())};
}

constexpr const char* kMoments = R"(
t(2, 3)
t(2, 3, 4), dim=(0, 2)
t(2, 3, 4), dim=-2, keepdim=True, correction=0
t(3, 4).T, dim=0
t(2, 3, 2), 1, correction=0.5
t(), correction=0
t(0, 3), dim=1
t(2, 1).expand(2, 5), dim=1, correction=2
t(2, 5, dtype=f16), dim=1
t(70, 3), dim=0
t(2, dtype=i64) ! floating
t(2, 3), dim=2 ! dim out of range)";
// Without those that are constant along dim: a deviation of 0 has no gradient.
constexpr const char* kDeviations = R"(
t(2, 3)
t(2, 3, 4), dim=(0, 2)
t(2, 3, 4), dim=-2, keepdim=True, correction=0
t(3, 4).T, dim=0
t(2, 3, 2), 1, correction=0.5
t(0, 3), dim=1
t(1, 5).expand(2, 5), dim=1, correction=2
t(2, 5, dtype=f16), dim=1
t(), correction=0
t(2, dtype=i64) ! floating
t(2, 3), dim=2 ! dim out of range)";
constexpr const char* kUnbiased = R"(
t(2, 3), True
t(3, 2).T, False
t(), False
t(0, 3), True
t(1, 5).expand(2, 5), False
t(2, dtype=i64), True ! floating)";
constexpr const char* kAlong = R"(
t(2, 3), 1, True
t(2, 3, 4), (0, 2), unbiased=False, keepdim=True
t(3, 4).T, 0, True, True
t(), None, False
t(0, 3), 1, False
t(1, 5).expand(2, 5), 1, True
t(2, 3), 2, True ! dim out of range)";

}  // namespace

namespace op {
constinit OpInfo var_mean = define<VarMean, infer, grad, as_sums>(
    {.schema = "var_mean(Tensor input, int[]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor var, Tensor mean)",
        .doc = "Computes the variance and the mean over dim.",
        .kind = Kind::reduce,
        .saves = inputs,
        .example = "pyburn.var_mean(pyburn.tensor([1., 2., 3.]))",
        .samples = kMoments});
}  // namespace op

namespace {
constinit FunctionInfo functions[] = {
    {.schema = "var_mean.dim(Tensor input, int[]? dim, bool unbiased, bool keepdim=False) -> (Tensor var, Tensor mean)",
        .doc = "Computes the variance and the mean over dim.",
        .example = "pyburn.var_mean(pyburn.tensor([1., 2., 3.]), 0, unbiased=False)",
        .samples = kAlong,
        .out = true},
    {.schema = "var_mean.unbiased(Tensor input, bool unbiased) -> (Tensor var, Tensor mean)",
        .doc = "Computes the variance and the mean of all elements.",
        .example = "pyburn.var_mean(pyburn.tensor([1., 2., 3.]), unbiased=False)",
        .samples = kUnbiased,
        .out = true},
    {.schema = "var(Tensor input, int[]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
        .doc = "Computes the variance over dim, by default with Bessel's correction.",
        .example = "pyburn.var(pyburn.tensor([1., 2., 3.]))",
        .samples = kMoments,
        .out = true},
    {.schema = "var.dim(Tensor input, int[]? dim, bool unbiased, bool keepdim=False) -> Tensor",
        .doc = "Computes the variance over dim.",
        .example = "pyburn.var(pyburn.tensor([1., 2., 3.]), 0, unbiased=False)",
        .samples = kAlong,
        .out = true},
    {.schema = "var.unbiased(Tensor input, bool unbiased) -> Tensor",
        .doc = "Computes the variance of all elements.",
        .example = "pyburn.var(pyburn.tensor([1., 2., 3.]), unbiased=False)",
        .samples = kUnbiased,
        .out = true},
    {.schema = "std(Tensor input, int[]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
        .doc = "Computes the standard deviation over dim, by default with Bessel's correction.",
        .example = "pyburn.std(pyburn.tensor([1., 2., 3.]))",
        .samples = kDeviations,
        .out = true},
    {.schema = "std.dim(Tensor input, int[]? dim, bool unbiased, bool keepdim=False) -> Tensor",
        .doc = "Computes the standard deviation over dim.",
        .example = "pyburn.std(pyburn.tensor([1., 2., 3.]), 0, unbiased=False)",
        .samples = kAlong,
        .out = true},
    {.schema = "std.unbiased(Tensor input, bool unbiased) -> Tensor",
        .doc = "Computes the standard deviation of all elements.",
        .example = "pyburn.std(pyburn.tensor([1., 2., 3.]), unbiased=False)",
        .samples = kUnbiased,
        .out = true},
    {.schema = "std_mean(Tensor input, int[]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor std, Tensor mean)",
        .doc = "Computes the standard deviation and the mean over dim.",
        .example = "pyburn.std_mean(pyburn.tensor([1., 2., 3.]))",
        .samples = kDeviations,
        .out = true},
    {.schema = "std_mean.dim(Tensor input, int[]? dim, bool unbiased, bool keepdim=False) -> (Tensor std, Tensor mean)",
        .doc = "Computes the standard deviation and the mean over dim.",
        .example = "pyburn.std_mean(pyburn.tensor([1., 2., 3.]), 0, unbiased=False)",
        .samples = kAlong,
        .out = true},
    {.schema = "std_mean.unbiased(Tensor input, bool unbiased) -> (Tensor std, Tensor mean)",
        .doc = "Computes the standard deviation and the mean of all elements.",
        .example = "pyburn.std_mean(pyburn.tensor([1., 2., 3.]), unbiased=False)",
        .samples = kUnbiased,
        .out = true},
};

// A deviation of 0 is the least there is: its gradient is 0, not infinite, as in PyTorch.
TensorHandle root(const TensorHandle& variance) {
  const TensorHandle zero = eq(variance, 0);
  return where(zero, 0.0, sqrt(where(zero, 1.0, variance)));
}
using Correction = const std::optional<Scalar>&;
}  // namespace

Handles<2> fn::var_mean(const TensorHandle& x, const OptionalDims& dim, bool unbiased, bool keepdim) {
  return var_mean(x, dim, std::optional<Scalar>(int(unbiased)), keepdim);
}
Handles<2> fn::var_mean(const TensorHandle& x, bool unbiased) { return var_mean(x, std::nullopt, unbiased, false); }
TensorHandle fn::var(const TensorHandle& x, const OptionalDims& dim, Correction correction, bool keepdim) {
  return var_mean(x, dim, correction, keepdim)[0];
}
TensorHandle fn::var(const TensorHandle& x, const OptionalDims& dim, bool unbiased, bool keepdim) {
  return var_mean(x, dim, unbiased, keepdim)[0];
}
TensorHandle fn::var(const TensorHandle& x, bool unbiased) { return var_mean(x, unbiased)[0]; }
Handles<2> fn::std_mean(const TensorHandle& x, const OptionalDims& dim, Correction correction, bool keepdim) {
  const auto [variance, average] = var_mean(x, dim, correction, keepdim);
  return {root(variance), average};
}
Handles<2> fn::std_mean(const TensorHandle& x, const OptionalDims& dim, bool unbiased, bool keepdim) {
  return std_mean(x, dim, std::optional<Scalar>(int(unbiased)), keepdim);
}
Handles<2> fn::std_mean(const TensorHandle& x, bool unbiased) { return std_mean(x, std::nullopt, unbiased, false); }
TensorHandle fn::std(const TensorHandle& x, const OptionalDims& dim, Correction correction, bool keepdim) {
  return root(var(x, dim, correction, keepdim));
}
TensorHandle fn::std(const TensorHandle& x, const OptionalDims& dim, bool unbiased, bool keepdim) {
  return root(var(x, dim, unbiased, keepdim));
}
TensorHandle fn::std(const TensorHandle& x, bool unbiased) { return root(var(x, unbiased)); }

void register_moments(OpTable& table) {
  table.add({&op::var_mean});
  table.add(functions);
}

}  // namespace pyburn
