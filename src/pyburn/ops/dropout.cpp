// Dropout. The mask is drawn again in the gradient, not kept.
#include "pyburn/ops/dropout.h"

#include <cmath>

#include "pyburn/ops/copy.h"
#include "pyburn/ops/generated/dropout.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/rules.h"
#include "pyburn/runtime/generator.h"
#include "pyburn/support/log.h"

namespace pyburn {
namespace {

Meta infer(const Dropout& a, Metas in) {
  require<ValueError>(a.p >= 0 && a.p <= 1, "expected a probability between 0 and 1: got {}", a.p);
  require<DTypeError>(is_floating(in[0].dtype), "expected a floating dtype: got {}", in[0].dtype);
  return in[0];
}
Grads grad(const Dropout& a, const GradContext& c) { return {seeded_dropout(c.dy(), a.p, a.scale, 0, 0, a.seed, a.offset)}; }

}  // namespace

namespace op {
constinit OpInfo seeded_dropout = define<Dropout, infer,
    grad>({.schema = "seeded_dropout(Tensor input, float p, float scale, float shift, float dropped, int seed, int offset) -> Tensor",
    .doc =
        "Computes scale * input + shift, and replaces elements by `dropped` with probability p, chosen by a counter-based random stream.",
    .example = "pyburn.seeded_dropout(pyburn.ones(2), 0., 2., 0., 0., 1, 0)"});
}  // namespace op

namespace {
constinit FunctionInfo functions[] = {
    {.schema = "dropout(Tensor input, float p=0.5, bool training=True, bool inplace=False) -> Tensor",
        .doc = "Zeroes elements with probability p and scales the others by 1 / (1 - p). Returns input unchanged if not in training mode.",
        .example = "pyburn.dropout(pyburn.ones(3), 0.5, training=False)"},
    {.schema = "alpha_dropout(Tensor input, float p=0.5, bool training=False, bool inplace=False) -> Tensor",
        .doc = "Applies alpha dropout, which preserves mean and variance in networks with SELU activations.",
        .example = "pyburn.alpha_dropout(pyburn.ones(3))"},
    {.schema = "dropout1d(Tensor input, float p=0.5, bool training=True, bool inplace=False) -> Tensor",
        .doc = "Zeroes whole channels of input (N, C, L) or (C, L) with probability p.",
        .example = "pyburn.dropout1d(pyburn.ones(1, 2, 3), training=False).shape"},
    {.schema = "dropout2d(Tensor input, float p=0.5, bool training=True, bool inplace=False) -> Tensor",
        .doc = "Zeroes whole channels of input (N, C, H, W) or (C, H, W) with probability p.",
        .example = "pyburn.dropout2d(pyburn.ones(1, 2, 3, 3), training=False).shape"},
    {.schema = "dropout3d(Tensor input, float p=0.5, bool training=True, bool inplace=False) -> Tensor",
        .doc = "Zeroes whole channels of input (N, C, D, H, W) or (C, D, H, W) with probability p.",
        .example = "pyburn.dropout3d(pyburn.ones(1, 2, 3, 3, 3), training=False).shape"},
    {.schema = "feature_alpha_dropout(Tensor input, float p=0.5, bool training=False, bool inplace=False) -> Tensor",
        .doc = "Applies alpha dropout to whole channels (dimension 1).",
        .example = "pyburn.feature_alpha_dropout(pyburn.ones(1, 2, 3)).shape"},
};

void check_probability(double p) { require<ValueError>(p >= 0 && p <= 1, "expected a probability between 0 and 1: got {}", p); }
// In place, the input becomes the result.
TensorHandle placed(const TensorHandle& input, const TensorHandle& y, bool inplace) {
  if (!inplace) return y;
  copy_into(input, y);
  return input;
}
struct Rule {
  double p, scale, shift = 0, dropped = 0;
};
Rule plain_rule(double p) { return {p, p < 1 ? 1 / (1 - p) : 0}; }
Rule alpha_rule(double p) {
  constexpr double alpha = -1.7580993408473766;  // what selu tends to: -scale * alpha
  const double a = p < 1 ? 1 / std::sqrt((1 - p) * (1 + p * alpha * alpha)) : 0, b = -a * alpha * p;
  return {p, a, b, a * alpha + b};
}
TensorHandle dropped_by(const Rule& r, const TensorHandle& x) {
  const RandomState s = default_generator().reserve(x.numel());
  return seeded_dropout(x, r.p, r.scale, r.shift, r.dropped, int64_t(s.seed), int64_t(s.offset));
}
// One draw for all elements after the first `axes` axes.
TensorHandle channels_dropped_by(const Rule& r, const TensorHandle& x, int64_t axes) {
  Dims size(x.rank(), 1);
  for (int64_t i = 0; i < axes; ++i) size[i] = x.shape()[i];
  const TensorHandle kept = dropped_by({r.p, 1}, ones(size, x.dtype(), &x.device()));
  const TensorHandle y = x * (kept * r.scale);
  return r.dropped == 0 ? y : y + (kept * (r.shift - r.dropped) + r.dropped);
}
TensorHandle dropout_of_channels(const TensorHandle& x, double p, bool training, bool inplace, int spatial) {
  check_probability(p);
  const bool fits = x.rank() == spatial + 1 || x.rank() == spatial + 2, is_row = spatial == 2 && x.rank() == 3;
  // PyTorch takes other ranks too, but for sequences, and then drops along the first two axes.
  require(fits || (spatial > 1 && x.rank() >= 2), "dropout{}d: Expected {}D or {}D input, but received a {}D input", spatial, spatial + 1,
      spatial + 2, x.rank());
  if (is_row)
    warn(
        "dropout2d: Received a 3D input to dropout2d: it is taken for (N, C, L), assuming that channel-wise 1D dropout behavior is "
        "desired");
  if (!fits)
    warn(format("dropout{}d: Received a {}-D input to dropout{}d, which is deprecated: it takes (N, C, ...) or (C, ...)", spatial, x.rank(),
        spatial));
  if (!training || p == 0) return x;
  return placed(x, channels_dropped_by(plain_rule(p), x, fits && !is_row ? x.rank() - spatial : 2), inplace);
}
}  // namespace

TensorHandle fn::dropout(const TensorHandle& input, double p, bool training, bool inplace) {
  check_probability(p);
  return !training || p == 0 ? TensorHandle(input) : placed(input, dropped_by(plain_rule(p), input), inplace);
}
TensorHandle fn::alpha_dropout(const TensorHandle& input, double p, bool training, bool inplace) {
  check_probability(p);
  return !training || p == 0 ? TensorHandle(input) : placed(input, dropped_by(alpha_rule(p), input), inplace);
}
TensorHandle fn::dropout1d(const TensorHandle& input, double p, bool training, bool inplace) {
  return dropout_of_channels(input, p, training, inplace, 1);
}
TensorHandle fn::dropout2d(const TensorHandle& input, double p, bool training, bool inplace) {
  return dropout_of_channels(input, p, training, inplace, 2);
}
TensorHandle fn::dropout3d(const TensorHandle& input, double p, bool training, bool inplace) {
  return dropout_of_channels(input, p, training, inplace, 3);
}
TensorHandle fn::feature_alpha_dropout(const TensorHandle& input, double p, bool training, bool inplace) {
  check_probability(p);
  require(!training || input.rank() >= 2, "expected at least 2 dimensions: got {}", input.shape());
  return !training || p == 0 ? TensorHandle(input) : placed(input, channels_dropped_by(alpha_rule(p), input, 2), inplace);
}

void register_dropout(OpTable& table) {
  table.add({&op::seeded_dropout});
  table.add(functions);
}

}  // namespace pyburn
