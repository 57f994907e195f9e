// Normalisation of each channel (axis 1) over a batch.
#include "pyburn/ops/batch_norm.h"

#include "pyburn/ops/generated/batch_norm.h"
#include "pyburn/ops/generated/moments.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/rules.h"

namespace pyburn {
namespace {

void check(const Meta& x) {
  require(x.shape.rank() >= 2, "expected at least 2 dimensions: got {}", x.shape);
  require<DTypeError>(is_floating(x.dtype), "expected a floating dtype: got {}", x.dtype);
  require<ValueError>(x.shape.numel() > 0, "expected at least one element per channel: got {}", x.shape);
}
void check_per_channel(const Meta& t, const Meta& x) {
  require(t.shape == Shape{x.shape[1]}, "expected one element per channel: got {} for an input of shape {}", t.shape, x.shape);
  require<DTypeError>(t.dtype == x.dtype, "expected equal dtypes: got {} and {}", x.dtype, t.dtype);
}
MetaList infer(const NormaliseBatch&, Metas in) {
  check(in[0]);
  for (const Meta& t : in.subspan(1))
    if (!(t == Meta{})) check_per_channel(t, in[0]);
  const Meta per_channel{Shape{in[0].shape[1]}, in[0].dtype};
  return {in[0], per_channel, per_channel};
}
MetaList infer_backward(const NormaliseBatch&, Metas in) {  // dy, x, mean, var, weight
  check(in[1]);
  require(in[0] == in[1], "expected a gradient like the input: got {} for {}", in[0].shape, in[1].shape);
  for (const Meta& t : {in[2], in[3]}) check_per_channel(t, in[1]);
  if (!(in[4] == Meta{})) check_per_channel(in[4], in[1]);
  return {in[1], in[2], in[2]};
}

Dims all_but_channels(int rank) {
  Dims over;
  for (int i = 0; i < rank; ++i)
    if (i != 1) over.push_back(i);
  return over;
}
TensorHandle along(const TensorHandle& t, int rank) {
  Dims size(rank, 1);
  size[1] = t.numel();
  return reshape(t, size);
}

Tensors by_moments(const NormaliseBatch& a, Inputs in) {
  const TensorHandle &x = *in[0], &weight = *in[1], &bias = *in[2];
  const Dims over = all_but_channels(x.rank());
  const auto [variance, average] = var_mean(x, over, std::optional<Scalar>(0));
  TensorHandle scale = rsqrt(variance + a.eps);
  if (weight.defined()) scale = scale * weight;
  const TensorHandle y = (x - along(average, x.rank())) * along(scale, x.rank());
  return {bias.defined() ? y + along(bias, x.rank()) : y, average, variance};
}
Tensors backward_by_moments(const NormaliseBatch& a, Inputs in) {
  const TensorHandle &dy = *in[0], &x = *in[1], &average = *in[2], &variance = *in[3], &weight = *in[4];
  const int rank = x.rank();
  const Dims over = all_but_channels(rank);
  const double n = double(count(x.shape(), over));
  const TensorHandle rstd = rsqrt(variance + a.eps), normal = (x - along(average, rank)) * along(rstd, rank);
  const TensorHandle dweight = sum(dy * normal, over), dbias = sum(dy, over);
  const TensorHandle scale = weight.defined() ? rstd * weight : rstd;
  const TensorHandle dx = (dy - along(dbias / n, rank) - normal * along(dweight / n, rank)) * along(scale, rank);
  return {dx, dweight, dbias};
}
Grads grad(const NormaliseBatch& a, const GradContext& c) {
  const TensorHandle x = c.input(0), weight = c.input(1), average = c.output(1), variance = c.output(2);
  const int rank = x.rank();
  const double n = double(x.numel() / x.shape()[1]);
  TensorHandle dx, dweight, dbias;
  if (c.has_dy(0)) {
    auto results = normalise_batch_backward(c.dy(0), x, average, variance, weight, a.eps);
    dx = results[0];
    if (c.needs(1)) dweight = results[1];
    if (c.needs(2)) dbias = results[2];
  }
  auto also = [&](const TensorHandle& more) { dx = dx.defined() ? dx + more : TensorHandle(expand(more, x.shape())); };
  if (c.has_dy(1)) also(along(c.dy(1) / n, rank));
  if (c.has_dy(2)) also((x - along(average, rank)) * along(c.dy(2) * (2 / n), rank));
  return {dx, dweight, dbias};
}

}  // namespace

namespace op {
constinit OpInfo normalise_batch = define<NormaliseBatch, infer, grad, by_moments>(
    {.schema = "normalise_batch(Tensor input, Tensor? weight, Tensor? bias, float eps) -> (Tensor output, Tensor mean, Tensor var)",
        .doc = "Normalises each channel (dimension 1) over the batch, then scales and shifts it: batch_norm in training mode.",
        .autocast = Autocast::full,
        .saves = later_outputs,
        .reads = {{0, 1}, {0}, {0}},
        .torch = "lambda x, w, b, eps: (lambda over: (torch.nn.functional.batch_norm(x, None, None, w, b, True, 0.1, eps), x.mean(over), "
                 "x.var(over, correction=0)))([i for i in range(x.ndim) if i != 1])",
        .example = "pyburn.normalise_batch(pyburn.tensor([[1.], [3.]]), None, None, 0.).output",
        .samples = R"(
t(4, 3), t(3), t(3), 0.01
t(2, 3, 4), t(3), t(3), 0.01
t(2, 3, 2, 4), t(3), None, 0.1
t(2, 3, 12), None, t(3), 0.1
t(5, 4, 3).permute(0, 2, 1), None, None, 0.1
t(1, 3, 4).expand(2, 3, 4), t(3), t(3), 0.01
t(2, 3, 4, dtype=f64), t(3, dtype=f64), None, 0.01
t(2, 3, 40), t(3), t(3), 0.01
t(2, 3, 4), t(4), None, 0.1 ! one element per channel
t(0, 3), None, None, 0.1 ! one element
t(), None, None, 0.1 ! at least 2)"});
constinit OpInfo normalise_batch_backward = define<NormaliseBatch, infer_backward, nullptr, backward_by_moments>(
    {.schema = "normalise_batch_backward(Tensor grad_output, Tensor input, Tensor mean, Tensor var, Tensor? weight, float eps) -> (Tensor "
               "grad_input, Tensor grad_weight, Tensor grad_bias)",
        .doc = "Computes the gradients of normalise_batch.",
        .no_grad = "is differentiated through its decomposition",
        .torch =
            "lambda dy, x, m, v, w, eps: (lambda o, s: (lambda r, n: (lambda h: (lambda dw, db: ((dy - (db / n).reshape(s) - h * (dw / "
            "n).reshape(s)) * (r if w is None else r * w).reshape(s), dw, db))((dy * h).sum(o), dy.sum(o)))((x - m.reshape(s)) * "
            "r.reshape(s)))((v + eps).rsqrt(), x.numel() // x.shape[1]))([i for i in range(x.ndim) if i != 1], [1, -1] + [1] * (x.ndim - "
            "2))",
        .example =
            "pyburn.normalise_batch_backward(pyburn.ones(2, 1), pyburn.ones(2, 1), pyburn.ones(1), pyburn.ones(1), None, 0.).grad_bias",
        .samples = R"(
t(4, 3), t(4, 3), t(3), positive(3), t(3), 0.01
t(2, 3, 4), t(2, 3, 4), t(3), positive(3), None, 0.1
t(2, 3, 12), t(2, 3, 12), t(3), positive(3), t(3), 0.1
t(5, 4, 3).permute(0, 2, 1), t(5, 3, 4), t(3), positive(3), t(3), 0.1
t(1, 3, 4).expand(2, 3, 4), t(2, 3, 4), t(3), positive(3), t(3), 0.1
t(2, 3, 40), t(2, 3, 40), t(3), positive(3), t(3), 0.1
t(2, 3), t(3, 3), t(3), positive(3), None, 0.1 ! like the input
t(0, 3), t(0, 3), t(3), positive(3), None, 0.1 ! one element
t(), t(), t(3), positive(3), None, 0.1 ! at least 2)"});
}  // namespace op

void register_batch_norm(OpTable& table) { table.add({&op::normalise_batch, &op::normalise_batch_backward}); }

}  // namespace pyburn
