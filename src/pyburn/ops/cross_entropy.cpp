// Cross entropy of scores and classes in one pass: softmax and the logarithm of one element of it.
#include "pyburn/ops/cross_entropy.h"

#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/cross_entropy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/scatter.h"
#include "pyburn/ops/generated/softmax.h"
#include "pyburn/ops/generated/transcendental.h"
#include "pyburn/ops/rules.h"
#include "pyburn/runtime/autocast.h"

namespace pyburn {
namespace {

// Class indices have the shape of the logits without dimension 1, the class dimension.
void check_places(const Shape& x, const Meta& target) {
  const Shape wanted = reduced_shape(x, Dims{1}, false);
  if (target.shape == wanted) return;
  require<DTypeError>(!(target.shape == x), "Expected floating point type for target with class probabilities, got {}", target.dtype);
  const int64_t batch = target.shape.rank() ? target.shape[0] : 0;
  require(batch == x[0], "Expected input batch_size ({}) to match target batch_size ({})", x[0], batch);
  fail("Expected target size {}, got {}", wanted, target.shape);
}
void check(const Meta& x, const Meta& target) {
  require(x.shape.rank() >= 2, "expected logits with a class dimension after the first: got {}", x.shape);
  require<DTypeError>(is_floating(x.dtype), "expected logits of a floating-point dtype: got {}", x.dtype);
  require<DTypeError>(target.dtype == DType::int64, "expected int64 class indices: got {}", target.dtype);
  check_places(x.shape, target);
}
MetaList infer(const ClassLoss&, Metas in) {
  check(in[0], in[1]);
  const Meta result{in[1].shape, in[0].dtype};
  return {result, result};
}
Meta infer_backward(const ClassLoss&, Metas in) {  // dy, x, target, logsumexp
  check(in[1], in[2]);
  for (const Meta* m : {&in[0], &in[3]})
    require(m->shape == in[2].shape && m->dtype == in[1].dtype, "expected one number per class in target: got {}", m->shape);
  return in[1];
}

TensorHandle ignored(const ClassLoss& a, const TensorHandle& target) { return eq(target, a.ignore_index); }
// The classes as an index into x, 0 where they are ignored.
TensorHandle index_of(const ClassLoss& a, const TensorHandle& target) { return unsqueeze(where(ignored(a, target), 0, target), 1); }
TensorHandle as_classes(const TensorHandle& target) {  // bytes are classes, too
  return target.dtype() == DType::uint8 ? TensorHandle(cast(target, DType::int64)) : target;
}

Tensors by_gather(const ClassLoss& a, Inputs in) {
  const TensorHandle &x = *in[0], &target = *in[1];
  const TensorHandle total = logsumexp(x, Dims{1});
  const TensorHandle loss = total - remove_axis(gather(x, 1, index_of(a, target)), 1);
  return {where(ignored(a, target), 0.0, loss), total};
}
TensorHandle backward_by_scatter(const ClassLoss& a, Inputs in) {
  const TensorHandle &dy = *in[0], &x = *in[1], &target = *in[2], &total = *in[3];
  const TensorHandle g = unsqueeze(where(ignored(a, target), 0.0, dy), 1);
  return scatter_add(exp(x - unsqueeze(total, 1)) * g, 1, index_of(a, target), -g);
}
Grads grad(const ClassLoss& a, const GradContext& c) {
  const TensorHandle x = c.input(0);
  TensorHandle dx;
  if (c.has_dy(0)) dx = class_loss_backward(c.dy(0), x, c.input(1), c.output(1), a.ignore_index);
  if (c.has_dy(1)) {
    const TensorHandle more = exp(x - unsqueeze(c.output(1), 1)) * unsqueeze(c.dy(1), 1);
    dx = dx.defined() ? dx + more : more;
  }
  return {dx};
}

}  // namespace

namespace op {
constinit OpInfo class_loss = define<ClassLoss, infer, grad, by_gather>(
    {.schema = "class_loss(Tensor input, Tensor target, int ignore_index=-100) -> (Tensor loss, Tensor logsumexp)",
        .doc = "Computes the negative log-softmax of the logits (N, C, ...) at the target classes, and the log-sum-exp of the logits.",
        .autocast = Autocast::full,
        .saves = inputs | later_outputs,
        .torch = "lambda x, t, ignore_index=-100: (torch.nn.functional.cross_entropy(x, t, reduction='none', ignore_index=ignore_index), "
                 "torch.logsumexp(x, 1))",
        .example = "pyburn.class_loss(pyburn.zeros(2, 3), pyburn.tensor([0, 2])).loss",
        .samples = R"(
t(4, 3), index(4, below=3)
t(4, 3), index(4, below=3), 1
t(2, 3, 4), index(2, 4, below=3)
t(2, 3, 2, 2), index(2, 2, 2, below=3), ignore_index=0
t(3, 4).T, index(4, below=3)
t(1, 3).expand(4, 3), index(4, below=3)
t(0, 3), index(0, below=3)
t(4, 3, dtype=f64), index(4, below=3)
t(4, 3, dtype=f16), index(4, below=3)
t(3, 900), index(3, below=900)
t(), index(below=1) ! class dimension
t(4, 3), index(3, below=3) ! batch_size)"});
constinit OpInfo class_loss_backward = define<ClassLoss, infer_backward, nullptr, backward_by_scatter>(
    {.schema = "class_loss_backward(Tensor grad_output, Tensor input, Tensor target, Tensor logsumexp, int ignore_index=-100) -> Tensor",
        .doc = "Computes the gradient of class_loss with respect to the logits.",
        .key = 1,
        .no_grad = "is differentiated through its decomposition",
        .torch = "lambda dy, x, t, l, ignore_index=-100: (torch.exp(x - l.unsqueeze(1)) - torch.nn.functional.one_hot(t, "
                 "x.shape[1]).movedim(-1, 1).to(x.dtype)) * (dy * (t != ignore_index)).unsqueeze(1)",
        .example = "pyburn.class_loss_backward(pyburn.ones(1), pyburn.zeros(1, 2), pyburn.tensor([1]), pyburn.tensor([0.6931]))",
        .samples = R"(
t(4), t(4, 3), index(4, below=3), t(4)
t(4), t(4, 3), index(4, below=3), t(4), 1
t(2, 4), t(2, 3, 4), index(2, 4, below=3), t(2, 4)
t(4), t(3, 4).T, index(4, below=3), t(4)
t(1).expand(4), t(4, 3), index(4, below=3), t(4)
t(0), t(0, 3), index(0, below=3), t(0)
t(4, dtype=f16), t(4, 3, dtype=f16), index(4, below=3), t(4, dtype=f16), ignore_index=2
t(), t(), index(below=1), t() ! class dimension
t(4), t(4, 3), index(3, below=3), t(4) ! batch_size)"});
}  // namespace op

namespace {
constexpr const char* kClasses = R"(
t(4, 3), index(4, below=3)
t(4, 3), index(4, below=3), positive(3).constant
t(4, 3), index(4, below=3), positive(3).constant, 1, 'sum'
t(4, 3), index(4, below=3), ignore_index=2
t(3, 4).T, index(4, below=3), reduction='none'
t(2, 3, 4), index(2, 4, below=3), positive(3).constant, reduction='none'
t(2, 3, 2, 2), index(2, 2, 2, below=3)
t(3), index(below=3)
t(3), index(below=3), reduction='sum'
t(1, 3).expand(4, 3), index(4, below=3)
t(0, 3), index(0, below=3), reduction='sum'
t(4, 3), index(4, below=3), reduction='all' ! reduction
t(4, 3), index(3, below=3) ! batch_size)";
constinit FunctionInfo functions[] = {
    {.schema = "nll_loss(Tensor input, Tensor target, Tensor? weight=None, int ignore_index=-100, str reduction='mean') -> Tensor",
        .doc =
            "Computes the negative log-likelihood loss of log-probabilities (N, C, ...) and target classes, optionally weighted per class.",
        .torch = "lambda x, y, weight=None, ignore_index=-100, reduction='mean': torch.nn.functional.nll_loss(x, y, weight, "
                 "ignore_index=ignore_index, reduction=reduction)",
        .example = "pyburn.nll_loss(pyburn.log_softmax(pyburn.zeros(2, 3), 1), pyburn.tensor([0, 2]))",
        .samples = kClasses},
    {.schema = "cross_entropy(Tensor input, Tensor target, Tensor? weight=None, int ignore_index=-100, str reduction='mean', float "
               "label_smoothing=0.0) -> Tensor",
        .doc = "Computes the cross-entropy loss of logits (N, C, ...) and target classes, or class probabilities of the shape of input.",
        .torch = "lambda x, y, weight=None, ignore_index=-100, reduction='mean', label_smoothing=0.0: torch.nn.functional.cross_entropy(x, "
                 "y, weight, ignore_index=ignore_index, reduction=reduction, label_smoothing=label_smoothing)",
        .example = "pyburn.cross_entropy(pyburn.zeros(2, 3), pyburn.tensor([0, 2]))",
        .samples = R"(
t(4, 3), index(4, below=3)
t(4, 3), index(4, below=3), positive(3).constant
t(4, 3), index(4, below=3), positive(3).constant, 1, 'sum'
t(4, 3), index(4, below=3), ignore_index=2
t(4, 3), index(4, below=3), label_smoothing=0.1
t(2, 3, 4), index(2, 4, below=3), positive(3).constant, 1, label_smoothing=0.1
t(3, 4).T, index(4, below=3), reduction='none'
t(4, 3), index(4, below=3), positive(3).constant, reduction='none', label_smoothing=0.2
t(2, 3, 4), index(2, 4, below=3), positive(3).constant, reduction='none'
t(4, 3), positive(4, 3)
t(2, 3, 4), positive(2, 3, 4), positive(3).constant, reduction='sum'
t(2, 3, 4), positive(2, 3, 4), reduction='none', label_smoothing=0.1
t(3), index(below=3)
t(3), positive(3)
t(1, 3).expand(4, 3), index(4, below=3)
t(0, 3), index(0, below=3), reduction='sum'
t(4, 3), index(4, below=3), reduction='all' ! reduction
t(4, 3), index(4, below=3), label_smoothing=2.0 ! label_smoothing
t(4, 3), tensor([0, 1, 3, 0]) ! out of
t() , index(below=3) ! dimension
t(4, 3), index(3, below=3) ! batch_size)"},
};

// Sums and means of a loss per class: the mean is weighted.
TensorHandle weighted_loss(
    const ClassLoss& a, TensorHandle loss, const TensorHandle& target, const TensorHandle& weight, const std::string& reduction) {
  const bool by_mean = reduction == "mean";
  if (!weight.defined()) {
    if (!by_mean) return reduced_loss(loss, reduction);
    return sum(loss) / sum(ne(target, a.ignore_index));
  }
  const TensorHandle skipped = ignored(a, target);
  const TensorHandle flat = reshape(where(skipped, 0, target), Dims{-1});
  const TensorHandle weights = where(skipped, 0.0, reshape(index_select(weight, 0, flat), target.shape()));
  loss = loss * weights;
  return by_mean ? sum(loss) / sum(weights) : TensorHandle(reduced_loss(loss, reduction));
}
void check_loss(const TensorHandle& input, const TensorHandle& weight, const std::string& reduction) {
  require<ValueError>(
      reduction == "mean" || reduction == "sum" || reduction == "none", "reduction must be 'mean', 'sum' or 'none': got '{}'", reduction);
  require(input.rank() > 0, "expected a class dimension: got rank 0");
  const int64_t classes = input.shape()[input.rank() > 1 ? 1 : 0];
  if (weight.defined())
    require(weight.shape() == Shape{classes}, "weight tensor should be defined either for all {} classes or no classes: got {}", classes,
        weight.shape());
}
void check_weight_dtype(const TensorHandle& input, const TensorHandle& weight) {
  if (weight.defined() && !autocast_active())
    require<DTypeError>(weight.dtype() == input.dtype(), "weight: expected scalar type {} but found {}", input.dtype(), weight.dtype());
}
TensorHandle batched(const TensorHandle& t, bool single) { return single ? unsqueeze(t, 0) : TensorHandle(t); }
// Of one example that came without an axis for examples.
TensorHandle unbatched(const TensorHandle& loss, bool single) { return single && loss.rank() > 0 ? remove_axis(loss, 0) : loss; }
}  // namespace

TensorHandle reduced_loss(const TensorHandle& loss, const std::string& reduction) {
  if (reduction == "mean") return mean(loss);
  if (reduction == "sum") return sum(loss);
  require<ValueError>(reduction == "none", "reduction must be 'mean', 'sum' or 'none': got '{}'", reduction);
  return loss;
}

TensorHandle fn::nll_loss(
    const TensorHandle& input, const TensorHandle& target, const TensorHandle& weight, int64_t ignore_index, const std::string& reduction) {
  check_loss(input, weight, reduction);
  check_weight_dtype(input, weight);
  const bool single = input.rank() == 1;
  const TensorHandle x = batched(input, single), classes = batched(as_classes(target), single);
  require<DTypeError>(is_integral(target.dtype()), "expected class indices of an integer dtype: got {}", target.dtype());
  check_places(x.shape(), classes.meta());
  const ClassLoss a{ignore_index};
  const TensorHandle picked = remove_axis(gather(x, 1, index_of(a, classes)), 1);
  const TensorHandle loss = where(ignored(a, classes), 0.0, -picked);
  return unbatched(weighted_loss(a, loss, classes, weight, reduction), single);
}

TensorHandle fn::cross_entropy(const TensorHandle& input, const TensorHandle& target, const TensorHandle& weight, int64_t ignore_index,
    const std::string& reduction, double label_smoothing) {
  check_loss(input, weight, reduction);
  require<ValueError>(
      label_smoothing >= 0 && label_smoothing <= 1, "label_smoothing must be between 0.0 and 1.0. Got: {}", label_smoothing);
  const bool single = input.rank() == 1;
  const TensorHandle x = batched(input, single), classes = batched(as_classes(target), single);
  const double n = double(x.shape()[1]);
  Dims along(x.rank(), 1);
  along[1] = x.shape()[1];
  auto by_class = [&](const TensorHandle& t) { return weight.defined() ? t * reshape(weight, along) : t; };
  if (is_floating(target.dtype())) {  // probabilities
    require<DTypeError>(!(classes.shape() == reduced_shape(x.shape(), Dims{1}, false)),
        "expected target dtype to be Long or Byte, but got {}", target.dtype());
    require(classes.rank() != x.rank() || classes.shape()[0] == x.shape()[0],
        "Expected input batch_size ({}) to match target batch_size ({})", x.shape()[0], classes.shape()[0]);
    require(classes.shape() == x.shape(), "input and target do not match: got target {} for input {}", target.shape(), input.shape());
    require(ignore_index < 0, "ignore_index is not supported for floating point target: got {}", ignore_index);
    const TensorHandle smooth = label_smoothing > 0 ? classes * (1 - label_smoothing) + label_smoothing / n : classes;
    const TensorHandle loss = -sum(by_class(log_softmax(x, 1)) * smooth, Dims{1});
    if (reduction == "mean") return sum(loss) / double(loss.numel());
    return unbatched(reduced_loss(loss, reduction), single);
  }
  check_weight_dtype(input, weight);
  const ClassLoss a{ignore_index};
  const auto [loss, total] = class_loss(x, classes, ignore_index);
  const TensorHandle exact = weighted_loss(a, loss, classes, weight, reduction);
  if (label_smoothing == 0) return unbatched(exact, single);
  const TensorHandle skipped = ignored(a, classes);
  const TensorHandle every = where(skipped, 0.0, -sum(by_class(x - unsqueeze(total, 1)), Dims{1}));
  TensorHandle smooth = every;
  if (reduction == "mean") {  // over the same weights as the exact part
    const TensorHandle ones = where(skipped, 0.0, 1.0 + zeros_like(total));
    smooth = sum(every) / sum(weighted_loss(a, ones, classes, weight, "none"));
  } else {
    smooth = reduced_loss(every, reduction);
  }
  return unbatched(exact * (1 - label_smoothing) + smooth * (label_smoothing / n), single);
}

void register_cross_entropy(OpTable& table) {
  table.add({&op::class_loss, &op::class_loss_backward});
  table.add(functions);
}

}  // namespace pyburn
