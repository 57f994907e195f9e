// Normalisation by mean and deviation: layers, groups, instances, batches.
#include "pyburn/ops/normalisation.h"

#include <algorithm>
#include <limits>

#include "pyburn/ops/copy.h"
#include "pyburn/ops/generated/batch_norm.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/matmul.h"
#include "pyburn/ops/generated/moments.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/normalisation.h"
#include "pyburn/ops/generated/pointwise.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/scan.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/generated/vector_norm.h"
#include "pyburn/ops/rules.h"
#include "pyburn/runtime/autocast.h"
#include "pyburn/support/checked.h"

namespace pyburn {
namespace {

int64_t channels_of(const NormaliseRows& a, int64_t numel, int64_t rows) { return numel / rows * a.groups / a.inner; }

void check(const NormaliseRows& a, const Meta& x, int64_t rows) {
  require<DTypeError>(is_floating(x.dtype), "expected a floating dtype: got {}", x.dtype);
  const int64_t n = x.shape.numel();
  const bool fits = rows > 0 && a.groups > 0 && a.inner > 0 && n % rows == 0 && rows % a.groups == 0 && n / rows * a.groups % a.inner == 0;
  require<ValueError>(fits, "rows, groups and inner do not match: got {}, {} and {} for {}", rows, a.groups, a.inner, x.shape);
}
void check_channels(const Meta& t, const Meta& x, int64_t channels) {
  if (t == Meta{}) return;  // absent
  require(t.shape.numel() == channels, "expected one element per channel: got {} for {} channels", t.shape, channels);
  require<DTypeError>(t.dtype == x.dtype, "expected equal dtypes: got {} and {}", x.dtype, t.dtype);
}
MetaList infer(const NormaliseRows& a, Metas in) {
  check(a, in[0], a.rows);
  for (const Meta& t : in.subspan(1)) check_channels(t, in[0], channels_of(a, in[0].shape.numel(), a.rows));
  const Meta per_row{Shape{a.rows}, in[0].dtype};
  return {in[0], per_row, per_row};
}
MetaList infer_backward(const NormaliseRows& a, Metas in) {  // dy, x, mean, rstd, weight
  const int64_t rows = in[2].shape.numel();
  check(a, in[1], rows);
  require(in[0] == in[1] && in[2].shape == Shape{rows} && in[3] == in[2],
      "expected a gradient like the input and statistics per row: got {}, {}, {}, {}", in[0].shape, in[1].shape, in[2].shape, in[3].shape);
  const int64_t channels = channels_of(a, in[1].shape.numel(), rows);
  check_channels(in[4], in[1], channels);
  const Meta per_channel{Shape{channels}, in[1].dtype};
  return {in[1], per_channel, per_channel};
}

// The tensors as rules see them: rows of elements, or examples of channels.
struct Views {
  int64_t rows, examples, channels, inner;
  Views(const NormaliseRows& a, const TensorHandle& x, int64_t rows)
      : rows(rows), examples(rows / a.groups), channels(channels_of(a, x.numel(), rows)), inner(a.inner) {}
  TensorHandle by_row(const TensorHandle& t) const { return reshape(t, Dims{rows, channels * examples / rows * inner}); }
  TensorHandle by_channel(const TensorHandle& t) const { return reshape(t, Dims{examples, channels, inner}); }
  TensorHandle per_row(const TensorHandle& t) const { return reshape(t, Dims{rows, 1}); }
  TensorHandle per_channel(const TensorHandle& t) const { return reshape(t, Dims{channels, 1}); }
};

Tensors by_moments(const NormaliseRows& a, Inputs in) {
  const TensorHandle &x = *in[0], &weight = *in[1], &bias = *in[2];
  const Views v(a, x, a.rows);
  const TensorHandle rows = v.by_row(x);
  const TensorHandle average = a.centred ? mean(rows, Dims{1}, true) : zeros(Dims{a.rows, 1}, x.dtype(), &x.device());
  const TensorHandle centred = a.centred ? rows - average : rows;
  const TensorHandle rstd = rsqrt(mean(centred * centred, Dims{1}, true) + a.eps);
  TensorHandle y = v.by_channel(centred * rstd);
  if (weight.defined()) y = y * v.per_channel(weight);
  if (bias.defined()) y = y + v.per_channel(bias);
  return {reshape(y, x.shape()), reshape(average, Dims{a.rows}), reshape(rstd, Dims{a.rows})};
}
Tensors backward_by_moments(const NormaliseRows& a, Inputs in) {
  const TensorHandle &dy = *in[0], &x = *in[1], &average = *in[2], &rstd = *in[3], &weight = *in[4];
  const Views v(a, x, average.numel());
  const TensorHandle normal = (v.by_row(x) - v.per_row(average)) * v.per_row(rstd);
  const TensorHandle grads = v.by_channel(dy);
  const TensorHandle g = v.by_row(weight.defined() ? grads * v.per_channel(weight) : grads);
  TensorHandle dx = g - normal * mean(g * normal, Dims{1}, true);
  if (a.centred) dx = dx - mean(g, Dims{1}, true);
  return {reshape(dx * v.per_row(rstd), x.shape()), sum(grads * v.by_channel(normal), Dims{0, 2}), sum(grads, Dims{0, 2})};
}
Grads grad(const NormaliseRows& a, const GradContext& c) {
  const TensorHandle x = c.input(0), weight = c.input(1), average = c.output(1), rstd = c.output(2);
  const Views v(a, x, a.rows);
  TensorHandle dx, dweight, dbias;
  if (c.has_dy(0)) {
    auto [a0, a1, a2] = normalise_rows_backward(c.dy(0), x, average, rstd, weight, a.groups, a.inner, a.centred);
    dx = a0;
    if (c.needs(1)) dweight = reshape(a1, c.meta(1).shape);
    if (c.needs(2)) dbias = reshape(a2, c.meta(2).shape);
  }
  const double n = double(x.numel()) / double(a.rows);
  auto also = [&](const TensorHandle& more) { dx = dx.defined() ? dx + reshape(more, x.shape()) : reshape(more, x.shape()); };
  if (c.has_dy(1) && a.centred) also(expand(v.per_row(c.dy(1) / n), v.by_row(x).shape()));
  if (c.has_dy(2)) also((v.by_row(x) - v.per_row(average)) * v.per_row(c.dy(2) * pow(rstd, 3) * (-1 / n)));
  return {dx, dweight, dbias};
}

}  // namespace

namespace op {
constinit OpInfo normalise_rows = define<NormaliseRows, infer, grad, by_moments>(
    {.schema = "normalise_rows(Tensor input, Tensor? weight, Tensor? bias, int rows, int groups, int inner, float eps, bool centred) -> "
               "(Tensor output, Tensor mean, Tensor rstd)",
        .doc = "Normalises rows to mean 0 (if centred) and variance 1, then scales and shifts them: the building block of layer_norm, "
               "group_norm, instance_norm and rms_norm.",
        .autocast = Autocast::full,
        .saves = later_outputs,
        .reads = {{0, 1}, {0}, {0}},
        .torch = "lambda x, w, b, rows, groups, inner, eps, centred: (lambda v: (lambda m: (lambda r: ((((v - m) * r).reshape(rows // "
                 "groups, -1, inner) * (1 if w is None else w.reshape(-1, 1)) + (0 if b is None else b.reshape(-1, 1))).reshape(x.shape), "
                 "m.reshape(rows), r.reshape(rows)))(((v - m) ** 2).mean(1, keepdim=True).add(eps).rsqrt()))(v.mean(1, keepdim=True) if "
                 "centred else v.sum(1, keepdim=True) * 0))(x.reshape(rows, -1))",
        .example = "pyburn.normalise_rows(pyburn.tensor([[1., 3.]]), None, None, 1, 1, 1, 0., True).output",
        .samples = R"(
t(2, 3), t(3), t(3), 2, 1, 1, 0.01, True
t(2, 3), None, None, 2, 1, 1, 0.1, False
t(2, 4, 3), t(4), t(4), 4, 2, 3, 0.01, True
t(2, 4, 3), t(4), None, 8, 4, 3, 0.01, True
t(2, 4, 3), None, t(4), 4, 2, 3, 0.01, False
t(), None, None, 1, 1, 1, 0.5, True
t(3, 0), None, None, 3, 1, 1, 0.5, False
t(3, 4).T, t(3), None, 4, 1, 1, 0.01, True
t(1, 5).expand(2, 5), t(5), t(5), 2, 1, 1, 0.01, True
t(2, 3, dtype=f16), t(3, dtype=f16), None, 2, 1, 1, 0.01, True
t(3, 600), t(600), t(600), 3, 1, 1, 0.01, True
t(2, 3), t(2), None, 2, 1, 1, 0.1, True ! channel
t(2, dtype=i64), None, None, 1, 1, 1, 0.1, True ! floating
t(2, 3), None, None, 4, 1, 1, 0.1, True ! do not match)"});
constinit OpInfo normalise_rows_backward = define<NormaliseRows, infer_backward, nullptr, backward_by_moments>(
    {.schema = "normalise_rows_backward(Tensor grad_output, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, int groups, int inner, "
               "bool centred) -> (Tensor grad_input, Tensor grad_weight, Tensor grad_bias)",
        .doc = "Computes the gradients of normalise_rows.",
        .no_grad = "is differentiated through its decomposition",
        .torch =
            "lambda dy, x, m, r, w, groups, inner, centred: (lambda rows: (lambda n, d: (lambda g: (((g - n * (g * n).mean(1, "
            "keepdim=True) - (g.mean(1, keepdim=True) if centred else 0)) * r.reshape(-1, 1)).reshape(x.shape), (d * n.reshape(d.shape))"
            ".sum((0, 2)), d.sum((0, 2))))((d if w is None else d * w.reshape(-1, 1)).reshape(rows, -1)))((x.reshape(rows, -1) - "
            "m.reshape(-1, 1)) * r.reshape(-1, 1), dy.reshape(rows // groups, -1, inner)))(len(m))",
        .example = "pyburn.normalise_rows_backward(pyburn.ones(1, 2), pyburn.ones(1, 2), pyburn.ones(1), pyburn.ones(1), None, 1, 1, "
                   "True).grad_bias",
        .samples = R"(
t(2, 3), t(2, 3), t(2), positive(2), t(3), 1, 1, True
t(2, 3), t(2, 3), t(2), positive(2), None, 1, 1, False
t(2, 4, 3), t(2, 4, 3), t(4), positive(4), t(4), 2, 3, True
t(2, 4, 3), t(2, 4, 3), t(8), positive(8), None, 4, 3, True
t(), t(), t(1), positive(1), None, 1, 1, True
t(3, 0), t(3, 0), t(3), positive(3), None, 1, 1, False
t(4, 3), t(3, 4).T, t(4), positive(4), t(3), 1, 1, True
t(1, 5).expand(2, 5), t(2, 5), t(2), positive(2), t(5), 1, 1, True
t(2, 3, dtype=f16), t(2, 3, dtype=f16), t(2, dtype=f16), positive(2, dtype=f16), None, 1, 1, True
t(40, 30), t(40, 30), t(40), positive(40), t(30), 1, 1, True
t(2, 3), t(2, 4), t(2), positive(2), None, 1, 1, True ! like the input)"});
}  // namespace op

namespace {
constinit FunctionInfo functions[] = {
    {.schema = "layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05) -> Tensor",
        .doc = "Applies layer normalisation over the last dimensions, whose sizes are normalized_shape.",
        .torch = "torch.nn.functional.layer_norm",
        .example = "pyburn.layer_norm(pyburn.tensor([[1., 3.]]), (2,))",
        .samples = R"(
t(2, 3), (3,)
t(2, 3, 4), (3, 4), t(3, 4), t(3, 4)
t(2, 3), (3,), t(3), bias=t(3), eps=0.1
t(0, 3), (3,)
t(0, 3), (3,), t(3), t(3)
t(4, 3).T, (4,), t(4)
t(1, 5).expand(2, 5), (5,), t(5)
t(2, 3, dtype=f16), (3,)
t(2, 3), (2,) ! normalized_shape
t(2, 3), (3,), t() ! normalized_shape
t(), (1,) ! normalized_shape)"},
    {.schema = "rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor",
        .doc = "Applies root-mean-square normalisation over the last dimensions, whose sizes are normalized_shape.",
        .torch = "torch.nn.functional.rms_norm",
        .example = "pyburn.rms_norm(pyburn.tensor([[1., 3.]]), (2,))",
        .samples = R"(
t(2, 3), (3,)
t(2, 3, 4), (3, 4), t(3, 4)
t(2, 3), (3,), t(3), eps=0.1
t(0, 3), (3,)
t(4, 3).T, (4,), t(4)
t(1, 5).expand(2, 5), (5,), t(5)
t(2, 3), (2,) ! normalized_shape
t(), (1,) ! normalized_shape)"},
    {.schema = "group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05) -> Tensor",
        .doc = "Applies group normalisation to input (N, C, ...): normalises over groups of channels.",
        .torch = "torch.nn.functional.group_norm",
        .example = "pyburn.group_norm(pyburn.ones(1, 4, 2), 2).shape",
        .samples = R"(
t(2, 4, 3), 2
t(2, 4, 3), 4, t(4), t(4)
t(2, 4), 1, t(4), bias=t(4), eps=0.1
t(0, 4, 3), 2
t(3, 4, 2).permute(2, 1, 0), 2, t(4)
t(1, 4, 3).expand(2, 4, 3), 2, t(4)
t(2, 4, 3), 3 ! num_groups
t(2, 0, 3), 1 ! channels
t(2, 4, 0), 2 ! HxW
t(), 1 ! at least 2)"},
    {.schema = "instance_norm(Tensor input, Tensor? running_mean=None, Tensor? running_var=None, Tensor? weight=None, Tensor? bias=None, "
               "bool use_input_stats=True, float momentum=0.1, float eps=1e-05) -> Tensor",
        .doc = "Applies instance normalisation to input (N, C, ...): normalises each channel of each sample.",
        .torch = "torch.nn.functional.instance_norm",
        .example = "pyburn.instance_norm(pyburn.ones(1, 4, 2)).shape",
        .samples = R"(
t(2, 3, 4)
t(2, 3, 4), None, None, t(3), t(3)
t(2, 3, 4, 2), t(3).constant, positive(3).constant, t(3), bias=t(3), eps=0.1
t(2, 3, 4), t(3).constant, positive(3).constant, use_input_stats=False
t(2, 3, 4), t(3).constant, positive(3).constant, momentum=0.5
t(0, 3, 4)
t(4, 3, 2).permute(2, 1, 0), weight=t(3)
t(1, 3, 4).expand(2, 3, 4)
t() ! at least 3
t(2, 3) ! at least 3)"},
    {.schema = "batch_norm(Tensor input, Tensor? running_mean, Tensor? running_var, Tensor? weight=None, Tensor? bias=None, "
               "bool training=False, float momentum=0.1, float eps=1e-05) -> Tensor",
        .doc = "Applies batch normalisation to input (N, C, ...): uses and updates batch statistics in training mode, else the running "
               "statistics.",
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
t(0, 3, 2), t(3).constant, positive(3).constant, t(3), t(3), True
t(4, 3), None, None, None, None, True, 0.1, -1.0 ! eps
t(4, 3), t(3).constant, positive(3).constant, eps=-1.0 ! eps
t(4, 3, dtype=f16), t(3).constant, positive(3).constant, t(3), t(3), True
t(1, 3), None, None, training=True ! more than 1
t(), t(3).constant, positive(3).constant ! at least 2
t(4, 3), None, None ! running)"},
    {.schema = "local_response_norm(Tensor input, int size, float alpha=0.0001, float beta=0.75, float k=1.0) -> Tensor",
        .doc = "Applies local response normalisation over neighbouring channels of input (N, C, ...).",
        .torch = "torch.nn.functional.local_response_norm",
        .example = "pyburn.local_response_norm(pyburn.ones(1, 4, 2), 2).shape",
        .samples = R"(
t(2, 4, 3), 2
t(2, 4, 3), 3, 0.1, 0.5, 2.0
t(2, 4, 3, 2), 5, alpha=0.5, beta=1.0, k=1.5
t(0, 4, 3), 2
t(3, 4, 2).permute(2, 1, 0), 2
t(1, 4, 3).expand(2, 4, 3), 2
t() , 2 ! at least 3
t(2, 4, 3), 0 ! size)"},
    {.schema = "normalize(Tensor input, float p=2.0, int dim=1, float eps=1e-12) -> Tensor",
        .doc = "Divides input by its p-norm along dim, or by eps where the norm is smaller.",
        .torch = "torch.nn.functional.normalize",
        .example = "pyburn.normalize(pyburn.tensor([[3., 4.]]))",
        .samples = R"(
t(2, 3)
t(2, 3), 1.0, 0
t(2, 3), p=3.0, dim=-1, eps=2.0
t(), dim=0
t(0, 3)
t(3, 4).T
t(2, 1).expand(2, 5)
t(2, 3), dim=2 ! dim out of range)",
        .out = true},
};

void check_tail(const TensorHandle& x, const Dims& tail, std::initializer_list<const TensorHandle*> affine, const char* op) {
  bool fits = tail.size() > 0 && tail.size() <= x.rank();
  for (int64_t i = 0; fits && i < tail.size(); ++i) fits = x.shape()[x.rank() - tail.size() + i] == tail[i];
  require(fits, "[{}] the last dimensions of input must equal normalized_shape: got {} for {}", op, tail, x.shape());
  for (const TensorHandle* t : affine)
    if (t->defined())
      require(t->shape() == Shape(tail), "[{}] expected weight and bias of normalized_shape {}: got {}", op, tail, t->shape());
}
int64_t product(const Dims& dims) { return Shape(dims).numel(); }

// running = (1 - momentum) * running + momentum * value
void move_towards(const TensorHandle& running, const TensorHandle& value, double momentum) {
  add_into(running, mul(running, 1 - momentum), mul(value, momentum));
}
// One number per channel, along axis 1 of x.
TensorHandle along_channels(const TensorHandle& t, const TensorHandle& x) {
  Dims along(x.rank(), 1);
  along[1] = t.numel();
  return reshape(t, along);
}
// What becomes of an input without elements: nothing again, and gradients of zeros for the weight and the bias.
TensorHandle scaled_nothing(const TensorHandle& x, const TensorHandle& weight, const TensorHandle& bias) {
  TensorHandle y = weight.defined() ? x * weight : clone(x);
  if (bias.defined()) y = y + bias;
  return y;
}
void check_per_channel(const TensorHandle& x, std::initializer_list<const TensorHandle*> tensors, const char* op) {
  for (const TensorHandle* t : tensors)
    if (t->defined())
      require(t->shape() == Shape{x.shape()[1]}, "[{}] expected one element per channel: got {} for an input of shape {}", op, t->shape(),
          x.shape());
}
// Whether halves are normalised with parameters of float32, as under mixed precision. Both are float32 then, and the result is halves
// again.
bool is_mixed(const TensorHandle& x, std::initializer_list<const TensorHandle*> parameters) {
  if (autocast_active() || (x.dtype() != DType::float16 && x.dtype() != DType::bfloat16)) return false;  // autocast converts by itself
  return std::any_of(
      parameters.begin(), parameters.end(), [](const TensorHandle* t) { return t->defined() && t->dtype() == DType::float32; });
}
TensorHandle scaled(const TensorHandle& x, const TensorHandle& average, const TensorHandle& variance, const TensorHandle& weight,
    const TensorHandle& bias, double eps) {
  TensorHandle scale = rsqrt(variance + eps);
  if (weight.defined()) scale = scale * weight;
  const TensorHandle y = (x - along_channels(average, x)) * along_channels(scale, x);
  return bias.defined() ? y + along_channels(bias, x) : y;
}
}  // namespace

TensorHandle fn::layer_norm(
    const TensorHandle& input, const Dims& normalized_shape, const TensorHandle& weight, const TensorHandle& bias, double eps) {
  check_tail(input, normalized_shape, {&weight, &bias}, "layer_norm");
  if (is_mixed(input, {&weight, &bias}))
    return cast(layer_norm(cast(input, DType::float32), normalized_shape, weight, bias, eps), input.dtype());
  const int64_t n = product(normalized_shape);
  if (input.numel() == 0) return scaled_nothing(input, weight, bias);
  return normalise_rows(input, weight, bias, input.numel() / n, 1, 1, eps, true)[0];
}
TensorHandle fn::rms_norm(const TensorHandle& input, const Dims& normalized_shape, const TensorHandle& weight, std::optional<double> eps) {
  check_tail(input, normalized_shape, {&weight}, "rms_norm");
  if (input.numel() == 0) return scaled_nothing(input, weight, {});
  const double least = input.dtype() == DType::float64   ? std::numeric_limits<double>::epsilon()
                       : input.dtype() == DType::float32 ? double(std::numeric_limits<float>::epsilon())
                       : input.dtype() == DType::float16 ? 0x1p-10
                                                         : 0x1p-7;
  return normalise_rows(input, weight, {}, input.numel() / product(normalized_shape), 1, 1, eps.value_or(least), false)[0];
}
TensorHandle fn::group_norm(
    const TensorHandle& input, int64_t num_groups, const TensorHandle& weight, const TensorHandle& bias, double eps) {
  require(input.rank() >= 2, "[group_norm] expected at least 2 dimensions: got {}", input.shape());
  const int64_t channels = input.shape()[1];
  require<ValueError>(num_groups > 0 && channels % num_groups == 0,
      "[group_norm] num_groups must divide the number of channels: got {} for {}", num_groups, channels);
  require(channels > 0, "[group_norm] Expected number of channels to be greater than 0: got {}", input.shape());
  require(input.shape()[0] == 0 || input.numel() > 0, "[group_norm] Expected HxW to be greater than 0: got {}", input.shape());
  check_per_channel(input, {&weight, &bias}, "group_norm");
  if (is_mixed(input, {&weight, &bias})) return cast(group_norm(cast(input, DType::float32), num_groups, weight, bias, eps), input.dtype());
  require<ValueError>(
      input.numel() != num_groups, "[group_norm] expected more than 1 value per channel when training: got {}", input.shape());
  if (input.numel() == 0)
    return scaled_nothing(
        input, weight.defined() ? along_channels(weight, input) : weight, bias.defined() ? along_channels(bias, input) : bias);
  const int64_t examples = input.shape()[0];
  return normalise_rows(input, weight, bias, examples * num_groups, num_groups, input.numel() / examples / channels, eps, true)[0];
}
TensorHandle fn::instance_norm(const TensorHandle& input, const TensorHandle& running_mean, const TensorHandle& running_var,
    const TensorHandle& weight, const TensorHandle& bias, bool use_input_stats, double momentum, double eps) {
  require(input.rank() >= 3, "[instance_norm] expected at least 3 dimensions: got {}", input.shape());
  check_per_channel(input, {&running_mean, &running_var, &weight, &bias}, "instance_norm");
  if (is_mixed(input, {&running_mean, &running_var, &weight, &bias}))
    return cast(
        instance_norm(cast(input, DType::float32), running_mean, running_var, weight, bias, use_input_stats, momentum, eps), input.dtype());
  if (!use_input_stats) {
    require<ValueError>(
        running_mean.defined() && running_var.defined(), "[instance_norm] running statistics are needed without use_input_stats");
    return scaled(input, running_mean, running_var, weight, bias, eps);
  }
  require<ValueError>(input.numel() != Checked(input.shape()[0]) * input.shape()[1] || input.numel() == 0,
      "[instance_norm] expected more than 1 spatial element when training: got {}", input.shape());
  if (running_mean.defined() || running_var.defined()) {
    Dims over;
    for (int i = 2; i < input.rank(); ++i) over.push_back(i);
    const auto [variance, average] = var_mean(detach(input), over);
    if (running_mean.defined()) move_towards(running_mean, mean(average, Dims{0}), momentum);
    if (running_var.defined()) move_towards(running_var, mean(variance, Dims{0}), momentum);
  }
  return group_norm(input, input.shape()[1], weight, bias, eps);
}
TensorHandle fn::batch_norm(const TensorHandle& input, const TensorHandle& running_mean, const TensorHandle& running_var,
    const TensorHandle& weight, const TensorHandle& bias, bool training, double momentum, double eps) {
  require(input.rank() >= 2, "[batch_norm] expected at least 2 dimensions: got {}", input.shape());
  require<ValueError>(
      training || (running_mean.defined() && running_var.defined()), "[batch_norm] running statistics are required when not training");
  check_per_channel(input, {&running_mean, &running_var, &weight, &bias}, "batch_norm");
  require<ValueError>(
      training ? eps > 0 : eps >= 0, "[batch_norm] eps must be {}: got {}", training ? "positive during training" : "non-negative", eps);
  if (is_mixed(input, {&running_mean, &running_var, &weight, &bias}))
    return cast(batch_norm(cast(input, DType::float32), running_mean, running_var, weight, bias, training, momentum, eps), input.dtype());
  if (!training) {  // one pass over the input
    TensorHandle scale = rsqrt(running_var + eps);
    if (weight.defined()) scale = scale * weight;
    const TensorHandle shift = bias.defined() ? bias - running_mean * scale : -(running_mean * scale);
    return addcmul(along_channels(shift, input), input, along_channels(scale, input), Scalar(1));
  }
  Dims over;
  for (int i = 0; i < input.rank(); ++i)
    if (i != 1) over.push_back(i);
  const int64_t n = count(input.shape(), over);
  require<ValueError>(n != 1, "[batch_norm] expected more than 1 value per channel when training: got {}", input.shape());
  if (input.numel() == 0)
    return scaled_nothing(
        input, weight.defined() ? along_channels(weight, input) : weight, bias.defined() ? along_channels(bias, input) : bias);
  const auto [y, average, variance] = normalise_batch(input, weight, bias, eps);
  if (running_mean.defined()) move_towards(running_mean, detach(average), momentum);
  if (running_var.defined()) move_towards(running_var, detach(variance) * (double(n) / double(n - 1)), momentum);
  return y;
}
TensorHandle fn::local_response_norm(const TensorHandle& input, int64_t size, double alpha, double beta, double k) {
  require(input.rank() >= 3, "[local_response_norm] expected at least 3 dimensions: got {}", input.shape());
  require<ValueError>(size > 0, "[local_response_norm] expected a size of at least 1: got {}", size);
  if (input.numel() == 0) return clone(input);
  // A window of channels sums to a difference of two running sums.
  const int64_t channels = input.shape()[1];
  const TensorHandle sums = cumsum(input * input, 1);
  const TensorHandle ends = arange(channels, {}, 1, DType::int64, &input.device());
  const TensorHandle last = minimum(ends + (size - 1) / 2, channels - 1), before = ends - (size / 2 + 1);
  const TensorHandle low = where(along_channels(lt(before, 0), input), 0.0, index_select(sums, 1, maximum(before, 0)));
  const TensorHandle squares = index_select(sums, 1, last) - low;
  return input / pow(squares * (alpha / double(size)) + k, beta);
}
TensorHandle fn::normalize(const TensorHandle& input, double p, int64_t dim, double eps) {
  return input / maximum(linalg_vector_norm(input, p, Dims{dim}, true), eps);
}

void register_normalisation(OpTable& table) {
  table.add({&op::normalise_rows, &op::normalise_rows_backward});
  table.add(functions);
}

}  // namespace pyburn
