// Normalisation.
#include "pyburn/ops/generated/normalisation.h"

#include "pyburn/onnx/call.h"
#include "pyburn/ops/generated/batch_norm.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/moments.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/pad.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/generated/views.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

// In training mode of the model the buffers follow the batches. Where the file itself says that it trains, the new
// statistics are outputs.
Results batch_normalization(Call& c) {
  const TensorHandle x = c.input(0), scale = c.input(1), bias = c.input(2), mean = c.input(3), var = c.input(4);
  const double epsilon = c.real("epsilon", double(1e-5f)), momentum = c.real("momentum", double(0.9f));
  if (!c.flag("training_mode")) {
    // float16 with statistics in float32, as mixed precision has it.
    const TensorHandle y = fn::batch_norm(x, mean, var, scale, bias, c.training(), 1 - momentum, epsilon);
    return y;
  }
  const TensorHandle new_mean = fn::clone(mean), new_var = fn::clone(var);
  Dims axes;
  for (int i = 0; i < x.rank(); ++i)
    if (i != 1) axes.push_back(i);
  const TensorHandle batch_mean = fn::mean(x, axes), batch_var = fn::var(x, axes, Scalar(0));
  const TensorHandle y = fn::batch_norm(x, new_mean, new_var, scale, bias, true, 0, epsilon);
  const auto mix = [&](const TensorHandle& old, const TensorHandle& now) {
    return fn::add(fn::mul(old, momentum), fn::mul(now, 1 - momentum));
  };
  return {y, mix(mean, batch_mean), mix(var, batch_var)};
}

Results instance_normalization(Call& c) {
  return fn::instance_norm(c.input(0), {}, {}, c.input(1), c.input(2), true, 0, c.real("epsilon", double(1e-5f)));
}

// Over the axes from `axis` on. The statistics are outputs, too.
Results layer_normalization(Call& c) {
  const TensorHandle x = c.input(0), scale = c.input(1), bias = c.optional_input(2);
  const int axis = normalise_dim(c.integer("axis", -1), x.rank());
  const double epsilon = c.real("epsilon", double(1e-5f));
  Dims normalized, axes;
  for (int i = axis; i < x.rank(); ++i) normalized.push_back(x.shape()[i]), axes.push_back(i);
  const bool whole = scale.shape() == Shape(normalized) && (!bias.defined() || bias.shape() == Shape(normalized));
  TensorHandle y = fn::layer_norm(x, normalized, whole ? scale : TensorHandle(), whole ? bias : TensorHandle(), epsilon);
  if (!whole) {  // they broadcast
    y = fn::mul(y, scale);
    if (bias.defined()) y = fn::add(y, bias);
  }
  if (!c.wants_output(1) && !c.wants_output(2)) return y;
  const TensorHandle mean = fn::mean(x, axes, true), var = fn::var(x, axes, Scalar(0), true);
  return {y, mean, fn::rsqrt(fn::add(var, epsilon))};
}

Results rms_normalization(Call& c) {
  const TensorHandle x = c.input(0), scale = c.input(1);
  const int axis = normalise_dim(c.integer("axis", -1), x.rank());
  Dims normalized;
  for (int i = axis; i < x.rank(); ++i) normalized.push_back(x.shape()[i]);
  const double epsilon = c.real("epsilon", double(1e-5f));
  if (scale.shape() == Shape(normalized)) return fn::rms_norm(x, normalized, scale, epsilon);
  return fn::mul(fn::rms_norm(x, normalized, {}, epsilon), scale);
}

// Until 20 there is a scale for each group, then one for each channel.
Results group_normalization(Call& c) {
  const TensorHandle x = c.input(0);
  TensorHandle scale = c.input(1), bias = c.input(2);
  const int64_t groups = c.integer("num_groups");
  require(x.rank() >= 2, "[group_norm] expected (N, C, ...): got {}", x.shape());
  const int64_t channels = x.shape()[1];
  require<ValueError>(groups > 0 && channels % groups == 0, "[group_norm] {} channels cannot be put into {} groups", channels, groups);
  const auto for_channels = [&](const TensorHandle& t) {
    if (t.numel() == channels) return t;
    return fn::reshape(fn::expand(fn::reshape(t, {groups, 1}), {groups, channels / groups}), {channels});
  };
  return fn::group_norm(x, groups, for_channels(scale), for_channels(bias), c.real("epsilon", double(1e-5f)));
}

// Where the norm is 0, the result is.
Results lp_normalization(Call& c) {
  const TensorHandle x = c.input(0);
  const int64_t axis = c.integer("axis", -1), p = c.integer("p", 2);
  require<FormatError>(p == 1 || p == 2, "[lp_normalization] p must be 1 or 2: got {}", p);
  const TensorHandle norm = p == 1 ? fn::sum(fn::abs(x), Dims{axis}, true) : fn::sqrt(fn::sum(fn::mul(x, x), Dims{axis}, true));
  return fn::where(fn::eq(norm, 0), fn::mul(x, 0), fn::div(x, norm));
}

// The sum of squares of the neighbouring channels. An even size has one more of them after than before.
Results lrn(Call& c) {
  const TensorHandle x = c.input(0);
  const int64_t size = c.integer("size");
  require(x.rank() >= 2 && size > 0 && size <= Checked(x.shape()[1]) * 2 + 1, "[lrn] size does not fit {}: got {}", x.shape(), size);
  const double alpha = c.real("alpha", double(1e-4f)), beta = c.real("beta", 0.75), bias = c.real("bias", 1);
  Dims border(2 * (x.rank() - 1), 0);
  border[border.size() - 2] = (size - 1) / 2, border[border.size() - 1] = size - 1 - (size - 1) / 2;
  const TensorHandle squares = fn::constant_pad_nd(fn::mul(x, x), border, 0.0);
  TensorHandle sum = fn::narrow(squares, 1, 0, x.shape()[1]);
  for (int64_t i = 1; i < size; ++i) sum = fn::add(sum, fn::narrow(squares, 1, i, x.shape()[1]));
  return fn::div(x, fn::pow(fn::add(fn::mul(sum, alpha / double(size)), bias), beta));
}

constexpr Operator kRows[] = {
    {"", "BatchNormalization", 1, batch_normalization, 0, inputs_at(3, 4)},
    {"", "InstanceNormalization", 6, instance_normalization},
    {"", "LayerNormalization", 17, layer_normalization},
    {"", "RMSNormalization", 23, rms_normalization},
    {"", "GroupNormalization", 18, group_normalization},
    {"", "LpNormalization", 1, lp_normalization},
    {"", "LRN", 1, lrn},
};

}  // namespace

std::span<const Operator> normalisation_operators() { return kRows; }

}  // namespace pyburn::onnx
