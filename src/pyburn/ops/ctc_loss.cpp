// Connectionist temporal classification: sequences of labels without an alignment to the steps of the input.
//
// A target of S labels has 2 S + 1 states: its labels, with blanks before, between and after them. A path stays in its state or advances by
// one, or by two between different labels. It starts before state 0 and must end in one of the last two.
#include "pyburn/ops/ctc_loss.h"

#include <limits>

#include "pyburn/ops/cross_entropy.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/ctc_loss.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/logic.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/scan.h"
#include "pyburn/ops/generated/scatter.h"
#include "pyburn/ops/generated/transcendental.h"
#include "pyburn/ops/rules.h"

namespace pyburn {
namespace {

void check(const CtcLoss& a, const Meta& x, const Meta& targets, const Meta& input_lengths, const Meta& target_lengths) {
  require(x.shape.rank() == 3, "expected log-probabilities (T, N, C): got {}", x.shape);
  require<DTypeError>(is_floating(x.dtype), "expected log-probabilities of a floating-point dtype: got {}", x.dtype);
  const int64_t n = x.shape[1];
  require(targets.shape.rank() == 1 || (targets.shape.rank() == 2 && targets.shape[0] == n),
      "expected targets (N, S) or concatenated targets: got {} for {}", targets.shape, x.shape);
  for (const Meta* m : {&input_lengths, &target_lengths})
    require(m->shape == Shape{n}, "expected one length for each of {} samples: got {}", n, m->shape);
  for (const Meta* m : {&targets, &input_lengths, &target_lengths})
    require<DTypeError>(m->dtype == DType::int64, "expected int64 targets and lengths: got {}", m->dtype);
  require<ValueError>(
      a.blank >= 0 && a.blank < x.shape[2], "blank must be less than the number of labels: got {} of {}", a.blank, x.shape[2]);
}
Meta infer(const CtcLoss& a, Metas in) {
  check(a, in[0], in[1], in[2], in[3]);
  return {Shape{in[0].shape[1]}, in[0].dtype};
}
Meta infer_backward(const CtcLoss& a, Metas in) {
  check(a, in[1], in[2], in[3], in[4]);
  require(in[0].shape == (Shape{in[1].shape[1]}) && in[0].dtype == in[1].dtype, "expected one gradient per sample: got {}", in[0].shape);
  return in[1];
}
Grads grad(const CtcLoss& a, const GradContext& c) {
  return {_ctc_loss_backward(c.dy(), c.input(0), c.input(1), c.input(2), c.input(3), a.blank, a.zero_infinity)};
}

// The same in public operations. What cannot be has a logarithm of `kNever`, which is finite so that derivatives are numbers.
constexpr double kNever = -1e30;

struct Lattice {
  TensorHandle labels;   // (N, L): the class at each place
  TensorHandle scores;   // (T, N, L)
  TensorHandle skips;    // (N, L): may be entered from two places before
  TensorHandle exists;   // (N, L): places of this target
  TensorHandle is_last;  // (N, L): the last two of them
  TensorHandle steps;    // (N, 1): how many count
};

// (N, S), of which the first target_lengths count.
TensorHandle in_rows(const TensorHandle& targets, const TensorHandle& target_lengths) {
  const int64_t n = target_lengths.numel(), total = targets.numel();
  if (targets.rank() == 2) return targets;
  if (total == 0) return zeros(Dims{n, 0}, DType::int64, &targets.device());
  const TensorHandle first = unsqueeze(cumsum(target_lengths, 0) - target_lengths, 1);
  const TensorHandle at = minimum(first + arange(0, total, 1, DType::int64, &targets.device()), total - 1);
  return reshape(index_select(targets, 0, reshape(at, Dims{-1})), Dims{n, total});
}
Lattice lattice_of(const CtcLoss& a, const TensorHandle& x, const TensorHandle& targets, const TensorHandle& input_lengths,
    const TensorHandle& target_lengths) {
  const TensorHandle rows = in_rows(targets, target_lengths);
  const int64_t steps = x.shape()[0], n = x.shape()[1], length = rows.shape()[1], places = 2 * length + 1;
  Device* device = &x.device();
  auto blanks = [&](int64_t count) { return full(Dims{n, count}, a.blank, DType::int64, device); };
  const TensorHandle place = unsqueeze(arange(0, places, 1, DType::int64, device), 0), end = unsqueeze(target_lengths * 2, 1);
  const TensorHandle exists = le(place, end);
  const TensorHandle interleaved = cat({reshape(stack({blanks(length), rows}, 2), Dims{n, 2 * length}), blanks(1)}, 1);
  Lattice l;
  l.labels = where(exists, interleaved, a.blank);
  const TensorHandle before = cat({blanks(std::min<int64_t>(2, places)), slice(l.labels, 1, 0, std::max<int64_t>(places - 2, 0))}, 1);
  l.skips = logical_and(ne(l.labels, a.blank), ne(l.labels, before));
  l.skips = logical_and(l.skips, ge(place, 2));
  l.exists = exists;
  l.is_last = logical_and(exists, ge(place, end - 1));
  l.scores = gather(x, 2, expand(unsqueeze(l.labels, 0), Dims{steps, n, places}));
  l.steps = unsqueeze(input_lengths, 1);
  return l;
}

// t moved by k places, to the right or to the left, with nothing coming in.
TensorHandle moved(const TensorHandle& t, int64_t k) {
  const int64_t places = t.shape()[1], distance = std::min(std::abs(k), places);
  const TensorHandle nothing = full(Dims{t.shape()[0], distance}, kNever, t.dtype(), &t.device());
  return k > 0 ? cat({nothing, slice(t, 1, 0, places - distance)}, 1) : cat({slice(t, 1, distance), nothing}, 1);
}
TensorHandle log_sum(const TensorHandle& a, const TensorHandle& b, const TensorHandle& c) {
  return logsumexp(stack({a, b, c}, 0), Dims{0});
}
TensorHandle counts(const Lattice& l, int64_t step) { return gt(l.steps, step); }

// Logarithms of the probabilities of all paths up to each step.
Tensors forward(const Lattice& l) {
  const Shape& s = l.scores.shape();
  TensorHandle now = where(
      eq(arange(0, s[2], 1, DType::int64, &l.scores.device()), 0), full(Dims{s[1], s[2]}, 0, l.scores.dtype(), &l.scores.device()), kNever);
  Tensors all{now};
  for (int64_t t = 0; t < s[0]; ++t) {
    const TensorHandle next = log_sum(now, moved(now, 1), where(l.skips, moved(now, 2), kNever)) + select(l.scores, 0, t);
    now = where(counts(l, t), where(l.exists, next, kNever), now);
    all.push_back(now);
  }
  return all;
}
TensorHandle loss_of(const Lattice& l, const TensorHandle& final) { return -logsumexp(where(l.is_last, final, kNever), Dims{1}); }
TensorHandle impossible(const TensorHandle& loss) { return gt(loss, -kNever / 2); }

TensorHandle widened(const TensorHandle& x) { return size_of(x.dtype()) < 4 ? cast(x, DType::float32) : x; }

TensorHandle by_steps(const CtcLoss& a, Inputs in) {
  const TensorHandle x = widened(*in[0]);
  const Lattice l = lattice_of(a, x, *in[1], *in[2], *in[3]);
  const TensorHandle loss = loss_of(l, forward(l).back());
  const double infinity = std::numeric_limits<double>::infinity();
  return cast(where(impossible(loss), a.zero_infinity ? 0.0 : infinity, loss), in[0]->dtype());
}
// Minus the probability, given the target, to be at a place of each class at each step.
TensorHandle backward_by_steps(const CtcLoss& a, Inputs in) {
  const TensorHandle dy = widened(*in[0]), x = widened(*in[1]);
  const Lattice l = lattice_of(a, x, *in[2], *in[3], *in[4]);
  const Tensors before = forward(l);
  const TensorHandle loss = loss_of(l, before.back()), lost = impossible(loss), total = unsqueeze(where(lost, 0.0, loss), 1);
  const TensorHandle scale = where(lost, a.zero_infinity ? 0.0 : std::numeric_limits<double>::quiet_NaN(), -dy);
  const Shape& s = l.scores.shape();
  TensorHandle after = where(l.is_last, full(Dims{s[1], s[2]}, 0, x.dtype(), &x.device()), kNever);
  const TensorHandle nothing = zeros(Dims{s[1], x.shape()[2]}, x.dtype(), &x.device());
  Tensors steps(s[0], {});
  for (int64_t t = s[0] - 1; t >= 0; --t) {
    const TensorHandle share = where(counts(l, t), exp(before[t + 1] + after + total) * unsqueeze(scale, 1), 0.0);
    steps[t] = scatter_add(nothing, 1, l.labels, share);
    const TensorHandle entering = where(l.exists, after + select(l.scores, 0, t), kNever);
    const TensorHandle previous = log_sum(entering, moved(entering, -1), moved(where(l.skips, entering, kNever), -2));
    after = where(counts(l, t), previous, after);
  }
  return cast(s[0] ? stack(steps, 0) : zeros_like(x), in[1]->dtype());
}

}  // namespace

namespace op {
constinit OpInfo _ctc_loss = define<CtcLoss, infer, grad, by_steps>(
    {.schema = "_ctc_loss(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, bool "
               "zero_infinity=False) -> Tensor",
        .doc = "Computes the CTC loss of each example from log-probabilities (T, N, C).",
        .saves = inputs,
        .torch = "lambda x, y, i, t, blank=0, zero_infinity=False: torch_ctc_loss(x, y, i, t, blank, 'none', zero_infinity)",
        .example = "pyburn.nn.functional.ctc_loss(pyburn.zeros(2, 1, 1), pyburn.zeros(1, 0, dtype=pyburn.int64), (2,), (0,))",
        .samples = R"(
t(5, 2, 3), tensor([[1, 2], [2, 2]]), tensor([5, 4]), tensor([2, 2])
t(5, 2, 3), tensor([1, 2, 1]), tensor([5, 3]), tensor([2, 1])
t(5, 2, 3), tensor([[1, 0], [0, 1]]), tensor([5, 4]), tensor([2, 1]), 2
t(3, 2, 3), tensor([[1, 2], [2, 2]]), tensor([3, 2]), tensor([2, 2]), zero_infinity=True
t(3, 2, 3).constant, tensor([[1, 2], [2, 2]]), tensor([3, 2]), tensor([2, 2])
t(4, 2, 3), tensor([[1, 2], [2, 2]]), tensor([4, 4]), tensor([0, 2])
t(4, 2, 3), index(2, 0, below=3), tensor([4, 3]), tensor([0, 0])
t(2, 5, 3).transpose(0, 1), tensor([[1, 2], [2, 2]]), tensor([5, 4]), tensor([2, 2])
t(1, 2, 3).expand(5, 2, 3), tensor([[1, 2], [2, 2]]), tensor([5, 4]), tensor([2, 2])
t(5, 2, 3, dtype=f64), tensor([[1, 2], [2, 2]]), tensor([5, 4]), tensor([2, 2])
t(), tensor([1]), tensor([1]), tensor([1]) ! log-probabilities
t(5, 2, 3), tensor([[1, 2], [2, 2]]), tensor([5, 4]), tensor([2, 2]), 3 ! blank
t(5, 2, 3), tensor([[1, 2], [2, 2]]), tensor([5]), tensor([2, 2]) ! length)"});
constinit OpInfo _ctc_loss_backward = define<CtcLoss, infer_backward, nullptr, backward_by_steps>(
    {.schema = "_ctc_loss_backward(Tensor grad_output, Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int "
               "blank=0, bool zero_infinity=False) -> Tensor",
        .doc = "Computes the gradient of the CTC loss with respect to the log-probabilities.",
        .key = 1,
        .no_grad = "is differentiated through its decomposition",
        .torch = "lambda dy, x, y, i, t, blank=0, zero_infinity=False: torch.autograd.grad(torch_ctc_loss(x, y, i, t, blank, 'none', "
                 "zero_infinity), x, dy)[0].detach()",
        .example = "pyburn.nn.functional.ctc_loss(pyburn.zeros(2, 1, 1), pyburn.zeros(1, 0, dtype=pyburn.int64), (2,), (0,))",
        .samples = R"(
t(2), t(5, 2, 3), tensor([[1, 2], [2, 2]]), tensor([5, 4]), tensor([2, 2])
t(2), t(5, 2, 3), tensor([1, 0, 1]), tensor([5, 3]), tensor([2, 1]), 2
t(2), t(3, 2, 3), tensor([[1, 2], [2, 2]]), tensor([3, 2]), tensor([2, 2]), 0, True
t(2), t(4, 2, 3), index(2, 0, below=3), tensor([4, 3]), tensor([0, 0])
t(1).expand(2), t(2, 5, 3).transpose(0, 1), tensor([[1, 2], [2, 2]]), tensor([5, 4]), tensor([2, 2])
t(2, dtype=f64), t(5, 2, 3, dtype=f64), tensor([[1, 2], [2, 2]]), tensor([5, 4]), tensor([2, 2])
t(), t(5, 2, 3), tensor([[1, 2], [2, 2]]), tensor([5, 4]), tensor([2, 2]) ! gradient)"});
}  // namespace op

namespace {
constinit FunctionInfo functions[] = {
    {.schema = "ctc_loss(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, str reduction='mean', "
               "bool zero_infinity=False) -> Tensor",
        .doc = "Computes the connectionist temporal classification loss of log-probabilities (T, N, C) or (T, C) and targets (N, S) or "
               "concatenated (sum of lengths).",
        .torch = "torch.nn.functional.ctc_loss",
        .example = "pyburn.ctc_loss(pyburn.zeros(3, 1, 2).log_softmax(2), pyburn.tensor([[1]]), pyburn.tensor([3]), pyburn.tensor([1]))",
        .samples = R"(
t(5, 2, 3), tensor([[1, 2], [2, 2]]), tensor([5, 4]), tensor([2, 2])
t(5, 2, 3), tensor([[1, 2], [2, 2]]), tensor([5, 4]), tensor([2, 0]), 0, 'sum'
t(5, 2, 3), tensor([[1, 0], [0, 1]]), tensor([5, 4]), tensor([2, 1]), 2, 'none'
t(5, 2, 3), tensor([1, 2, 1]), tensor([5, 3]), tensor([2, 1]), reduction='none'
t(3, 2, 3), tensor([[1, 2], [2, 2]]), tensor([3, 2]), tensor([2, 2]), zero_infinity=True
t(5, 3), tensor([1, 2]), tensor(5), tensor(2)
t(5, 3), tensor([1, 2]), tensor(5), tensor(2), reduction='none'
t(4, 2, 3), index(2, 0, below=3), tensor([4, 3]), tensor([0, 0]), reduction='sum'
t(2, 5, 3).transpose(0, 1), tensor([[1, 2], [2, 2]]), tensor([5, 4]), tensor([2, 2])
t(1, 2, 3).expand(5, 2, 3), tensor([[1, 2], [2, 2]], dtype=i32), tensor([5, 4], dtype=i32), tensor([2, 2], dtype=i32)
t(5, 2, 3, dtype=f64), tensor([[1, 2], [2, 2]]), tensor([5, 4]), tensor([2, 2])
t(5, 2, 3), tensor([[1, 2], [2, 3]]), tensor([5, 4]), tensor([2, 2]) ! out of range
t(5, 2, 3), tensor([[1, 2], [2, 2]]), tensor([6, 4]), tensor([2, 2]) ! input_lengths
t(5, 2, 3), tensor([[1, 2], [2, 2]]), tensor([5, 4]), tensor([2, 3]) ! target_lengths
t(5, 2, 3), tensor([1, 2, 1]), tensor([5, 4]), tensor([2, 2]) ! target_lengths
t(5, 2, 3), tensor([[1, 2], [2, 2]]), tensor([5, 4]), tensor([2, 2]), reduction='all' ! reduction)"},
    {.schema = "ctc_loss.lengths(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, str "
               "reduction='mean', bool zero_infinity=False) -> Tensor",
        .doc = "Computes the connectionist temporal classification loss with lengths given as sequences of ints.",
        .torch = "torch.nn.functional.ctc_loss",
        .example = "pyburn.ctc_loss(pyburn.zeros(3, 1, 2).log_softmax(2), pyburn.tensor([[1]]), (3,), (1,))",
        .samples = R"(
t(5, 2, 3), tensor([[1, 2], [2, 2]]), (5, 4), (2, 2)
t(5, 2, 3), tensor([[1, 0], [0, 1]]), (5, 3), (2, 1), 2, 'sum'
t(3, 2, 3), tensor([[1, 2], [2, 2]]), (3, 2), (2, 2), zero_infinity=True
t(4, 2, 3), index(2, 0, below=3), (4, 3), (0, 0), reduction='sum'
t(2, 5, 3).transpose(0, 1), tensor([[1, 2], [2, 2]]), (5, 4), (2, 2)
t(1, 2, 3).expand(5, 2, 3), tensor([[1, 2], [2, 2]]), (5, 4), (2, 2)
t(), tensor([1]), (1,), (1,) ! log-probabilities
t(5, 2, 3), tensor([[1, 2], [2, 2]]), (5,), (2, 2) ! length)"},
};

TensorHandle as_int64(const TensorHandle& t) {
  require<DTypeError>(is_integral(t.dtype()), "expected targets and lengths of an integer dtype: got {}", t.dtype());
  return t.dtype() == DType::int64 ? t : cast(t, DType::int64);
}
TensorHandle on_device(const Dims& lengths, Device* device) {
  Tensors each;
  for (int64_t n : lengths) each.push_back(full(Dims{1}, n, DType::int64, device));
  return each.empty() ? zeros(Dims{0}, DType::int64, device) : cat(each, 0);
}

}  // namespace

TensorHandle fn::ctc_loss(const TensorHandle& log_probs, const TensorHandle& targets, const TensorHandle& input_lengths,
    const TensorHandle& target_lengths, int64_t blank, const std::string& reduction, bool zero_infinity) {
  require<ValueError>(
      reduction == "mean" || reduction == "sum" || reduction == "none", "reduction must be 'mean', 'sum' or 'none': got '{}'", reduction);
  require<ValueError>(log_probs.numel() > 0, "log_probs tensor must not be empty: got {}", log_probs.shape());
  const bool single = log_probs.rank() == 2;
  auto length = [&](const TensorHandle& t) { return as_int64(single ? reshape(t, Dims{1}) : t); };
  const TensorHandle lengths = length(target_lengths), steps = length(input_lengths), x = single ? unsqueeze(log_probs, 1) : log_probs;
  TensorHandle loss = _ctc_loss(x, as_int64(targets), steps, lengths, blank, zero_infinity);
  if (x.requires_grad()) {  // PyTorch's gradient is that of probabilities which sum to 1: one term more, that log_softmax takes away again
    const TensorHandle step = arange(0, x.shape()[0], 1, DType::int64, &x.device());
    const TensorHandle counts = logical_and(lt(unsqueeze(step, 1), steps), ne(detach(loss), 0));
    const TensorHandle mass = sum(where(unsqueeze(counts, 2), exp(x), 0.0), Dims{0, 2});
    loss = loss + where(isfinite(detach(mass)), mass - detach(mass), 0.0);
  }
  if (reduction == "mean") return mean(loss / cast(maximum(lengths, 1), loss.dtype()));
  return reduced_loss(single && reduction == "none" ? remove_axis(loss, 0) : loss, reduction);
}
TensorHandle fn::ctc_loss(const TensorHandle& log_probs, const TensorHandle& targets, const Dims& input_lengths, const Dims& target_lengths,
    int64_t blank, const std::string& reduction, bool zero_infinity) {
  Device* device = &log_probs.device();
  return ctc_loss(log_probs, targets, on_device(input_lengths, device), on_device(target_lengths, device), blank, reduction, zero_infinity);
}

void register_ctc_loss(OpTable& table) {
  table.add({&op::_ctc_loss, &op::_ctc_loss_backward});
  table.add(functions);
}

}  // namespace pyburn
