// What surrounds an optimiser: mixed precision, averages, rates that follow a metric, files of its state.
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/io/optimizer_file.h"
#include "pyburn/nn/nn.h"
#include "pyburn/ops/functions.h"
#include "pyburn/optim/averaged_model.h"
#include "pyburn/optim/grad_scaler.h"
#include "pyburn/optim/plateau.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/start.h"

using namespace pyburn;

namespace {

struct TrainingParts : testing::Test {
  TrainingParts() { start(); }
};

nn::Parameter number(double value) { return nn::Parameter(full({1}, value, DType::float64)); }
void set_gradient(const Tensor& p, double value) { autograd::set_grad(p, full({1}, value, p.dtype())); }
double value_of(const Tensor& p) { return read_number(detach(p)); }

TEST_F(TrainingParts, TheScaleFallsWithBadGradientsAndRisesWithGoodOnes) {
  const Tensor p = number(1);
  optim::SGD sgd({p}, {.lr = 0.5});
  optim::GradScaler scaler({.init_scale = 8, .growth_interval = 2});
  for (int round = 0; round < 2; ++round) {
    sgd.zero_grad();
    autograd::backward(scaler.scale(sum(p)));
    EXPECT_EQ(value_of(Tensor(autograd::grad_of(p))), 8);
    EXPECT_TRUE(scaler.step(sgd));
    scaler.update();
  }
  EXPECT_EQ(value_of(p), 0);
  EXPECT_EQ(scaler.get_scale(), 16);
  set_gradient(p, std::numeric_limits<double>::infinity());
  EXPECT_FALSE(scaler.step(sgd));
  EXPECT_THROW(scaler.step(sgd), ValueError);
  EXPECT_THROW(scaler.unscale_(sgd), ValueError);
  scaler.update();
  EXPECT_EQ(scaler.get_scale(), 8);
  EXPECT_EQ(value_of(p), 0);
  EXPECT_THROW(scaler.update(), ValueError);
  EXPECT_THROW(optim::GradScaler({.growth_factor = 1}), ValueError);
}

TEST_F(TrainingParts, Averages) {
  const auto model = make_ref<nn::Linear>(1, 1, false);
  const Tensor weight = model->tensor("weight");
  optim::AveragedModel mean(*model), moving(*model, 0.75);
  for (double value : {1.0, 2.0, 6.0}) {
    autograd::NoGrad no_grad;
    detach(weight).mul_(0).add_(value);
    mean.update_parameters(*model), moving.update_parameters(*model);
  }
  EXPECT_NEAR(read_number(mean.module().tensor("weight")), 3, 1e-6);
  EXPECT_NEAR(read_number(moving.module().tensor("weight")), (1 * 0.75 + 2 * 0.25) * 0.75 + 6 * 0.25, 1e-6);
  const auto other = make_ref<nn::Linear>(1, 1, false);
  other->load_state_dict(mean.module().state_dict());
  EXPECT_NEAR(value_of(Tensor(other->tensor("weight"))), 3, 1e-6);
  EXPECT_THROW(mean.update_parameters(*make_ref<nn::Linear>(1, 1)), ValueError);
  EXPECT_THROW(optim::AveragedModel(*model, 1.5), ValueError);
}

TEST_F(TrainingParts, TheRateFallsOnAPlateau) {
  const Tensor a = number(1), b = number(1);
  optim::SGD sgd({{{a}, {.lr = 1}}, {{b}, {.lr = 0.1}}});
  optim::ReduceLROnPlateau plateau({.factor = 0.5, .patience = 1, .cooldown = 1, .min_lr = 0.05});
  const auto rates = [&](double metric) {
    plateau.step(sgd, metric);
    return std::pair(sgd.param_groups[0].options.lr, sgd.param_groups[1].options.lr);
  };
  for (double metric : {3.0, 2.0, 2.0}) EXPECT_EQ(rates(metric), std::pair(1.0, 0.1));
  EXPECT_EQ(rates(2), std::pair(0.5, 0.05));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(rates(2), std::pair(0.5, 0.05));
  EXPECT_EQ(rates(2), std::pair(0.25, 0.05));
  EXPECT_EQ(plateau.best(), 2);
  EXPECT_THROW(optim::ReduceLROnPlateau({.mode = "best"}), ValueError);
}

TEST_F(TrainingParts, LbfgsGoesOnFromItsFile) {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "pyburn_test_lbfgs.pt";
  const Tensor p = nn::Parameter(full({2}, 3.0, DType::float64)), q = nn::Parameter(full({2}, 0.0, DType::float64));
  optim::LBFGS one({p}, {.lr = 0.5, .max_iter = 3, .line_search_fn = "strong_wolfe"}), two({q});
  const auto step = [](optim::LBFGS& optimiser, const Tensor& x) {
    return optimiser.step([&] {
      optimiser.zero_grad();
      const Tensor loss = sum(pow(x - 1.0, 4.0));
      autograd::backward(loss);
      return read_number(detach(loss));
    });
  };
  io::save_optimizer(one, file);  // before the first step there is no state
  io::load_optimizer(two, file);
  EXPECT_EQ(
      two.options.fields(), (optim::LbfgsOptions{.lr = 0.5, .max_iter = 3, .max_eval = 3, .line_search_fn = "strong_wolfe"}.fields()));
  EXPECT_EQ(two.state_dict().func_evals, 0);
  step(one, p);
  io::save_optimizer(one, file);
  io::load_optimizer(two, file);
  EXPECT_EQ(two.state_dict().n_iter, one.state_dict().n_iter);
  EXPECT_EQ(two.state_dict().ro, one.state_dict().ro);
  {
    autograd::NoGrad no_grad;
    detach(q).mul_(0).add_(detach(p));
  }
  for (int i = 0; i < 3; ++i) EXPECT_EQ(step(one, p), step(two, q));
  optim::LBFGS other({nn::Parameter(full({3}, 0.0, DType::float64))}), more({p, q});
  EXPECT_THROW(io::load_optimizer(other, file), ValueError);
  EXPECT_THROW(io::load_optimizer(more, file), ValueError);
  std::filesystem::remove(file);
}

TEST_F(TrainingParts, AnOptimiserGoesOnFromItsFile) {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "pyburn_test_optimiser.pt";
  const Tensor p = number(1), q = number(1), unused = number(1), also_unused = number(1);
  const optim::AdamOptions options{.lr = 0.125, .beta1 = 0.5, .amsgrad = true};
  optim::Adam one({p, unused}, options), two({q, also_unused});
  set_gradient(p, 1);
  one.step();
  EXPECT_EQ(one.state_dict().state.size(), 1u);  // no step was made for the other one
  io::save_optimizer(one, file);
  io::load_optimizer(two, file);
  EXPECT_EQ(two.param_groups[0].options.fields(), options.fields());
  EXPECT_EQ(two.state(q).step, 1);
  {
    autograd::NoGrad no_grad;
    detach(q).mul_(0).add_(value_of(p));
  }
  for (auto* t : {&p, &q}) set_gradient(*t, 2);
  one.step(), two.step();
  EXPECT_EQ(value_of(p), value_of(q));
  EXPECT_THROW(io::load_optimizer(*std::make_unique<optim::Adam>(std::vector<TensorHandle>{p}), file), ValueError);

  optim::Rprop rprop({p}, {.eta_minus = 0.25, .step_size_max = 2});
  rprop.step();
  io::save_optimizer(rprop, file);
  optim::Rprop again({q});
  io::load_optimizer(again, file);
  EXPECT_EQ(again.param_groups[0].options.eta_minus, 0.25);
  EXPECT_EQ(again.param_groups[0].options.step_size_max, 2);
  EXPECT_THROW(io::load_optimizer(two, file), Error);  // betas are missing there, and so is a parameter
  std::filesystem::remove(file);
}

}  // namespace
