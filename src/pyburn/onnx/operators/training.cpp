// Steps of optimisers, of the domain ai.onnx.preview.training.
#include <cmath>

#include "pyburn/onnx/call.h"
#include "pyburn/ops/generated/unary.h"
#include "pyburn/ops/operators.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

// Inputs: learning rate, step, then all parameters, all gradients, and each kind of state of all; outputs in the same order.
class Step {
 public:
  Step(Call& c, int states)
      : c_(c), rate_(c.read_number(0)), step_(c.read_integer(1)), kinds_(2 + states), count_((c.inputs() - 2) / kinds_) {
    require<FormatError>(
        c.inputs() > 2 && (c.inputs() - 2) % kinds_ == 0, "[onnx] expected {} inputs for each parameter: got {}", kinds_, c.inputs() - 2);
    outputs_.resize(size_t(count_ * (1 + states)));
  }
  double rate() const { return rate_; }
  int64_t step() const { return step_; }
  int count() const { return count_; }
  TensorHandle x(int i) const { return c_.input(2 + i); }
  TensorHandle gradient(int i) const {  // of the penalty, too
    const TensorHandle g = c_.input(2 + count_ + i);
    const double decay = c_.real("norm_coefficient", 0);
    return decay == 0 ? g : x(i) * decay + g;
  }
  TensorHandle state(int kind, int i) const { return c_.input(2 + (2 + kind) * count_ + i); }
  void set(int kind, int i, TensorHandle t) { outputs_[size_t(kind * count_ + i)] = Value(std::move(t)); }
  Results results() { return std::move(outputs_); }

 private:
  Call& c_;
  double rate_;
  int64_t step_;
  int kinds_, count_;
  Values outputs_;
};

Results adagrad(Call& c) {
  Step s(c, 1);
  const double rate = s.rate() / (1 + double(s.step()) * c.real("decay_factor", 0)), epsilon = c.real("epsilon", double(1e-6f));
  for (int i = 0; i < s.count(); ++i) {
    const TensorHandle g = s.gradient(i), squares = s.state(0, i) + g * g;
    s.set(0, i, s.x(i) - g * rate / (fn::sqrt(squares) + epsilon));
    s.set(1, i, squares);
  }
  return s.results();
}

Results adam(Call& c) {
  Step s(c, 2);
  const double alpha = c.real("alpha", double(0.9f)), beta = c.real("beta", double(0.999f)), epsilon = c.real("epsilon", double(1e-6f)),
               after = c.real("norm_coefficient_post", 0);
  const auto t = double(s.step());
  const double rate = t > 0 ? s.rate() * std::sqrt(1 - std::pow(beta, t)) / (1 - std::pow(alpha, t)) : s.rate();
  for (int i = 0; i < s.count(); ++i) {
    const TensorHandle g = s.gradient(i);
    const TensorHandle v = s.state(0, i) * alpha + g * (1 - alpha), h = s.state(1, i) * beta + g * g * (1 - beta);
    const TensorHandle x = s.x(i) - v * rate / (fn::sqrt(h) + epsilon);
    s.set(0, i, after == 0 ? x : x * (1 - after));
    s.set(1, i, v), s.set(2, i, h);
  }
  return s.results();
}

Results momentum(Call& c) {
  Step s(c, 1);
  const double alpha = c.real("alpha"), beta = s.step() > 0 ? c.real("beta") : 1;
  const std::string mode = c.text("mode");
  require<FormatError>(mode == "standard" || mode == "nesterov", "[onnx] mode must be standard or nesterov: got '{}'", mode);
  for (int i = 0; i < s.count(); ++i) {
    const TensorHandle g = s.gradient(i), v = s.state(0, i) * alpha + g * beta;
    s.set(0, i, s.x(i) - (mode == "nesterov" ? g + v * alpha : v) * s.rate());
    s.set(1, i, v);
  }
  return s.results();
}

constexpr std::string_view kTraining = "ai.onnx.preview.training";
constexpr Operator kRows[] = {
    {kTraining, "Adagrad", 1, adagrad, inputs_at(0, 1)},
    {kTraining, "Adam", 1, adam, inputs_at(0, 1)},
    {kTraining, "Momentum", 1, momentum, inputs_at(0, 1)},
};

}  // namespace

std::span<const Operator> training_operators() { return kRows; }

}  // namespace pyburn::onnx
