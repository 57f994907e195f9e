// Activation functions.
#include "pyburn/ops/generated/activation.h"

#include "pyburn/onnx/call.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/dropout.h"
#include "pyburn/ops/generated/extremum.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/pointwise.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/generated/softmax.h"
#include "pyburn/ops/generated/transcendental.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/generated/views.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

template <TensorHandle (*F)(const TensorHandle&)>
Results unary(Call& c) {
  return F(c.input(0));
}

Results leaky_relu(Call& c) { return fn::leaky_relu(c.input(0), c.real("alpha", 0.01)); }
Results elu(Call& c) { return fn::elu(c.input(0), c.real("alpha", 1)); }
Results celu(Call& c) { return fn::celu(c.input(0), c.real("alpha", 1)); }
Results selu(Call& c) {
  const double alpha = c.real("alpha", 1.67326319217681884765625), gamma = c.real("gamma", 1.05070102214813232421875);
  return fn::elu(c.input(0), alpha, gamma);
}
Results hard_sigmoid(Call& c) {
  const TensorHandle x = c.input(0);
  return fn::clamp(fn::add(fn::mul(x, c.real("alpha", double(0.2f))), c.real("beta", 0.5)), 0.0, 1.0);
}
Results gelu(Call& c) { return fn::gelu(c.input(0), c.text("approximate", "none")); }
Results swish(Call& c) {
  const TensorHandle x = c.input(0);
  const double alpha = c.real("alpha", 1);
  return alpha == 1 ? fn::silu(x) : fn::mul(x, fn::sigmoid(fn::mul(x, alpha)));
}
Results thresholded_relu(Call& c) { return fn::threshold(c.input(0), c.real("alpha", 1), 0.0); }
Results shrink(Call& c) {
  const TensorHandle x = c.input(0);
  const double bias = c.real("bias", 0), lambda = c.real("lambd", 0.5);
  const TensorHandle zero = fn::zeros_like(x);
  return fn::where(fn::lt(x, -lambda), fn::add(x, bias), fn::where(fn::gt(x, lambda), fn::sub(x, bias), zero));
}
// The slope is broadcast to x; that of PyTorch belongs to channels.
Results prelu(Call& c) {
  const TensorHandle x = c.input(0), slope = c.input(1);
  bool by_channel = (slope.rank() == x.rank() - 1 || (slope.rank() == 1 && c.opset() < 7)) && x.rank() > 1 && slope.rank() > 0 &&
                    slope.shape()[0] == x.shape()[1];
  for (int axis = 1; axis < slope.rank(); ++axis) by_channel = by_channel && slope.shape()[axis] == 1;
  if (by_channel || slope.numel() == 1) return fn::prelu(x, fn::reshape(slope, {-1}));
  return fn::where(fn::lt(x, 0), fn::mul(x, slope), x);
}

// Until version 12 the tensor is taken as a matrix: what is before axis are its rows. The axis may be that after the last.
int row_axis(Call& c, const TensorHandle& x) {
  const int64_t axis = c.integer("axis", 1);
  return axis == x.rank() ? x.rank() : normalise_dim(axis, x.rank());
}
template <TensorHandle (*F)(const TensorHandle&, int64_t, std::optional<DType>)>
Results softmax_of_rows(Call& c) {
  const TensorHandle x = c.input(0);
  const int axis = row_axis(c, x);
  if (axis == x.rank() - 1) return F(x, axis, {});
  const TensorHandle flat = axis == x.rank() ? fn::unsqueeze(x, -1) : fn::flatten(x, axis);
  return fn::reshape(F(flat, -1, {}), x.shape());
}
template <TensorHandle (*F)(const TensorHandle&, int64_t, std::optional<DType>)>
Results softmax_of_axis(Call& c) {
  return F(c.input(0), c.integer("axis", -1), {});
}
// 1 at the first of the largest elements.
TensorHandle hardmax_along(const TensorHandle& x, int64_t axis) {
  const TensorHandle largest = fn::argmax(x, axis, true);
  const int dim = normalise_dim(axis, x.rank());
  Dims shape(x.rank(), 1);
  shape[dim] = x.shape()[dim];
  const TensorHandle places = fn::reshape(fn::arange({}, x.shape()[dim], 1, DType::int64, &x.device()), shape);
  return fn::cast(fn::eq(places, largest), x.dtype());
}
Results hardmax_of_rows(Call& c) {
  const TensorHandle x = c.input(0);
  const int axis = row_axis(c, x);
  const TensorHandle flat = axis == x.rank() ? fn::unsqueeze(x, -1) : fn::flatten(x, axis);
  return fn::reshape(hardmax_along(flat, -1), x.shape());
}
Results hardmax_of_axis(Call& c) { return hardmax_along(c.input(0), c.integer("axis", -1)); }

// The ratio, and whether the file says that it trains (since 12). The mode of the model counts as well.
Results dropout(Call& c) {
  const TensorHandle x = c.input(0);
  const double ratio = c.has_input(1) ? c.read_number(1) : c.real("ratio", 0.5);
  const bool trains = c.training() || (c.has_input(2) && c.read_boolean(2));
  const bool drops = trains && ratio > 0;
  if (!drops) return Results{Value(x), c.wants_output(1) ? Value(fn::ones_like(x, DType::boolean)) : Value()};
  if (!c.wants_output(1)) return fn::dropout(x, ratio);
  const TensorHandle kept = fn::dropout(fn::ones_like(x), ratio);
  return {fn::mul(x, kept), fn::ne(kept, 0)};
}

constexpr Operator kRows[] = {
    {"", "Relu", 1, unary<fn::relu>},
    {"", "LeakyRelu", 1, leaky_relu},
    {"", "PRelu", 1, prelu},
    {"", "Elu", 1, elu},
    {"", "Celu", 12, celu},
    {"", "Selu", 1, selu},
    {"", "Sigmoid", 1, unary<fn::sigmoid>},
    {"", "HardSigmoid", 1, hard_sigmoid},
    {"", "HardSwish", 14, unary<fn::hardswish>},
    {"", "Tanh", 1, unary<fn::tanh>},
    {"", "Softplus", 1, [](Call& c) -> Results { return fn::softplus(c.input(0)); }},
    {"", "Softsign", 1, unary<fn::softsign>},
    {"", "Gelu", 20, gelu},
    {"", "Mish", 18, unary<fn::mish>},
    {"", "Swish", 24, swish},
    {"", "ThresholdedRelu", 10, thresholded_relu},
    {"", "Shrink", 9, shrink},
    {"", "Softmax", 1, softmax_of_rows<fn::softmax>},
    {"", "Softmax", 13, softmax_of_axis<fn::softmax>},
    {"", "LogSoftmax", 1, softmax_of_rows<fn::log_softmax>},
    {"", "LogSoftmax", 13, softmax_of_axis<fn::log_softmax>},
    {"", "Hardmax", 1, hardmax_of_rows},
    {"", "Hardmax", 13, hardmax_of_axis},
    {"", "Dropout", 1, dropout, inputs_at(1, 2)},
};

}  // namespace

std::span<const Operator> activation_operators() { return kRows; }

}  // namespace pyburn::onnx
