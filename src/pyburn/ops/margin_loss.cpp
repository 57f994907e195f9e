// Losses of scores for several classes that ask for a margin between right and wrong ones, and distances within a batch.
#include "pyburn/ops/generated/margin_loss.h"

#include "pyburn/ops/cross_entropy.h"
#include "pyburn/ops/generated/activation.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/scan.h"
#include "pyburn/ops/generated/scatter.h"
#include "pyburn/ops/generated/vector_norm.h"
#include "pyburn/ops/rules.h"

namespace pyburn {
namespace {

constinit FunctionInfo functions[] = {
    {.schema = "multi_margin_loss(Tensor input, Tensor target, int p=1, float margin=1.0, Tensor? weight=None, str reduction='mean') -> "
               "Tensor",
        .doc = "Computes the multi-class margin loss of scores (N, C) or (C) and target classes.",
        .torch = "lambda x, y, p=1, margin=1.0, weight=None, reduction='mean': torch.nn.functional.multi_margin_loss(x, y, p, margin, "
                 "weight, reduction=reduction)",
        .example = "pyburn.multi_margin_loss(pyburn.tensor([[0.1, 0.2, 0.4, 0.8]]), pyburn.tensor([3]))",
        .samples = R"(
t(4, 3), index(4, below=3)
t(4, 3), index(4, below=3), 2
t(4, 3), index(4, below=3), 1, 0.5, positive(3).constant
t(4, 3), index(4, below=3), margin=2.0, reduction='sum'
t(4, 3), index(4, below=3), reduction='none'
t(3), index(below=3)
t(3), index(1, below=3), 2, reduction='none'
t(0, 3), index(0, below=3), reduction='sum'
t(3, 4).T, index(4, below=3)
t(1, 3).expand(4, 3), index(4, below=3)
t(4, 3, dtype=f64), index(4, below=3)
t(), index(below=3) ! one or two dimensions
t(4, 3), index(3, below=3) ! target
t(4, 3), index(4, below=3), 3 ! p is 1 or 2
t(4, 3), index(4, below=3), weight=t(4) ! weight
t(4, 3), index(4, below=3), reduction='all' ! reduction)"},
    {.schema = "multilabel_margin_loss(Tensor input, Tensor target, str reduction='mean') -> Tensor",
        .doc = "Computes the multi-label margin loss of scores (N, C) or (C); target lists the correct classes, terminated by -1.",
        .torch = "lambda x, y, reduction='mean': torch.nn.functional.multilabel_margin_loss(x, y, reduction=reduction)",
        .example = "pyburn.multilabel_margin_loss(pyburn.tensor([[0.1, 0.2, 0.4, 0.8]]), pyburn.tensor([[3, 0, -1, 1]]))",
        .samples = R"(
t(2, 4), tensor([[3, 0, -1, 1], [1, -1, -1, 0]])
t(2, 4), tensor([[3, 0, -1, 1], [0, 1, 2, 3]]), 'sum'
t(2, 4), tensor([[-1, 0, -1, 1], [1, 2, -1, 0]]), reduction='none'
t(4), tensor([3, 0, -1, 1])
t(4), tensor([3, 0, -1, 1]), 'none'
t(), tensor(0)
t(0, 4), index(0, 4, below=4), 'none'
t(4, 2).T, tensor([[3, 0, -1, 1], [1, -1, -1, 0]])
t(1, 4).expand(2, 4), tensor([[3, 0, -1, 1], [1, -1, -1, 0]])
t(2, 4, dtype=f64), tensor([[3, 0, -1, 1], [1, -1, -1, 0]])
t(2, 4), tensor([[4, 0, -1, 1], [1, -1, -1, 0]]) ! out of bounds
t(2, 4), index(2, 3, below=3) ! shapes
t(2, 4), t(2, 4) ! int64
t(2, 4), index(2, 4, below=3), 'all' ! reduction)"},
    {.schema = "multilabel_soft_margin_loss(Tensor input, Tensor target, Tensor? weight=None, str reduction='mean') -> Tensor",
        .doc = "Computes the multi-label soft margin loss: the binary cross-entropy of sigmoid(input), averaged over classes.",
        .torch = "lambda x, y, weight=None, reduction='mean': torch.nn.functional.multilabel_soft_margin_loss(x, y, weight, "
                 "reduction=reduction)",
        .example = "pyburn.multilabel_soft_margin_loss(pyburn.zeros(1, 2), pyburn.tensor([[1., 0.]]))",
        .samples = R"(
t(2, 3), positive(2, 3)
t(2, 3), positive(2, 3), positive(3).constant
t(2, 3), positive(2, 3), reduction='sum'
t(2, 3), positive(2, 3), weight=positive(3).constant, reduction='none'
t(3), positive(3)
t(0, 3), t(0, 3), reduction='sum'
t(3, 2).T, positive(2, 3)
t(2, 1).expand(2, 3), positive(2, 3)
t(2, 3, dtype=f64), positive(2, 3, dtype=f64)
t(), t() ! dimension
t(2, 3), t(3, 2) ! shapes
t(2, 3), t(2, 3), reduction='all' ! reduction)"},
    {.schema = "pdist(Tensor input, float p=2.0) -> Tensor",
        .doc = "Computes the p-norm distance of each pair of rows of an (N, M) matrix, giving N * (N - 1) / 2 distances.",
        .torch = "torch.nn.functional.pdist",
        .example = "pyburn.pdist(pyburn.tensor([[0., 0.], [3., 4.], [0., 4.]]))",
        .samples = R"(
t(4, 3)
t(4, 3), 1.0
t(3, 4), 3.0
t(3, 4), inf
t(1, 4)
t(0, 4).constant
t(3, 4).T
t(3, 1).expand(3, 2)
t(3, 4, dtype=f64)
t() ! matrix
t(2, 3), -1.0 ! p)"},
};

void check_reduction(const std::string& reduction) {
  require<ValueError>(
      reduction == "mean" || reduction == "sum" || reduction == "none", "reduction must be 'mean', 'sum' or 'none': got '{}'", reduction);
}
// Scores of one example become those of a batch of one.
TensorHandle as_batch(const TensorHandle& t) { return t.rank() == 2 ? t : reshape(t, Dims{1, -1}); }

}  // namespace

TensorHandle fn::multi_margin_loss(const TensorHandle& input, const TensorHandle& target, int64_t p, double margin,
    const TensorHandle& weight, const std::string& reduction) {
  check_reduction(reduction);
  require<ValueError>(p == 1 || p == 2, "p is 1 or 2: got {}", p);
  require(input.rank() == 1 || input.rank() == 2, "expected logits with one or two dimensions: got {}", input.shape());
  require<DTypeError>(target.dtype() == DType::int64, "expected int64 class indices: got {}", target.dtype());
  const TensorHandle x = as_batch(input);
  const int64_t n = x.shape()[0], classes = x.shape()[1];
  require(input.rank() < 2 || classes > 0 || n == 0, "Expected at least one class: got {}", input.shape());
  require(target.numel() == n && target.rank() <= 1,
      "target tensor should be 1-D with size equal to the number of examples. Expected target size [{}], but got [{}] elements in {}", n,
      target.numel(), target.shape());
  require(!weight.defined() || weight.shape() == Shape{classes}, "expected one weight per class: got {} for {}",
      weight.defined() ? weight.shape() : Shape{}, classes);
  const TensorHandle right = reshape(target, Dims{n, 1});
  TensorHandle losses = relu(x - gather(x, 1, right) + margin);
  if (p == 2) losses = losses * losses;
  if (weight.defined()) losses = losses * unsqueeze(index_select(weight, 0, reshape(target, Dims{n})), 1);
  const TensorHandle every = unsqueeze(arange(0, classes, 1, DType::int64, &x.device()), 0);
  const TensorHandle loss = sum(where(eq(every, right), 0.0, losses), Dims{1}) / double(classes);
  return reduced_loss(reduction == "none" && target.rank() == 0 ? reshape(loss, Dims{}) : loss, reduction);
}

TensorHandle fn::multilabel_margin_loss(const TensorHandle& input, const TensorHandle& target, const std::string& reduction) {
  check_reduction(reduction);
  require(input.rank() <= 2 && input.shape() == target.shape(),
      "expected input and target of equal shapes, with at most two dimensions: got {} "
      "and {}",
      input.shape(), target.shape());
  require<DTypeError>(target.dtype() == DType::int64, "expected int64 class indices: got {}", target.dtype());
  const TensorHandle x = as_batch(input), listed = as_batch(target);
  require(input.rank() < 2 || x.shape()[1] > 0 || x.shape()[0] == 0, "Expected at least one class: got {}", input.shape());
  const TensorHandle counts = cumprod(cast(ge(listed, 0), DType::int64), 1);  // 1 up to the first -1
  const TensorHandle classes = where(eq(counts, 1), listed, 0);
  const TensorHandle is_right = scatter_add(zeros_like(listed), 1, classes, counts);
  const TensorHandle gap = unsqueeze(x, 1) - unsqueeze(gather(x, 1, classes), 2) + 1.0;  // (N, listed, C)
  const TensorHandle pairs = mul(unsqueeze(counts, 2), eq(unsqueeze(is_right, 1), 0));
  const TensorHandle loss = sum(where(eq(pairs, 1), relu(gap), 0.0), Dims{1, 2}) / double(std::max<int64_t>(x.shape()[1], 1));
  return reduced_loss(reduction == "none" && input.rank() < 2 ? reshape(loss, Dims{}) : loss, reduction);
}

TensorHandle fn::multilabel_soft_margin_loss(
    const TensorHandle& input, const TensorHandle& target, const TensorHandle& weight, const std::string& reduction) {
  require(input.rank() > 0, "expected a class dimension: got {}", input.shape());
  require(input.shape() == target.shape(), "expected input and target of equal shapes: got {} and {}", input.shape(), target.shape());
  TensorHandle loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input));
  if (weight.defined()) loss = loss * weight;
  return reduced_loss(mean(loss, Dims{-1}), reduction);
}

TensorHandle fn::pdist(const TensorHandle& input, double p) {
  require(input.rank() == 2, "expected a matrix: got {}", input.shape());
  require<ValueError>(p >= 0, "p must not be negative: got {}", p);
  const TensorHandle pairs = triu_indices(input.shape()[0], input.shape()[0], 1, {}, &input.device());
  auto rows = [&](int64_t k) { return index_select(input, 0, select(pairs, 0, k)); };
  return linalg_vector_norm(rows(0) - rows(1), p, Dims{1});
}

void register_margin_loss(OpTable& table) { table.add(functions); }

}  // namespace pyburn
