// Optimisers in C++, against the formulas of PyTorch's documentation computed by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/nn/nn.h"
#include "pyburn/ops/functions.h"
#include "pyburn/optim/lbfgs.h"
#include "pyburn/optim/optimizer.h"
#include "pyburn/optim/schedule.h"
#include "pyburn/runtime/autocast.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/start.h"

using namespace pyburn;

namespace {

struct Optim : testing::Test {
  Optim() { start(); }
};

nn::Parameter number(double value, DType dtype = DType::float64) { return nn::Parameter(full({1}, value, dtype)); }
void set_gradient(const Tensor& p, double value) { autograd::set_grad(p, full({1}, value, p.dtype())); }
double value_of(const Tensor& p) { return read_number(detach(p)); }

TEST_F(Optim, SgdWithNesterovMomentumAndDecay) {
  const Tensor p = number(1);
  optim::SGD sgd({p}, {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01, .nesterov = true});
  double x = 1, buffer = 0;
  for (int step = 0; step < 4; ++step) {
    set_gradient(p, 0.5 + step);
    sgd.step();
    const double g = 0.5 + step + 0.01 * x;
    buffer = step == 0 ? g : 0.9 * buffer + g;
    x -= 0.1 * (g + 0.9 * buffer);
    EXPECT_NEAR(value_of(p), x, 1e-12);
  }
}

TEST_F(Optim, AdamAndAdamWWithAmsgrad) {
  for (bool decoupled : {false, true}) {
    const Tensor p = number(1);
    optim::Adam adam({p}, {.lr = 0.1, .weight_decay = 0.1, .amsgrad = true, .decoupled_weight_decay = decoupled});
    double x = 1, m = 0, v = 0, top = 0;
    for (int step = 1; step <= 4; ++step) {
      set_gradient(p, 3.0 / step);
      adam.step();
      const double g = 3.0 / step + (decoupled ? 0 : 0.1 * x);
      if (decoupled) x *= 1 - 0.1 * 0.1;
      m = 0.9 * m + 0.1 * g;
      v = 0.999 * v + 0.001 * g * g;
      top = std::max(top, v);
      x -= 0.1 / (1 - std::pow(0.9, step)) * m / (std::sqrt(top) / std::sqrt(1 - std::pow(0.999, step)) + 1e-8);
      EXPECT_NEAR(value_of(p), x, 1e-12);
    }
  }
}

TEST_F(Optim, MixedDtypesAndMissingGradients) {
  const Tensor a = number(1), b = number(1, DType::float32), untouched = number(1);
  optim::SGD sgd({a, b, untouched}, {.lr = 0.5});
  set_gradient(a, 1), set_gradient(b, 2);
  sgd.step();
  EXPECT_EQ(value_of(a), 0.5);
  EXPECT_EQ(value_of(b), 0);
  EXPECT_EQ(value_of(untouched), 1);
  sgd.zero_grad();
  EXPECT_FALSE(autograd::grad_of(a).defined());
}

TEST_F(Optim, GroupsHaveOptionsOfTheirOwn) {
  const Tensor a = number(1), b = number(1);
  optim::AdamW adam({{{a}, {.lr = 0.1, .weight_decay = 0}}, {{b}, {.lr = 0.2, .weight_decay = 0}}});
  for (const TensorHandle& p : {a, b}) set_gradient(p, 1);
  adam.step();
  EXPECT_NEAR(value_of(a), 0.9, 1e-6);
  EXPECT_NEAR(value_of(b), 0.8, 1e-6);
}

TEST_F(Optim, StateRoundTrips) {
  const Tensor p = number(1), q = number(1);
  optim::Adam one({p}), two({q});
  set_gradient(p, 1);
  one.step();
  const auto saved = one.state_dict();
  EXPECT_EQ(saved.state.at(0).step, 1);
  two.load_state_dict(saved);
  autograd::NoGrad no_grad;
  detach(q).mul_(0).add_(value_of(p));
  for (auto* t : {&p, &q}) set_gradient(*t, 2);
  one.step(), two.step();
  EXPECT_EQ(value_of(p), value_of(q));
  EXPECT_THROW(optim::Adam({p, q}).load_state_dict(saved), ValueError);
}

// One step from 1 with gradient 2 and lr 0.1, for optimisers whose first step is known by heart.
template <class Optimizer, class Options>
double first_step(Options options) {
  const Tensor p = number(1);
  Optimizer optimizer({p}, options);
  set_gradient(p, 2);
  optimizer.step();
  return value_of(p);
}
TEST_F(Optim, FirstStepsOfTheOthers) {
  EXPECT_NEAR(first_step<optim::Adamax>(optim::AdamaxOptions{.lr = 0.1}), 0.9, 1e-6);
  EXPECT_NEAR(first_step<optim::RAdam>(optim::RAdamOptions{.lr = 0.1}), 0.8, 1e-12);
  EXPECT_NEAR(first_step<optim::Lion>(optim::LionOptions{.lr = 0.1, .weight_decay = 0.5}), 0.85, 1e-12);
  EXPECT_NEAR(first_step<optim::Adan>(optim::AdanOptions{.lr = 0.1}), 0.9, 1e-6);
  EXPECT_NEAR(first_step<optim::Adagrad>(optim::AdagradOptions{.lr = 0.1, .initial_accumulator_value = 12}), 1 - 0.2 / 4, 1e-9);
  EXPECT_NEAR(first_step<optim::RMSprop>(optim::RmspropOptions{.lr = 0.1, .alpha = 0.75}), 0.8, 1e-6);
  EXPECT_NEAR(first_step<optim::Rprop>(optim::RpropOptions{.lr = 0.1}), 0.9, 1e-12);
  EXPECT_NEAR(first_step<optim::ASGD>(optim::AsgdOptions{.lr = 0.125, .lambd = 0.5}), 0.9375 - 0.25, 1e-12);
  EXPECT_NEAR(first_step<optim::Adafactor>(optim::AdafactorOptions{.lr = 0.1}), 0.9, 1e-12);
}

TEST_F(Optim, GradientsAreClipped) {
  for (const auto& [clip, expected] :
      {std::pair{optim::GradientClipping::by_value(0.5), 0.95}, {optim::GradientClipping::by_norm(1), 0.9}}) {
    const Tensor p = number(1);
    optim::SGD sgd({p}, {.lr = 0.1}, clip);
    set_gradient(p, 3);
    sgd.step();
    EXPECT_NEAR(value_of(p), expected, 1e-6);
    EXPECT_EQ(value_of(Tensor(autograd::grad_of(p))), 3);
  }
  EXPECT_THROW(optim::GradientClipping::by_norm(0), ValueError);
}

TEST_F(Optim, LbfgsFindsTheBottomOfAValley) {
  const Tensor x = number(-1), y = number(1.5);
  optim::LBFGS lbfgs({x, y}, {.line_search_fn = "strong_wolfe"});
  auto loss = [&] {
    lbfgs.zero_grad();
    const Tensor value = (pow(1 - x, 2) + pow(y - x * x, 2) * 20).sum();
    autograd::backward(value);
    return read_number(value);
  };
  EXPECT_NEAR(lbfgs.step(loss), 9, 1e-12);
  for (int i = 0; i < 9; ++i) lbfgs.step(loss);
  EXPECT_NEAR(value_of(x), 1, 1e-3);
  EXPECT_NEAR(value_of(y), 1, 1e-3);
}

TEST_F(Optim, SchedulesAreFunctions) {
  using optim::Schedule;
  const Schedule rate = Schedule::linear(0, 1, 4) * Schedule::cosine(2, 0, 4);
  EXPECT_NEAR(rate(2), 0.5, 1e-12);
  EXPECT_NEAR(Schedule::noam(1, 4, 4)(3), 0.25, 1e-12);
  EXPECT_NEAR(Schedule::one_cycle({.max = 1, .total_steps = 10})(9), 1 / 25.0 / 1e4, 1e-12);
  EXPECT_NEAR(Schedule::sequential({Schedule::constant(3), Schedule::exponential(1, 0.5)}, {2})(4), 0.25, 1e-12);
  EXPECT_THROW(Schedule::linear(0, 1, 0), ValueError);
}

TEST_F(Optim, AutocastLowersProductsAndKeepsSums) {
  const nn::Parameter w = nn::Parameter(ones({2, 2}));
  Tensor y;
  {
    const AutocastScope scope({.enabled = true});
    y = matmul(ones({2, 2}), w);
    EXPECT_EQ(y.dtype(), DType::bfloat16);
    EXPECT_EQ(exp(y).dtype(), DType::float32);
    EXPECT_EQ(sum(y).dtype(), DType::float32);
  }
  EXPECT_EQ(sum(y).dtype(), DType::bfloat16);
  autograd::backward(y.sum());
  EXPECT_EQ(autograd::grad_of(w).dtype(), DType::float32);
  EXPECT_THROW(AutocastScope({.enabled = true, .dtype = DType::int64}), DTypeError);
}

TEST_F(Optim, RefusesWhatMakesNoSense) {
  const Tensor p = number(1);
  EXPECT_THROW(optim::SGD(std::vector<TensorHandle>{}), ValueError);
  EXPECT_THROW(optim::SGD({p}, {.lr = -1}), ValueError);
  EXPECT_THROW(optim::SGD({p}, {.nesterov = true}), ValueError);
  EXPECT_THROW(optim::Adam({p}, {.beta1 = 1}), ValueError);
  EXPECT_THROW(optim::SGD({p * 2}), ValueError);
  optim::SGD sgd({p});
  EXPECT_THROW(sgd.add_param_group({{p}, {}}), ValueError);
}

}  // namespace
