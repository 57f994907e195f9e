// Optimisers in C++, against the formulas of PyTorch's documentation computed by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/nn/nn.h"
#include "pyburn/ops/functions.h"
#include "pyburn/optim/optimizer.h"
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
