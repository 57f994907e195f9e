// Normalisation and softmax.
#include "pyburn/ops/norm.h"

#include "pyburn/ops/copy.h"
#include "pyburn/ops/rules.h"

namespace pyburn {
namespace {

Meta infer(const Softmax& a, Metas in) {
  check_dim(a.dim, in[0].shape.rank());
  require<DTypeError>(is_floating(in[0].dtype), "expected a floating dtype: got {}", in[0].dtype);
  return in[0];
}
OptionalDims axis(const Softmax& a, const TensorHandle& x) { return x.rank() ? OptionalDims(Dims{a.dim}) : std::nullopt; }

Tensor shifted(const Softmax& a, const TensorHandle& x) { return x - amax(x, axis(a, x), true); }
Tensor decompose_softmax(const Softmax& a, Inputs in) {
  if (in[0]->numel() == 0) return clone(*in[0]);
  const Tensor e = exp(shifted(a, *in[0]));
  return e / sum(e, axis(a, e), true);
}
Tensor decompose_log_softmax(const Softmax& a, Inputs in) {
  if (in[0]->numel() == 0) return clone(*in[0]);
  const Tensor s = shifted(a, *in[0]);
  return s - log(sum(exp(s), axis(a, s), true));
}
Grads grad_softmax(const Softmax& a, const GradContext& c) {
  const TensorHandle y = c.output();
  const Tensor g = c.dy() * y;
  return {g - y * sum(g, axis(a, y), true)};
}
Grads grad_log_softmax(const Softmax& a, const GradContext& c) {
  const TensorHandle y = c.output(), &dy = c.dy();
  return {dy - exp(y) * sum(dy, axis(a, y), true)};
}

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
t(2, dtype=i64), 0 ! floating
t(2, 3), 2 ! dim out of range)";

}  // namespace

namespace op {
constinit OpInfo softmax = define<Softmax, infer, grad_softmax, decompose_softmax>({.schema = "softmax(Tensor input, int dim) -> Tensor",
    .doc = "exp(input), scaled to sum to 1 along dim.",
    .saves = outputs,
    .example = "pyburn.softmax(pyburn.tensor([1., 1.]), 0)",
    .samples = kSoftmax});
constinit OpInfo log_softmax =
    define<Softmax, infer, grad_log_softmax, decompose_log_softmax>({.schema = "log_softmax(Tensor input, int dim) -> Tensor",
        .doc = "The logarithm of softmax, computed without overflow.",
        .saves = outputs,
        .example = "pyburn.log_softmax(pyburn.tensor([1., 1.]), 0)",
        .samples = kSoftmax});
}  // namespace op

namespace {
constinit FunctionInfo functions[] = {
    {.schema = "batch_norm(Tensor input, Tensor? running_mean, Tensor? running_var, Tensor? weight=None, Tensor? bias=None, "
               "bool training=False, float momentum=0.1, float eps=1e-05) -> Tensor",
        .doc = "Normalises each channel (axis 1): by the batch's statistics when training, which also moves the running ones, else by the "
               "running ones.",
        .torch = "torch.nn.functional.batch_norm",
        .example = "pyburn.batch_norm(pyburn.ones(2, 3), pyburn.zeros(3), pyburn.ones(3))",
        .samples = R"(
t(4, 3), t(3).constant, positive(3).constant
t(4, 3), t(3).constant, positive(3).constant, t(3), t(3)
t(2, 3, 4, 5), t(3).constant, positive(3).constant, t(3), t(3), True
t(2, 3, 4, 5), t(3).constant, positive(3).constant, t(3), t(3), training=True, momentum=0.3, eps=0.01
t(2, 3, 4), None, None, t(3), bias=t(3), training=True
t(5, 4, 3).permute(0, 2, 1), t(3).constant, positive(3).constant
t(4, 1).expand(4, 3), t(3).constant, positive(3).constant
t(0, 3), t(3).constant, positive(3).constant
t(), t(3).constant, positive(3).constant ! at least 2
t(4, 3), None, None ! running)"},
    {.schema = "mse_loss(Tensor input, Tensor target, str reduction='mean') -> Tensor",
        .doc = "Squared differences; reduction is 'mean', 'sum' or 'none'.",
        .torch = "lambda x, y, reduction='mean': torch.nn.functional.mse_loss(x, y, reduction=reduction)",
        .example = "pyburn.mse_loss(pyburn.zeros(2), pyburn.ones(2))",
        .samples =
            "t(2, 3), t(2, 3)\nt(2, 3), t(2, 3), 'sum'\nt(2, 3), t(2, 3), reduction='none'\nt(), t()\nt(0), t(0)\nt(3, 2).T, t(2, 3)\n"
            "t(2, 1).expand(2, 3), t(2, 3)\nt(2), t(2), 'all' ! reduction"},
    {.schema = "nll_loss(Tensor input, Tensor target, str reduction='mean') -> Tensor",
        .doc = "Minus the log-probability that input (N, C) gives to the class in target.",
        .torch = "lambda x, y, reduction='mean': torch.nn.functional.nll_loss(x, y, reduction=reduction)",
        .example = "pyburn.nll_loss(pyburn.log_softmax(pyburn.zeros(2, 3), 1), pyburn.tensor([0, 2]))",
        .samples = "t(4, 3), index(4, below=3)\nt(4, 3), index(4, below=3), 'sum'\nt(3, 4).T, index(4, below=3), reduction='none'\nt(0, "
                   "3), index(0, below=3)\n"
                   "t(1, 3).expand(4, 3), index(4, below=3)\nt(3), index(below=3)\nt(4, 3), index(3, below=3) ! does not fit"},
    {.schema = "cross_entropy(Tensor input, Tensor target, str reduction='mean') -> Tensor",
        .doc = "nll_loss of log_softmax: input holds unnormalised scores (N, C), target the classes.",
        .torch = "lambda x, y, reduction='mean': torch.nn.functional.cross_entropy(x, y, reduction=reduction)",
        .example = "pyburn.cross_entropy(pyburn.zeros(2, 3), pyburn.tensor([0, 2]))",
        .samples = "t(4, 3), index(4, below=3)\nt(4, 3), index(4, below=3), 'sum'\nt(3, 4).T, index(4, below=3), reduction='none'\nt(0, "
                   "3), index(0, below=3)\n"
                   "t(1, 3).expand(4, 3), index(4, below=3)\nt(3), index(below=3)\nt(4, 3), index(3, below=3) ! does not fit"},
};

Tensor reduced(const Tensor& loss, const std::string& reduction, const char* op) {
  if (reduction == "mean") return mean(loss);
  if (reduction == "sum") return sum(loss);
  require<ValueError>(reduction == "none", "[{}] reduction is 'mean', 'sum' or 'none': got '{}'", op, reduction);
  return loss;
}

// running = (1 - momentum) * running + momentum * value
void move_towards(const TensorHandle& running, const TensorHandle& value, double momentum) {
  add_into(running, mul(running, 1 - momentum), mul(value, momentum));
}
}  // namespace

Tensor batch_norm(const TensorHandle& input, const TensorHandle& running_mean, const TensorHandle& running_var, const TensorHandle& weight,
    const TensorHandle& bias, bool training, double momentum, double eps) {
  require(input.rank() >= 2, "[batch_norm] expected at least 2 axes: got {}", input.shape());
  require<ValueError>(
      training || (running_mean.defined() && running_var.defined()), "[batch_norm] running statistics are needed when not training");
  const int64_t channels = input.shape()[1];
  for (const TensorHandle* t : {&running_mean, &running_var, &weight, &bias})
    if (t->defined())
      require(t->shape() == Shape{channels}, "[batch_norm] expected one number per channel: got {} for {}", t->shape(), input.shape());
  Dims along(input.rank(), 1), over;
  along[1] = channels;
  for (int i = 0; i < input.rank(); ++i)
    if (i != 1) over.push_back(i);
  auto spread = [&](const TensorHandle& t) { return reshape(t, along); };

  Tensor average = running_mean, variance = running_var;
  Tensor centred;
  if (training) {
    const int64_t n = count(input.shape(), over);
    require<ValueError>(n > 1, "[batch_norm] expected more than 1 value per channel when training: got {}", input.shape());
    average = mean(input, over);
    centred = input - spread(average);
    variance = mean(centred * centred, over);
    if (running_mean.defined()) move_towards(running_mean, detach(average), momentum);
    if (running_var.defined()) move_towards(running_var, detach(variance) * (double(n) / double(n - 1)), momentum);
  } else {
    centred = input - spread(average);
  }
  Tensor scale = rsqrt(variance + eps);
  if (weight.defined()) scale = scale * weight;
  Tensor y = centred * spread(scale);
  return bias.defined() ? y + spread(bias) : y;
}

Tensor mse_loss(const TensorHandle& input, const TensorHandle& target, const std::string& reduction) {
  const Tensor d = input - target;
  return reduced(d * d, reduction, "mse_loss");
}
Tensor nll_loss(const TensorHandle& input, const TensorHandle& target, const std::string& reduction) {
  require(input.rank() == target.rank() + 1 && (target.rank() == 0 || input.shape()[0] == target.shape()[0]) && input.rank() <= 2,
      "[nll_loss] target does not fit: got {} for {}", target.shape(), input.shape());
  const Tensor hit = cast(one_hot(target, input.shape().back()), input.dtype());
  return reduced(-sum(input * hit, Dims{-1}), reduction, "nll_loss");
}
Tensor cross_entropy(const TensorHandle& input, const TensorHandle& target, const std::string& reduction) {
  require(input.rank() > 0, "[cross_entropy] expected at least one axis: got rank 0");
  return nll_loss(log_softmax(input, input.rank() - 1), target, reduction);
}

void register_norm(OpTable& table) {
  table.add({&op::softmax, &op::log_softmax});
  table.add(functions);
}

}  // namespace pyburn
