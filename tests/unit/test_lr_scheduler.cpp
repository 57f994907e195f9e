// Schedulers under PyTorch's names, steps with closures and hooks, SparseAdam, update_bn.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/io/fields_json.h"
#include "pyburn/nn/nn.h"
#include "pyburn/ops/functions.h"
#include "pyburn/optim/averaged_model.h"
#include "pyburn/optim/lbfgs.h"
#include "pyburn/optim/lr_scheduler.h"
#include "pyburn/optim/plateau.h"
#include "pyburn/optim/rate_plot.h"
#include "pyburn/optim/sparse_adam.h"
#include "pyburn/optim/update_bn.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/start.h"
#include "pyburn/support/file_error.h"

using namespace pyburn;

namespace {

struct Schedulers : testing::Test {
  Schedulers() { start(); }
};

nn::Parameter number(double value) { return nn::Parameter(full({1}, value, DType::float64)); }
double value_of(const TensorHandle& p) { return read_number(detach(p)); }

using Rates = std::vector<double>;

// The rates of an optimiser that starts at 1, and its momentum.
struct Course {
  Rates lr, momentum;
};
template <class Rule>
Course course(const Rule& rule, int steps) {
  optim::SGD sgd({number(1)}, {.lr = 1, .momentum = 0.9});
  optim::LRScheduler scheduler(sgd, rule);
  Course c;
  for (int i = 0; i < steps; ++i) {
    c.lr.push_back(scheduler.get_last_lr()[0]);
    c.momentum.push_back(sgd.param_groups[0].options.momentum);
    scheduler.step();
  }
  return c;
}
void expect_near(const Rates& found, const Rates& expected, const char* what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-6) << what << " at " << i;
}
template <class Rule>
void expect_rates(const Rule& rule, const Rates& expected, const char* what) {
  expect_near(course(rule, int(expected.size())).lr, expected, what);
}

// What torch.optim.lr_scheduler says of the same options.
TEST_F(Schedulers, RatesArePyTorchs) {
  expect_rates(optim::LambdaLR{[](int64_t s) { return 1 / double(s + 1); }}, {1, 0.5, 1.0 / 3}, "LambdaLR");
  expect_rates(optim::MultiplicativeLR{[](int64_t) { return 0.5; }}, {1, 0.5, 0.25}, "MultiplicativeLR");
  expect_rates(optim::StepLR{.step_size = 2, .gamma = 0.5}, {1, 1, 0.5, 0.5, 0.25}, "StepLR");
  expect_rates(optim::MultiStepLR{.milestones = {1, 3}, .gamma = 0.5}, {1, 0.5, 0.5, 0.25}, "MultiStepLR");
  expect_rates(optim::ConstantLR{.factor = 0.5, .total_iters = 2}, {0.5, 0.5, 1, 1}, "ConstantLR");
  expect_rates(optim::LinearLR{.start_factor = 0.5, .total_iters = 2}, {0.5, 0.75, 1, 1}, "LinearLR");
  expect_rates(optim::ExponentialLR{.gamma = 0.5}, {1, 0.5, 0.25}, "ExponentialLR");
  expect_rates(optim::PolynomialLR{.total_iters = 2}, {1, 0.5, 0, 0}, "PolynomialLR");
  expect_rates(optim::CosineAnnealingLR{.T_max = 2, .eta_min = 0.5}, {1, 0.75, 0.5, 0.75, 1}, "CosineAnnealingLR");
  expect_rates(optim::CosineAnnealingWarmRestarts{.T_0 = 2, .T_mult = 2}, {1, 0.5, 1, 0.853553, 0.5}, "CosineAnnealingWarmRestarts");
  expect_rates(optim::NoamLR{.model_size = 4, .warmup_steps = 1}, {0.5, 0.353553, 0.288675}, "NoamLR");
  expect_rates(optim::SWALR{.swa_lr = 0.5, .anneal_epochs = 2, .anneal_strategy = "linear"}, {1, 0.75, 0.5, 0.5}, "SWALR");
  expect_rates(optim::SequentialLR{{optim::ConstantLR{.factor = 0.1, .total_iters = 2}, optim::ExponentialLR{.gamma = 0.5}}, {2}},
      {0.1, 0.1, 1, 0.5, 0.25}, "SequentialLR");
  expect_rates(optim::ChainedScheduler{{optim::ConstantLR{.factor = 0.5, .total_iters = 2}, optim::ExponentialLR{.gamma = 0.5}}},
      {0.5, 0.25, 0.25, 0.125}, "ChainedScheduler");
}

TEST_F(Schedulers, CyclesMoveTheMomentumToo) {
  const Course up_and_down = course(optim::CyclicLR{.base_lr = 0.5, .max_lr = 1, .step_size_up = 2}, 5);
  expect_near(up_and_down.lr, {0.5, 0.75, 1, 0.75, 0.5}, "CyclicLR");
  expect_near(up_and_down.momentum, {0.9, 0.85, 0.8, 0.85, 0.9}, "CyclicLR");
  const Course once = course(optim::OneCycleLR{.max_lr = 1, .total_steps = 5, .pct_start = 0.4, .anneal_strategy = "linear"}, 5);
  expect_near(once.lr, {0.04, 1, 0.666668, 0.333336, 0.000004}, "OneCycleLR");
  expect_near(once.momentum, {0.95, 0.85, 0.883333, 0.916667, 0.95}, "OneCycleLR");
  const optim::OneCycleLR by_epochs{.max_lr = 1, .epochs = 5, .steps_per_epoch = 1, .pct_start = 0.4, .anneal_strategy = "linear"};
  expect_near(course(by_epochs, 5).lr, once.lr, "OneCycleLR of epochs");
  EXPECT_THROW(course(optim::OneCycleLR{.max_lr = 1}, 1), ValueError);

  const optim::CyclicLR of_cycles{
      .base_lr = 0, .max_lr = 1, .step_size_up = 1, .mode = "", .scale_fn = [](double cycle) { return 1 / (1 + cycle); }};
  expect_near(course(of_cycles, 6).lr, {0, 0.5, 0, 1.0 / 3, 0, 0.25}, "CyclicLR of cycles");
  optim::CyclicLR of_steps = of_cycles;
  of_steps.scale_mode = "iterations";
  expect_near(course(of_steps, 6).lr, {0, 0.5, 0, 0.25, 0, 1.0 / 6}, "CyclicLR of steps");
  const Tensor p = number(1);
  optim::Adam adam({p});
  optim::LRScheduler cycle(adam, optim::CyclicLR{.base_lr = 0.5, .max_lr = 1, .step_size_up = 2});
  EXPECT_EQ(adam.param_groups[0].options.beta1, 0.9);
  cycle.step();
  EXPECT_NEAR(adam.param_groups[0].options.beta1, 0.85, 1e-12);
  optim::Adagrad plain({p});
  EXPECT_THROW(optim::LRScheduler(plain, optim::CyclicLR{.base_lr = 0.5, .max_lr = 1}), ValueError);
  EXPECT_NO_THROW(optim::LRScheduler(plain, optim::CyclicLR{.base_lr = 0.5, .max_lr = 1, .cycle_momentum = false}));
}

TEST_F(Schedulers, GroupsHaveRatesOfTheirOwnAndStateGoesOn) {
  const Tensor a = number(1), b = number(1);
  optim::SGD sgd({{{a}, {.lr = 1}}, {{b}, {.lr = 0.5}}});
  optim::LRScheduler one(sgd, optim::LambdaLR{[](int64_t s) { return 1.0 / double(s + 1); }});
  one.step();
  EXPECT_EQ(one.get_last_lr(), (Rates{0.5, 0.25}));
  optim::SGD later({{{a}, {.lr = 0.5}}, {{b}, {.lr = 0.25}}});
  optim::LRScheduler two(later, optim::LambdaLR{[](int64_t s) { return 1.0 / double(s + 1); }});
  two.load_state_dict(one.state_dict());
  one.step(), two.step();
  EXPECT_EQ(one.get_last_lr(), two.get_last_lr());
  EXPECT_EQ(two.last_epoch(), 2);
  EXPECT_THROW(optim::LRScheduler(sgd, optim::LinearLR{.start_factor = 2}), ValueError);
  EXPECT_THROW(optim::LRScheduler(sgd, optim::SequentialLR{}), ValueError);
  optim::LRScheduler end(sgd, optim::OneCycleLR{.max_lr = 1, .total_steps = 1, .cycle_momentum = false});
  end.step();
  EXPECT_THROW(end.step(), ValueError);
}

TEST_F(Schedulers, StepsTakeClosuresAndHooks) {
  const Tensor p = number(1);
  optim::SGD sgd({p}, {.lr = 0.25});
  int before = 0, after = 0;
  sgd.before_step.push_back([&](optim::SGD&) { ++before; });
  sgd.after_step.push_back([&](optim::SGD& o) { after += int(o.param_groups.size()); });
  const autograd::NoGrad no_grad;  // the closure has gradients all the same
  const double loss = sgd.step([&] {
    sgd.zero_grad();
    const Tensor y = sum(p * p);
    autograd::backward(y);
    return value_of(y);
  });
  EXPECT_EQ(loss, 1);
  EXPECT_EQ(value_of(p), 0.5);
  EXPECT_EQ(before + after, 2);
}

TEST_F(Schedulers, SparseAdamLeavesZerosAlone) {
  const Tensor p = nn::Parameter(ones({2}, DType::float64));
  optim::SparseAdam adam({p}, {.lr = 0.25});
  Tensor g = zeros({2}, DType::float64);
  select(g, 0, 0).fill_(1.0);
  autograd::set_grad(p, g);
  adam.step();
  EXPECT_NEAR(value_of(select(p, 0, 0)), 0.75, 1e-7);
  EXPECT_EQ(value_of(select(p, 0, 1)), 1);
  EXPECT_EQ(adam.state(p).step, 1);
  EXPECT_THROW(optim::SparseAdam({p}, {.lr = 0}), ValueError);
}

TEST_F(Schedulers, CurvesAreDrawn) {
  const optim::Schedule line = optim::Schedule::linear(0, 1, 3);
  EXPECT_EQ(optim::rates(line, 4), (optim::Curves{{0, 1.0 / 3, 2.0 / 3, 1}}));
  EXPECT_EQ(optim::curves_as_text(optim::rates(line, 4), 4, 3),
      "       1 ┤   •\n"
      "     0.5 ┤ ••\n"
      "       0 ┤•\n"
      "         └────\n"
      "         0   3");
  EXPECT_NE(optim::curves_as_text({{INFINITY, NAN, 0.25}}, 3, 3).find("0.25 ┤  •"), std::string::npos);
  const Tensor a = number(1), b = number(1);
  optim::SGD sgd({{{a}, {.lr = 1}}, {{b}, {.lr = 0.5}}});
  optim::LRScheduler scheduler(sgd, optim::ExponentialLR{.gamma = 0.5});
  scheduler.step();
  EXPECT_EQ(optim::rates(scheduler, 3), (optim::Curves{{0.5, 0.25, 0.125}, {0.25, 0.125, 0.0625}}));
  EXPECT_EQ(scheduler.get_last_lr(), (Rates{0.5, 0.25}));
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "pyburn_test_rates.svg";
  optim::plot(scheduler, 3, file);
  std::ifstream stream(file);
  const std::string svg{std::istreambuf_iterator<char>(stream), {}};
  EXPECT_TRUE(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
  EXPECT_NE(svg.find(" 70.0,20.0 345.0,191.4 620.0,277.1"), std::string::npos) << svg;  // 0.5, 0.25, 0.125 between 0.0625 and 0.5
  std::filesystem::remove(file);
  EXPECT_THROW(optim::plot(line, 3, "rates.png"), ValueError);
  EXPECT_THROW(optim::plot(line, 3, file / "absent" / "rates.svg"), FileError);
  EXPECT_THROW(optim::rates(line, 0), ValueError);
  EXPECT_THROW(optim::curves_as_text({}), ValueError);
}

TEST_F(Schedulers, StatesGoThroughJson) {
  optim::SGD sgd({number(1)}, {.lr = 1});
  optim::LRScheduler scheduler(sgd, optim::StepLR{.step_size = 2});
  for (int i = 0; i < 3; ++i) scheduler.step();
  const std::string saved = io::to_json(scheduler.state_dict());
  EXPECT_EQ(saved, R"({"last_epoch":3,"base_lrs":[1.0]})");
  optim::SGD resumed({number(1)}, {.lr = 0.1});
  optim::LRScheduler other(resumed, optim::StepLR{.step_size = 2});
  other.load_state_dict(io::from_json<optim::SchedulerState>(saved));
  scheduler.step(), other.step();
  EXPECT_EQ(other.get_last_lr(), scheduler.get_last_lr());

  optim::ReduceLROnPlateau one({.patience = 1}), two({.patience = 1});
  for (double metric : {3.0, 4.0}) one.step(sgd, metric);
  two.load_state_dict(io::from_json<optim::PlateauState>(io::to_json(one.state_dict())));
  two.step(resumed, 4);
  EXPECT_NEAR(resumed.param_groups[0].options.lr, 0.001, 1e-12);
}

TEST_F(Schedulers, AveragesOfTheProgramsOwn) {
  const auto model = make_ref<nn::Linear>(1, 1, false);
  optim::AveragedModel largest(*model, [](const TensorHandle& mean, const TensorHandle& value, int64_t) { return maximum(mean, value); });
  for (double value : {1.0, 5.0, 2.0}) {
    nn::init::constant_(model->tensor("weight"), value);
    largest.update_parameters(*model);
  }
  EXPECT_EQ(read_number(largest(ones({1, 1}))), 5);
  EXPECT_EQ(largest.n_averaged(), 3);
}

TEST_F(Schedulers, StatisticsOfBatchNormsAreComputedAnew) {
  auto norm = make_ref<nn::BatchNorm1d>(nn::BatchNormConfig{.num_features = 1, .momentum = 0.5});
  auto model = nn::sequential(make_ref<nn::Identity>(), norm);
  model->call(full({4, 1}, 100.0));
  model->eval();
  const std::vector<TensorHandle> batches{full({2, 1}, 1.0), full({2, 1}, 4.0)};
  optim::update_bn(batches, *model);
  EXPECT_NEAR(value_of(norm->tensor("running_mean")), 2.5, 1e-6);
  EXPECT_EQ(value_of(norm->tensor("num_batches_tracked")), 2);
  EXPECT_EQ(norm->options().momentum->to_double(), 0.5);
  EXPECT_FALSE(model->training() || norm->training());
  auto plain = make_ref<nn::ReLU>();
  plain->hooks().register_forward_hook([](nn::Module&, const TensorHandle&, const TensorHandle&) { FAIL() << "there is nothing to do"; });
  optim::update_bn(batches, *plain);
}

}  // namespace
