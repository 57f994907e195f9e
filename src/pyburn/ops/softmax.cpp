// softmax, its logarithm, and their gradients.
#include "pyburn/ops/softmax.h"

#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/softmax.h"
#include "pyburn/ops/generated/transcendental.h"
#include "pyburn/ops/rules.h"

namespace pyburn {
namespace {

Meta infer(const Softmax& a, Metas in) {
  check_dim(a.dim, in[0].shape.rank());
  require<DTypeError>(is_floating(a.result), "expected a floating dtype: got {}", a.result);
  return {in[0].shape, a.result};
}
Meta infer_backward(const Softmax& a, Metas in) {
  require(in[0].shape == in[1].shape, "expected equal shapes: got {} and {}", in[0].shape, in[1].shape);
  require<DTypeError>(in[0].dtype == in[1].dtype, "expected equal dtypes: got {} and {}", in[0].dtype, in[1].dtype);
  return infer(a, in);
}
OptionalDims axis(const Softmax& a, const TensorHandle& x) { return x.rank() ? OptionalDims(Dims{a.dim}) : std::nullopt; }

TensorHandle shifted(const Softmax& a, const TensorHandle& x) { return x - amax(x, axis(a, x), true); }
TensorHandle decompose_softmax(const Softmax& a, Inputs in) {
  if (in[0]->numel() == 0) return clone(*in[0]);
  const TensorHandle e = exp(shifted(a, *in[0]));
  return e / sum(e, axis(a, e), true);
}
TensorHandle decompose_log_softmax(const Softmax& a, Inputs in) {
  if (in[0]->numel() == 0) return clone(*in[0]);
  const TensorHandle s = shifted(a, *in[0]);
  return s - log(sum(exp(s), axis(a, s), true));
}
TensorHandle decompose_softmax_backward(const Softmax& a, Inputs in) {
  const TensorHandle &dy = *in[0], &y = *in[1];
  const TensorHandle g = dy * y;
  return g - y * sum(g, axis(a, y), true);
}
TensorHandle decompose_log_softmax_backward(const Softmax& a, Inputs in) {
  const TensorHandle &dy = *in[0], &y = *in[1];
  return dy - exp(y) * sum(dy, axis(a, y), true);
}
Grads grad_softmax(const Softmax& a, const GradContext& c) { return {softmax_backward(c.dy(), c.output(), a.dim)}; }
Grads grad_log_softmax(const Softmax& a, const GradContext& c) { return {log_softmax_backward(c.dy(), c.output(), a.dim)}; }

constexpr const char* kSoftmax = R"(
t(2, 3), 1
t(2, 3, 4), 0
t(2, 3, 4), -2
t(), 0
t(0, 3), 1
t(3, 4).T, 0
t(2, 1).expand(2, 5), 1
t(2, 3, dtype=f64), 1
t(2, 3, dtype=f16), 1
t(2, 3, dtype=f16), 1, dtype=f32
t(2, 3, dtype=i64), 1, dtype=f32
t(3, 700), 1
t(3, 5, 200), 1
t(2, dtype=i64), 0 ! floating
t(2, 3), 2 ! dim out of range)";
constexpr const char* kBackward = R"(
t(2, 3), t(2, 3), 1
t(2, 3, 4), t(2, 3, 4), 0
t(2, 3, 4), t(2, 3, 4), -2
t(), t(), 0
t(0, 3), t(0, 3), 1
t(3, 4).T, t(4, 3), 0
t(2, 1).expand(2, 5), t(2, 5), 1
t(2, 3, dtype=f64), t(2, 3, dtype=f64), 1
t(2, 3, dtype=f16), t(2, 3, dtype=f16), 1
t(2, 3), t(3), 0 ! equal shapes
t(2, 3), t(2, 3), 2 ! dim out of range)";

constexpr OpInfo normalising(OpInfo row) {
  row.cast = Cast::to_result;
  row.saves = outputs;
  row.samples = kSoftmax;
  return row;
}
constexpr OpInfo backward(OpInfo row) {
  row.no_grad = "is differentiated through its decomposition";
  row.samples = kBackward;
  return row;
}

}  // namespace

namespace op {
constinit OpInfo softmax = normalising(
    define<Softmax, infer, grad_softmax, decompose_softmax>({.schema = "softmax(Tensor input, int dim, *, DType? dtype=None) -> Tensor",
        .doc = "Applies softmax along dim: exp(x) / sum(exp(x)), in a numerically stable way.",
        .example = "pyburn.softmax(pyburn.tensor([1., 1.]), 0)"}));
constinit OpInfo log_softmax = normalising(define<Softmax, infer, grad_log_softmax, decompose_log_softmax>(
    {.schema = "log_softmax(Tensor input, int dim, *, DType? dtype=None) -> Tensor",
        .doc = "Computes the logarithm of softmax along dim in a numerically stable way.",
        .example = "pyburn.log_softmax(pyburn.tensor([1., 1.]), 0)"}));
constinit OpInfo softmax_backward = backward(define<Softmax, infer_backward, nullptr, decompose_softmax_backward>(
    {.schema = "softmax_backward(Tensor grad_output, Tensor output, int dim) -> Tensor",
        .doc = "Computes the gradient of softmax from its output.",
        .torch = "lambda dy, y, dim: torch._softmax_backward_data(dy, y, dim, dy.dtype)",
        .example = "pyburn.softmax_backward(pyburn.ones(2), pyburn.tensor([0.5, 0.5]), 0)"}));
constinit OpInfo log_softmax_backward = backward(define<Softmax, infer_backward, nullptr, decompose_log_softmax_backward>(
    {.schema = "log_softmax_backward(Tensor grad_output, Tensor output, int dim) -> Tensor",
        .doc = "Computes the gradient of log_softmax from its output.",
        .torch = "lambda dy, y, dim: torch._log_softmax_backward_data(dy, y, dim, dy.dtype)",
        .example = "pyburn.log_softmax_backward(pyburn.ones(2), pyburn.tensor([-0.5, -0.5]), 0)"}));
}  // namespace op

namespace {
constinit FunctionInfo functions[] = {
    {.schema = "softmin(Tensor input, int dim, *, DType? dtype=None) -> Tensor",
        .doc = "Applies softmin along dim: softmax(-input).",
        .torch = "torch.nn.functional.softmin",
        .example = "pyburn.softmin(pyburn.tensor([1., 1.]), 0)",
        .samples = "t(2, 3), 1\nt(2, 3), 0\nt(), 0\nt(0, 3), 1\nt(3, 4).T, 0\nt(2, 1).expand(2, 5), 1\nt(2, 3, dtype=f16), 1, dtype=f32\n"
                   "t(2, 3), 2 ! dim out of range"},
};
}  // namespace

TensorHandle fn::softmin(const TensorHandle& input, int64_t dim, std::optional<DType> dtype) { return softmax(-input, dim, dtype); }

void register_softmax(OpTable& table) {
  table.add({&op::softmax, &op::log_softmax, &op::softmax_backward, &op::log_softmax_backward});
  table.add(functions);
}

}  // namespace pyburn
