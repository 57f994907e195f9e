// Losses of two tensors of one shape, and distances. Written in public operations: fusion makes one pass of them.
#include "pyburn/ops/generated/loss.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "pyburn/ops/cross_entropy.h"
#include "pyburn/ops/generated/activation.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/cdist.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/logic.h"
#include "pyburn/ops/generated/matmul.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/pointwise.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/transcendental.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/generated/vector_norm.h"
#include "pyburn/ops/rules.h"
#include "pyburn/ops/value_checks.h"
#include "pyburn/runtime/autocast.h"
#include "pyburn/support/log.h"

namespace pyburn {
namespace {

constexpr const char* kWeighted = R"(
t(2, 3), t(2, 3)
t(2, 3), t(2, 3), 'sum'
t(2, 3), t(2, 3), reduction='none'
t(2, 3), t(2, 3), 'mean', positive(2, 3).constant
t(2, 3), t(2, 3), 'none', weight=positive(2, 3).constant
t(), t()
t(0), t(0)
t(3, 2).T, t(2, 3)
t(2, 1).expand(2, 3), t(2, 3)
t(2), t(2), 'all' ! reduction)";

constinit FunctionInfo functions[] = {
    {.schema = "mse_loss(Tensor input, Tensor target, str reduction='mean', Tensor? weight=None) -> Tensor",
        .doc = "Computes the mean squared error loss.",
        .torch = "lambda x, y, reduction='mean', weight=None: torch.nn.functional.mse_loss(x, y, reduction=reduction, weight=weight)",
        .example = "pyburn.mse_loss(pyburn.zeros(2), pyburn.ones(2))",
        .samples = kWeighted},
    {.schema = "l1_loss(Tensor input, Tensor target, str reduction='mean', Tensor? weight=None) -> Tensor",
        .doc = "Computes the mean absolute error loss.",
        .torch = "lambda x, y, reduction='mean', weight=None: torch.nn.functional.l1_loss(x, y, reduction=reduction, weight=weight)",
        .example = "pyburn.l1_loss(pyburn.zeros(2), pyburn.ones(2))",
        .samples = kWeighted},
    {.schema = "smooth_l1_loss(Tensor input, Tensor target, str reduction='mean', float beta=1.0) -> Tensor",
        .doc = "Computes the smooth L1 loss: squared differences / (2 * beta) below beta, absolute differences - beta / 2 above.",
        .torch = "lambda x, y, reduction='mean', beta=1.0: torch.nn.functional.smooth_l1_loss(x, y, reduction=reduction, beta=beta)",
        .example = "pyburn.smooth_l1_loss(pyburn.zeros(2), pyburn.ones(2))",
        .samples = R"(
t(2, 3), t(2, 3)
t(2, 3), t(2, 3), 'sum', 0.5
t(2, 3), t(2, 3), reduction='none', beta=0.0
t(), t()
t(0), t(0)
t(3, 2).T, t(2, 3)
t(2, 1).expand(2, 3), t(2, 3)
t(2), t(2), beta=-1.0 ! beta
t(2), t(2), 'all' ! reduction)"},
    {.schema = "huber_loss(Tensor input, Tensor target, str reduction='mean', float delta=1.0, Tensor? weight=None) -> Tensor",
        .doc = "Computes the Huber loss: half the squared differences below delta, linear above.",
        .torch = "lambda x, y, reduction='mean', delta=1.0, weight=None: torch.nn.functional.huber_loss(x, y, reduction, delta, weight)",
        .example = "pyburn.huber_loss(pyburn.zeros(2), pyburn.ones(2))",
        .samples = R"(
t(2, 3), t(2, 3)
t(2, 3), t(2, 3), 'sum', 0.5
t(2, 3), t(2, 3), reduction='none', delta=2.0
t(2, 3), t(2, 3), 'mean', 1.0, positive(2, 3).constant
t(), t()
t(0), t(0)
t(3, 2).T, t(2, 3)
t(2, 1).expand(2, 3), t(2, 3)
t(2), t(2), delta=0.0 ! delta
t(2), t(2), 'all' ! reduction)"},
    {.schema = "binary_cross_entropy(Tensor input, Tensor target, Tensor? weight=None, str reduction='mean') -> Tensor",
        .doc = "Computes the binary cross-entropy of probabilities and targets in [0, 1].",
        .torch = "lambda x, y, weight=None, reduction='mean': torch.nn.functional.binary_cross_entropy(x, y, weight, reduction=reduction)",
        .example = "pyburn.binary_cross_entropy(pyburn.tensor([0.5]), pyburn.tensor([1.]))",
        .samples = R"(
tensor([[0.25, 0.5], [0.75, 0.125]]), tensor([[1., 0.], [0.5, 1.]])
tensor([0.25, 0.5, 1., 0.]).constant, tensor([1., 0., 1., 1.]).constant, positive(4).constant, 'none'
tensor([0.25, 0.5, 0.875]), tensor([1., 0., 1.]), reduction='sum'
tensor(0.25), tensor(1.)
tensor([[0.25, 0.5], [0.75, 0.125]]).T, tensor([[1., 0.], [0.5, 1.]])
tensor([[0.25], [0.75]]).expand(2, 2), tensor([[1., 0.], [0.5, 1.]])
t(0), t(0)
positive(2), positive(3) ! target size
tensor(0.25), tensor(1.), reduction='all' ! reduction
tensor([0.5, 1.5]), tensor([0., 1.]) ! between 0 and 1)"},
    {.schema = "binary_cross_entropy_with_logits(Tensor input, Tensor target, Tensor? weight=None, str reduction='mean', Tensor? "
               "pos_weight=None) -> Tensor",
        .doc = "Computes the binary cross-entropy of logits and targets in [0, 1] in a numerically stable way.",
        .torch = "lambda x, y, weight=None, reduction='mean', pos_weight=None: "
                 "torch.nn.functional.binary_cross_entropy_with_logits(x, y, weight, reduction=reduction, pos_weight=pos_weight)",
        .example = "pyburn.binary_cross_entropy_with_logits(pyburn.zeros(1), pyburn.ones(1))",
        .samples = R"(
t(2, 3), positive(2, 3)
t(2, 3), positive(2, 3), positive(2, 3).constant
t(2, 3), positive(2, 3), reduction='sum', pos_weight=positive(3).constant
t(2, 3), positive(2, 3), reduction='none'
t(), positive()
t(0), t(0)
t(3, 2).T, positive(2, 3)
t(2, 1).expand(2, 3), positive(2, 3)
tensor([100., -100.]), tensor([0., 1.]), reduction='none'
t(2), t(3) ! target size
t(2), t(2), reduction='all' ! reduction)"},
    {.schema = "kl_div(Tensor input, Tensor target, str reduction='mean', bool log_target=False) -> Tensor",
        .doc = "Computes the Kullback-Leibler divergence loss of log-probabilities input and probabilities target.",
        .torch =
            "lambda x, y, reduction='mean', log_target=False: torch.nn.functional.kl_div(x, y, reduction=reduction, log_target=log_target)",
        .example = "pyburn.kl_div(pyburn.zeros(1), pyburn.ones(1))",
        .samples = R"(
t(2, 3), positive(2, 3)
t(2, 3), positive(2, 3), 'sum'
t(2, 3), positive(2, 3), 'batchmean'
t(2, 3), t(2, 3), reduction='none', log_target=True
t(), positive()
t(0), t(0)
t(3, 2).T, positive(2, 3)
t(2, 1).expand(2, 3), positive(2, 3)
t(2), tensor([0., 1.]).constant, 'none'
t(2), t(2), 'all' ! reduction)"},
    {.schema =
            "poisson_nll_loss(Tensor input, Tensor target, bool log_input=True, bool full=False, float eps=1e-08, str reduction='mean') -> "
            "Tensor",
        .doc = "Computes the negative log-likelihood of target under Poisson distributions with rates (or log-rates) input.",
        .torch =
            "lambda x, y, log_input=True, full=False, eps=1e-08, reduction='mean': torch.nn.functional.poisson_nll_loss(x, y, log_input, "
            "full, eps=eps, reduction=reduction)",
        .example = "pyburn.poisson_nll_loss(pyburn.zeros(1), pyburn.ones(1))",
        .samples = R"(
t(2, 3), positive(2, 3)
positive(2, 3), positive(2, 3), False, False, 0.01, 'sum'
t(2, 3), positive(2, 3).constant, full=True, reduction='none'
t(), positive()
t(0), t(0)
t(3, 2).T, positive(2, 3)
t(2, 1).expand(2, 3), positive(2, 3)
t(2), t(2), reduction='all' ! reduction)"},
    {.schema =
            "gaussian_nll_loss(Tensor input, Tensor target, Tensor var, bool full=False, float eps=1e-06, str reduction='mean') -> Tensor",
        .doc = "Computes the negative log-likelihood of target under normal distributions with means input and variances var.",
        .torch = "torch.nn.functional.gaussian_nll_loss",
        .example = "pyburn.gaussian_nll_loss(pyburn.zeros(1), pyburn.ones(1), pyburn.ones(1))",
        .samples = R"(
t(2, 3), t(2, 3), positive(2, 3)
t(2, 3), t(2, 3), positive(2, 1), True
t(2, 3), t(2, 3), positive(1, 3)
t(2, 3), t(2, 3), positive(2), eps=0.5, reduction='sum'
t(2, 3), t(2, 3), positive(2, 3), reduction='none'
t(), t(), positive()
t(0, 3), t(0, 3), t(0, 3)
t(3, 2).T, t(2, 3), positive(2, 3)
t(2, 1).expand(2, 3), t(2, 3), positive(2, 3)
t(2, 3), t(2, 3), positive(4) ! var
t(2), t(2), positive(2), reduction='all' ! reduction)"},
    {.schema = "hinge_embedding_loss(Tensor input, Tensor target, float margin=1.0, str reduction='mean') -> Tensor",
        .doc = "Computes the hinge embedding loss: input where target is 1, max(0, margin - input) where target is -1.",
        .torch = "lambda x, y, margin=1.0, reduction='mean': torch.nn.functional.hinge_embedding_loss(x, y, margin, reduction=reduction)",
        .example = "pyburn.hinge_embedding_loss(pyburn.tensor([0.5, 0.5]), pyburn.tensor([1., -1.]))",
        .samples = R"(
t(4), tensor([1., -1., 1., -1.])
t(4), tensor([1., -1., 1., -1.]), 2.0
t(4), tensor([1., -1., 1., -1.]), reduction='sum'
t(2, 2).T, tensor([[1., -1.], [1., -1.]]), reduction='none'
t(2, 1).expand(2, 2), tensor([[1., -1.], [1., -1.]])
t(), tensor(1.)
t(0), t(0)
t(2), t(2), reduction='all' ! reduction)"},
    {.schema = "margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0, str reduction='mean') -> Tensor",
        .doc = "Computes the margin ranking loss max(0, -target * (input1 - input2) + margin) for targets 1 and -1.",
        .torch =
            "lambda a, b, y, margin=0, reduction='mean': torch.nn.functional.margin_ranking_loss(a, b, y, margin, reduction=reduction)",
        .example = "pyburn.margin_ranking_loss(pyburn.ones(1), pyburn.zeros(1), pyburn.tensor([-1.]))",
        .samples = R"(
t(4), t(4), tensor([1., -1., 1., -1.])
t(4), t(4), tensor([1., -1., 1., -1.]), 0.5
t(4), t(4), tensor([1., -1., 1., -1.]), reduction='sum'
t(2, 2).T, t(2, 2), tensor([[1., -1.], [1., -1.]]), reduction='none'
t(2, 1).expand(2, 2), t(2, 2), tensor([[1., -1.], [1., -1.]])
t(), t(), tensor(1.)
t(0), t(0), t(0)
t(2), t(2), t(2), reduction='all' ! reduction)"},
    {.schema = "cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0, str reduction='mean') -> Tensor",
        .doc = "Computes the cosine embedding loss: 1 - cos(input1, input2) where target is 1, max(0, cos(input1, input2) - margin) where "
               "it is -1.",
        .torch =
            "lambda a, b, y, margin=0, reduction='mean': torch.nn.functional.cosine_embedding_loss(a, b, y, margin, reduction=reduction)",
        .example = "pyburn.cosine_embedding_loss(pyburn.ones(1, 2), pyburn.ones(1, 2), pyburn.tensor([1.]))",
        .samples = R"(
t(4, 3), t(4, 3), tensor([1., -1., 1., -1.])
t(4, 3), t(4, 3), tensor([1., -1., 1., -1.]), 0.1
t(4, 3), t(4, 3), tensor([1., -1., 1., -1.]), reduction='sum'
t(3, 2).T, t(2, 3), tensor([1., -1.]), reduction='none'
t(1, 3).expand(2, 3), t(2, 3), tensor([1., -1.])
t(3), t(3), tensor(1.)
t(0, 3), t(0, 3), t(0)
t(2, 3), t(2, 3), t() ! target
t(2, 3), t(2, 3), t(2), reduction='all' ! reduction)"},
    {.schema = "triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2, float eps=1e-06, bool "
               "swap=False, str reduction='mean') -> Tensor",
        .doc = "Computes the triplet margin loss max(0, d(anchor, positive) - d(anchor, negative) + margin).",
        .torch =
            "lambda a, b, c, margin=1.0, p=2, eps=1e-06, swap=False, reduction='mean': torch.nn.functional.triplet_margin_loss(a, b, c, "
            "margin, p, eps, swap, reduction=reduction)",
        .example = "pyburn.triplet_margin_loss(pyburn.zeros(1, 2), pyburn.ones(1, 2), pyburn.ones(1, 2))",
        .samples = R"(
t(4, 3), t(4, 3), t(4, 3)
t(4, 3), t(4, 3), t(4, 3), 0.5, 3, 0.01
t(4, 3), t(4, 3), t(4, 3), swap=True, reduction='sum'
t(3, 2).T, t(2, 3), t(2, 3), reduction='none'
t(1, 3).expand(2, 3), t(2, 3), t(2, 3)
t(3), t(3), t(3)
t(0, 3), t(0, 3), t(0, 3)
t(), t(), t() ! dimension
t(2, 3), t(2, 3), t(2, 3), margin=-1.0 ! margin
t(2, 3), t(2, 3), t(2, 3), reduction='all' ! reduction)"},
    {.schema = "soft_margin_loss(Tensor input, Tensor target, str reduction='mean') -> Tensor",
        .doc = "Computes the soft margin loss log(1 + exp(-target * input)) for targets 1 and -1.",
        .torch = "lambda x, y, reduction='mean': torch.nn.functional.soft_margin_loss(x, y, reduction=reduction)",
        .example = "pyburn.soft_margin_loss(pyburn.zeros(1), pyburn.ones(1))",
        .samples = R"(
t(4), tensor([1., -1., 1., -1.]).constant
t(4), tensor([1., -1., 1., -1.]).constant, 'sum'
t(2, 2).T, tensor([[1., -1.], [1., -1.]]).constant, reduction='none'
t(2, 1).expand(2, 2), tensor([[1., -1.], [1., -1.]]).constant
t(), tensor(1.).constant
t(0), t(0).constant
t(2), t(2), reduction='all' ! reduction)"},
    {.schema = "cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor",
        .doc = "Computes the cosine similarity of x1 and x2 along dim.",
        .example = "pyburn.cosine_similarity(pyburn.ones(1, 2), pyburn.ones(1, 2))",
        .samples = R"(
t(2, 3), t(2, 3)
t(2, 3), t(3), 0
t(2, 3), t(2, 3), dim=-1, eps=0.1
t(), t(), 0
t(0, 3), t(0, 3)
t(3, 2).T, t(2, 3)
t(1, 3).expand(2, 3), t(2, 3)
t(2, 3), t(2, 3), 2 ! dim out of range)"},
    {.schema = "pairwise_distance(Tensor x1, Tensor x2, float p=2.0, float eps=1e-06, bool keepdim=False) -> Tensor",
        .doc = "Computes the p-norm of x1 - x2 + eps over the last dimension.",
        .torch = "torch.nn.functional.pairwise_distance",
        .example = "pyburn.pairwise_distance(pyburn.zeros(1, 4), pyburn.ones(1, 4))",
        .samples = R"(
t(2, 3), t(2, 3)
t(2, 3), t(3), 1.0
t(2, 3), t(2, 3), 3.0, 0.1, True
t(3), t(3)
t(0, 3), t(0, 3)
t(3, 2).T, t(2, 3)
t(1, 3).expand(2, 3), t(2, 3)
t(), t() ! dimension
t(2, 3), t(2, 4) ! shapes do not broadcast)"},
    {.schema = "cdist(Tensor x1, Tensor x2, float p=2.0, str compute_mode='use_mm_for_euclid_dist_if_necessary') -> Tensor",
        .doc = "Computes the p-norm distance of each pair of rows of x1 (..., P, M) and x2 (..., R, M), giving (..., P, R).",
        .example = "pyburn.cdist(pyburn.zeros(1, 4), pyburn.ones(2, 4))",
        .samples = R"(
t(2, 3), t(4, 3)
t(2, 3), t(4, 3), 1.0
t(2, 2, 3), t(2, 4, 3), 3.0
t(2, 3), t(4, 3), inf
t(2, 3), t(4, 3), compute_mode='donot_use_mm_for_euclid_dist'
t(0, 3), t(4, 3)
t(3, 2).T, t(4, 3)
t(1, 3).expand(2, 3), t(4, 3)
t(), t(3) ! at least 2
t(2, 3), t(4, 3), compute_mode='fast' ! compute_mode
t(2, 3), t(4, 2) ! columns)"},
};

// The weighted mean divides by the weights.
TensorHandle weighted(const TensorHandle& loss, const TensorHandle& weight, const std::string& reduction) {
  if (!weight.defined()) return reduced_loss(loss, reduction);
  const TensorHandle scaled = loss * weight;
  return reduction == "mean" ? sum(scaled) / sum(weight) : TensorHandle(reduced_loss(scaled, reduction));
}
void check_shapes(const TensorHandle& input, const TensorHandle& target) {
  require(input.shape() == target.shape(), "Using a target size ({}) that is different to the input size ({}) is not allowed",
      target.shape(), input.shape());
}
TensorHandle log_of_exp_plus_one(const TensorHandle& x) { return -logsigmoid(-(is_floating(x.dtype()) ? x : cast(x, default_dtype()))); }
// A logarithm that stops at -100, so that losses stay finite. Where x is 0 no gradient flows: that of log would be 0 / 0.
TensorHandle stopped_log(const TensorHandle& x) {
  if (!x.requires_grad()) return maximum(log(x), -100.0);
  const TensorHandle nothing = eq(x, 0.0);
  return where(nothing, Operand(-100.0), maximum(log(where(nothing, Operand(1.0), x)), -100.0));
}
// (N, 1) and (N,) broadcast to (N, N), which is rarely intended.
void check_broadcast(const TensorHandle& input, const TensorHandle& target) {
  const Shape &x = input.shape(), &y = target.shape();
  for (int i = 1; i <= std::min(x.rank(), y.rank()); ++i) {
    const int64_t a = x[x.rank() - i], b = y[y.rank() - i];
    require(a == b || a == 1 || b == 1, "the shapes of input and target do not match: got {} and {}", x, y);
  }
  if (!(x == y))
    warn(
        format("Using a target size ({}) that is different to the input size ({}). This will likely lead to incorrect results due to "
               "broadcasting. Please ensure they have the same size.",
            y, x));
}

// Zero where x is: 0 log 0 is 0.
TensorHandle x_log_x(const TensorHandle& x) {
  const TensorHandle zero = eq(x, 0);
  return where(zero, 0.0, x * log(where(zero, 1.0, x)));
}

}  // namespace

TensorHandle fn::mse_loss(const TensorHandle& input, const TensorHandle& target, const std::string& reduction, const TensorHandle& weight) {
  check_broadcast(input, target);
  const TensorHandle d = widened(input) - target;
  return weighted(d * d, weight, reduction);
}
TensorHandle fn::l1_loss(const TensorHandle& input, const TensorHandle& target, const std::string& reduction, const TensorHandle& weight) {
  check_broadcast(input, target);
  return weighted(abs(widened(input) - target), weight, reduction);
}
TensorHandle fn::smooth_l1_loss(const TensorHandle& input, const TensorHandle& target, const std::string& reduction, double beta) {
  require<ValueError>(beta >= 0, "expected beta of at least 0: got {}", beta);
  if (beta == 0) return l1_loss(input, target, reduction);
  check_broadcast(input, target);
  const TensorHandle d = abs(widened(input) - target);
  return reduced_loss(where(lt(d, beta), d * d * (0.5 / beta), d - 0.5 * beta), reduction);
}
TensorHandle fn::huber_loss(
    const TensorHandle& input, const TensorHandle& target, const std::string& reduction, double delta, const TensorHandle& weight) {
  check_broadcast(input, target);
  require<ValueError>(delta > 0, "expected delta greater than 0: got {}", delta);
  const TensorHandle d = abs(widened(input) - target);
  const TensorHandle loss = where(le(d, delta), d * d * 0.5, (d - 0.5 * delta) * delta);
  return reduced_loss(weight.defined() ? loss * weight : loss, reduction);
}
TensorHandle fn::binary_cross_entropy(
    const TensorHandle& input, const TensorHandle& target, const TensorHandle& weight, const std::string& reduction) {
  check_shapes(input, target);
  const TensorHandle p = detach(input);
  require<ValueError>(holds_everywhere(logical_and(ge(p, 0), le(p, 1))), "all elements of input should be between 0 and 1");
  const TensorHandle loss = -(target * stopped_log(input) + (1.0 - target) * stopped_log(1.0 - widened(input)));
  return reduced_loss(weight.defined() ? loss * weight : loss, reduction);
}
TensorHandle fn::binary_cross_entropy_with_logits(const TensorHandle& input, const TensorHandle& target, const TensorHandle& weight,
    const std::string& reduction, const TensorHandle& pos_weight) {
  check_shapes(input, target);
  const TensorHandle miss = log_of_exp_plus_one(-input);
  const TensorHandle loss = (1.0 - target) * widened(input) + (pos_weight.defined() ? ((pos_weight - 1.0) * target + 1.0) * miss : miss);
  return reduced_loss(weight.defined() ? loss * weight : loss, reduction);
}
TensorHandle fn::kl_div(const TensorHandle& input, const TensorHandle& target, const std::string& reduction, bool log_target) {
  const TensorHandle loss = log_target ? exp(target) * (target - widened(input)) : x_log_x(target) - target * widened(input);
  if (reduction == "batchmean") return sum(loss) / double(input.rank() ? input.shape()[0] : 1);
  return reduced_loss(loss, reduction);
}
TensorHandle fn::poisson_nll_loss(
    const TensorHandle& input, const TensorHandle& target, bool log_input, bool full, double eps, const std::string& reduction) {
  TensorHandle loss = log_input ? exp(input) - target * widened(input) : input - target * log(widened(input) + eps);
  if (full) {  // Stirling's approximation of log(target!)
    const TensorHandle t = where(gt(target, 1), target, 1.0);
    loss = loss + where(gt(target, 1), t * log(t) - t + log(t * (2 * std::numbers::pi)) * 0.5, 0.0);
  }
  return reduced_loss(loss, reduction);
}
TensorHandle fn::gaussian_nll_loss(
    const TensorHandle& input, const TensorHandle& target, const TensorHandle& var, bool full, double eps, const std::string& reduction) {
  TensorHandle variance = var;
  if (!(var.shape() == input.shape())) {
    if (var.rank() + 1 == input.rank()) variance = unsqueeze(var, -1);
    int64_t shared = 0, different = 0;  // one variance for all elements along an axis
    for (int i = 0; variance.rank() == input.rank() && i < input.rank(); ++i) {
      shared += variance.shape()[i] == 1 && input.shape()[i] != 1;
      different += variance.shape()[i] != input.shape()[i];
    }
    require(variance.rank() == input.rank() && shared == different && shared <= 1, "var is of incorrect size: got {} for {}", var.shape(),
        input.shape());
  }
  require<ValueError>(holds_everywhere(ge(detach(variance), 0)), "var has negative entry/entries");
  // Held above eps; the gradient passes as if it were not, as in PyTorch.
  variance = variance + detach(maximum(variance, eps) - variance);
  const TensorHandle d = widened(input) - target;
  TensorHandle loss = (log(variance) + d * d / variance) * 0.5;
  if (full) loss = loss + 0.5 * std::log(2 * std::numbers::pi);
  return reduced_loss(loss, reduction);
}
TensorHandle fn::hinge_embedding_loss(const TensorHandle& input, const TensorHandle& target, double margin, const std::string& reduction) {
  return reduced_loss(
      where(eq(target, 1), 0.0, clamp_min(margin - widened(input), 0)) + where(eq(target, -1), 0.0, widened(input)), reduction);
}
TensorHandle fn::margin_ranking_loss(
    const TensorHandle& input1, const TensorHandle& input2, const TensorHandle& target, double margin, const std::string& reduction) {
  return reduced_loss(clamp_min(-target * (widened(input1) - input2) + margin, 0), reduction);
}
TensorHandle fn::cosine_embedding_loss(
    const TensorHandle& input1, const TensorHandle& input2, const TensorHandle& target, double margin, const std::string& reduction) {
  require(target.rank() <= 1 && input1.rank() == target.rank() + 1 && input1.rank() == input2.rank(),
      "{}D target tensor expected, which expects {}D input tensors: got {}, {} and target {}", std::min<int64_t>(target.rank(), 1),
      std::min<int64_t>(target.rank(), 1) + 1, input1.shape(), input2.shape(), target.shape());
  for (int i = 0; i < input1.rank(); ++i)
    require(input1.shape()[i] == input2.shape()[i] || input1.shape()[i] == 1 || input2.shape()[i] == 1,
        "the size of input1 must match the size of input2: got {} and {}", input1.shape(), input2.shape());
  auto dot = [](const TensorHandle& a, const TensorHandle& b) { return sum(widened(a) * b, Dims{-1}); };
  constexpr double least = 1e-12;
  const TensorHandle cosine = dot(input1, input2) / sqrt((dot(input1, input1) + least) * (dot(input2, input2) + least));
  return reduced_loss(where(eq(target, 1), 1.0 - cosine, 0.0) + where(eq(target, -1), clamp_min(cosine - margin, 0), 0.0), reduction);
}
TensorHandle fn::triplet_margin_loss(const TensorHandle& anchor, const TensorHandle& positive, const TensorHandle& negative, double margin,
    double p, double eps, bool swap, const std::string& reduction) {
  require<ValueError>(margin > 0, "expected a margin greater than 0: got {}", margin);
  TensorHandle far = pairwise_distance(anchor, negative, p, eps);
  if (swap) far = minimum(far, pairwise_distance(positive, negative, p, eps));
  return reduced_loss(clamp_min(pairwise_distance(anchor, positive, p, eps) - far + margin, 0), reduction);
}
TensorHandle fn::soft_margin_loss(const TensorHandle& input, const TensorHandle& target, const std::string& reduction) {
  return reduced_loss(log_of_exp_plus_one(-(target * widened(input))), reduction);
}
TensorHandle fn::cosine_similarity(const TensorHandle& x1, const TensorHandle& x2, int64_t dim, double eps) {
  const Shape shape = broadcast_shapes(x1.shape(), x2.shape());
  const TensorHandle a = expand(x1, shape), b = expand(x2, shape);
  const OptionalDims along = shape.rank() ? OptionalDims(Dims{normalise_dim(dim, shape.rank())}) : std::nullopt;
  // A norm is held above eps; the gradient passes as if it were not, as in PyTorch.
  const DType common = promote(x1.dtype(), x2.dtype()), dtype = is_floating(common) ? common : default_dtype();
  auto scaled = [&](const TensorHandle& given) {
    const TensorHandle x = given.dtype() == dtype ? given : TensorHandle(cast(given, dtype));
    const TensorHandle length = linalg_vector_norm(x, 2, along, true);
    return x / (length + detach(maximum(length, eps) - length));
  };
  return sum(scaled(a) * scaled(b), along);
}
TensorHandle fn::pairwise_distance(const TensorHandle& x1, const TensorHandle& x2, double p, double eps, bool keepdim) {
  require(x1.rank() > 0 && x2.rank() > 0, "expected at least one dimension: got {} and {}", x1.shape(), x2.shape());
  return linalg_vector_norm(widened(x1) - x2 + eps, p, Dims{-1}, keepdim);
}
TensorHandle fn::cdist(const TensorHandle& x1, const TensorHandle& x2, double p, const std::string& compute_mode) {
  // One way of computing serves all modes: it is the exact one.
  constexpr const char* kModes[] = {"use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"};
  require<ValueError>(std::find(std::begin(kModes), std::end(kModes), compute_mode) != std::end(kModes),
      "compute_mode must be '{}', '{}' or '{}': got '{}'", kModes[0], kModes[1], kModes[2], compute_mode);
  require(x1.rank() >= 2 && x2.rank() >= 2, "expected at least 2 dimensions: got {} and {}", x1.shape(), x2.shape());
  require(x1.shape().back() == x2.shape().back(), "expected the same number of columns: got {} and {}", x1.shape(), x2.shape());
  const DType common = promote(x1.dtype(), x2.dtype()), dtype = is_floating(common) ? common : default_dtype();
  const auto batch_of = [](const TensorHandle& x) {
    Shape batch;
    batch.append(x.shape().begin(), x.shape().end() - 2);
    return batch;
  };
  const Shape batch = broadcast_shapes(batch_of(x1), batch_of(x2));
  const auto as_batch = [&](const TensorHandle& x) {
    Shape shape = batch;
    shape.append(x.shape().end() - 2, x.shape().end());
    return expand(x.dtype() == dtype ? x : TensorHandle(cast(x, dtype)), shape);
  };
  return fn::_cdist(as_batch(x1), as_batch(x2), p);
}

void register_loss(OpTable& table) { table.add(functions); }

}  // namespace pyburn
