#include "pyburn/nn/transducer_loss.h"

#include "pyburn/ops/generated/binary_math.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/pad.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/scatter.h"
#include "pyburn/ops/generated/softmax.h"
#include "pyburn/ops/operators.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/error.h"

namespace pyburn::nn {
namespace {

constexpr double kNever = -1e30;  // the logarithm of no chance: finite, so that gradients are

// x (B, T, U) with the diagonals t + u = d as columns: (B, U, T + U - 1).
TensorHandle skewed(const TensorHandle& x) {
  const int64_t batch = x.shape()[0], steps = x.shape()[1], labels = x.shape()[2];
  const TensorHandle rows = fn::constant_pad_nd(fn::transpose(x, 1, 2), {0, labels}, kNever);
  const TensorHandle flat = fn::narrow(fn::reshape(rows, {batch, labels * (steps + labels)}), 1, 0, labels * (steps + labels - 1));
  return fn::reshape(flat, {batch, labels, steps + labels - 1});
}

// The element of x (B, N) that index (B) names.
TensorHandle picked(const TensorHandle& x, const TensorHandle& index) {
  return fn::squeeze(fn::gather(x, 1, fn::unsqueeze(index, 1)), Dims{1});
}

void check(const TensorHandle& logits, const TensorHandle& targets, const TensorHandle& times, const TensorHandle& counts, int64_t blank) {
  require<ShapeError>(logits.rank() == 4, "expected logits (B, T, U + 1, V): got {}", logits.shape());
  const Shape& s = logits.shape();
  require<ShapeError>(targets.shape() == Shape{s[0], s[2] - 1}, "expected targets {}: got {}", Shape{s[0], s[2] - 1}, targets.shape());
  for (const TensorHandle* lengths : {&times, &counts})
    require<ShapeError>(lengths->shape() == Shape{s[0]}, "expected a length per sample: got {}", lengths->shape());
  require<ValueError>(blank >= 0 && blank < s[3], "blank must be one of {} symbols: got {}", s[3], blank);
  if (s[0] == 0) return;
  require<ValueError>(
      read_number(fn::amin(times)) >= 1 && read_number(fn::amax(times)) <= double(s[1]), "logit_lengths must be between 1 and {}", s[1]);
  require<ValueError>(read_number(fn::amin(counts)) >= 0 && read_number(fn::amax(counts)) < double(s[2]),
      "target_lengths must be between 0 and {}", s[2] - 1);
}

}  // namespace

TensorHandle RNNTFunction::operator()(
    const TensorHandle& x, const TensorHandle& targets, const TensorHandle& logit_lengths, const TensorHandle& target_lengths) const {
  check(x, targets, logit_lengths, target_lengths, blank);
  const int64_t batch = x.shape()[0], steps = x.shape()[1], labels = x.shape()[2];
  const TensorHandle chances = logits ? fn::log_softmax(x, -1) : x;
  const TensorHandle waits = skewed(fn::select(chances, 3, blank));
  // Labels have the same index at all time steps; after the last one none is left to emit.
  const TensorHandle index = fn::expand(fn::reshape(targets, {batch, 1, labels - 1, 1}), {batch, steps, labels - 1, 1});
  const TensorHandle emitted = fn::squeeze(fn::gather(fn::narrow(chances, 2, 0, labels - 1), 3, index), Dims{3});
  const TensorHandle emits = skewed(fn::constant_pad_nd(emitted, {0, 1}, kNever));

  // reached[d] (B, U + 1): the logarithm of the chance to be at time d - u after u labels.
  const TensorHandle start = fn::narrow(waits, 2, 0, 1) * 0;
  TensorHandle here = fn::constant_pad_nd(fn::squeeze(fn::narrow(start, 1, 0, 1), Dims{2}), {0, labels - 1}, kNever);
  Tensors reached{here};
  for (int64_t d = 0; d + 1 < steps + labels - 1; ++d) {
    const TensorHandle moved = here + fn::select(emits, 2, d);
    here = fn::logaddexp(here + fn::select(waits, 2, d), fn::constant_pad_nd(fn::narrow(moved, 1, 0, labels - 1), {1, 0}, kNever));
    reached.push_back(here);
  }
  // The last step of a sample waits once more.
  const TensorHandle last = logit_lengths + target_lengths - 1;
  const TensorHandle place = fn::expand(fn::reshape(last, {batch, 1, 1}), {batch, labels, 1});
  const TensorHandle all = fn::stack(reached, 2) + waits;  // (B, U + 1, diagonals)
  const TensorHandle loss = -picked(fn::squeeze(fn::gather(all, 2, place), Dims{2}), target_lengths);
  if (reduction == "mean") return fn::mean(loss);
  if (reduction == "sum") return fn::sum(loss);
  require<ValueError>(reduction == "none", "{} is not a valid value for reduction", reduction);
  return loss;
}

}  // namespace pyburn::nn
