// Layers without parameters, and losses: a few of each family. What they compute in detail is compared with PyTorch from Python.
#include <gtest/gtest.h>

#include <cmath>

#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/nn/nn.h"
#include "pyburn/ops/functions.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/start.h"

using namespace pyburn;

namespace {

struct Layers : testing::Test {
  Layers() { start(); }
};

double number(const TensorHandle& t) { return read_number(t); }

TEST_F(Layers, Activations) {
  const Tensor x = full({3}, -2.0);
  EXPECT_NEAR(number(sum(nn::ELU({.alpha = 0.5})(x))), 3 * 0.5 * (std::exp(-2.0) - 1), 1e-6);
  EXPECT_EQ(number(sum(nn::Threshold({.threshold = 0, .value = 7})(x))), 21);
  EXPECT_EQ(to_text(*make_ref<nn::GELU>()), "GELU(approximate='none')");
  EXPECT_EQ(to_text(*make_ref<nn::Softshrink>(nn::SoftshrinkFunction{1})), "Softshrink(1)");
  EXPECT_EQ(to_text(*make_ref<nn::Softmax>()), "Softmax(dim=None)");
  EXPECT_THROW(nn::Hardtanh({.min_val = 1, .max_val = 0}), ValueError);

  const Tensor y = clone(x);
  nn::LeakyReLU({.negative_slope = 0.5, .inplace = true})(y);
  EXPECT_EQ(number(sum(y)), -3);
}

TEST_F(Layers, SlopesOfPReLUAreLearned) {
  const auto layer = make_ref<nn::PReLU>(nn::PReLUConfig{.num_parameters = 2, .init = 0.5});
  const Tensor x = full({3, 2}, -1.0);
  autograd::backward(sum((*layer)(x)));
  EXPECT_EQ(number(sum(autograd::grad_of(layer->tensor("weight")))), -6);
}

TEST_F(Layers, Pools) {
  const Tensor x = reshape(arange(16.0), {1, 1, 4, 4});
  nn::MaxPool2d pool({.kernel_size = {2}});
  EXPECT_EQ(to_text(pool), "MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)");
  EXPECT_EQ(number(sum(pool(x))), 5 + 7 + 13 + 15);
  const auto [largest, indices] = pool.options().with_indices(x);
  EXPECT_EQ(number(sum(nn::MaxUnpool2d({.kernel_size = {2}}).forward(largest, indices, {}))), 5 + 7 + 13 + 15);
  nn::AdaptiveAvgPool2d adaptive({.output_size = {1, Sizes::left_open}});
  EXPECT_EQ(to_text(adaptive), "AdaptiveAvgPool2d(output_size=(1, None))");
  EXPECT_EQ(adaptive(x).shape(), (Shape{1, 1, 1, 4}));
}

TEST_F(Layers, Borders) {
  const Tensor x = ones({1, 2, 3});
  EXPECT_EQ(nn::ConstantPad1d({.padding = {1}, .value = 2.5})(x).shape(), (Shape{1, 2, 5}));
  EXPECT_EQ(number(sum(nn::ZeroPad1d({.padding = {0, 2}})(x))), 6);
  EXPECT_EQ(to_text(*make_ref<nn::ReflectionPad1d>(nn::BorderFunction<1, "reflect">{{2}})), "ReflectionPad1d((2, 2))");
}

TEST_F(Layers, DropoutFollowsTheModeOfTheModule) {
  const auto dropout = make_ref<nn::Dropout>(nn::DropoutFunction{1.0});
  const Tensor x = ones({5});
  EXPECT_EQ(number(sum((*dropout)(x))), 0);
  dropout->eval();
  EXPECT_EQ(number(sum((*dropout)(x))), 5);
  EXPECT_THROW(nn::Dropout({1.5}), ValueError);
}

TEST_F(Layers, ShapesAndSizes) {
  EXPECT_EQ(nn::Unflatten({.dim = 1, .unflattened_size = {2, 3}})(ones({4, 6})).shape(), (Shape{4, 2, 3}));
  EXPECT_EQ(nn::Upsample({.scale_factor = {2.0}})(ones({1, 1, 2, 3})).shape(), (Shape{1, 1, 4, 6}));
  EXPECT_EQ(to_text(*make_ref<nn::Upsample>(nn::UpsampleFunction{.size = {3}})), "Upsample(size=3, mode='nearest')");
  EXPECT_NEAR(number(nn::CosineSimilarity().forward(ones({1, 3}), ones({1, 3}))), 1, 1e-6);
}

TEST_F(Layers, Losses) {
  const Tensor x = zeros({1, 4});
  EXPECT_EQ(number(nn::MSELoss().forward(x, full({1, 4}, 3.0))), 9);
  EXPECT_EQ(number(nn::LpLoss({.p = 3, .reduction = "sum"}).forward(x, ones({1, 4}))), 4);
  EXPECT_EQ(to_text(*make_ref<nn::HuberLoss>()), "HuberLoss()");
  EXPECT_THROW(nn::TripletMarginLoss({.margin = -1}), ValueError);

  const auto loss = make_ref<nn::CrossEntropyLoss>(nn::CrossEntropyFunction{.weight = Tensor(ones({4})), .reduction = "sum"});
  EXPECT_NEAR(number(loss->forward(x, full({1}, 2, DType::int64))), std::log(4.0), 1e-6);
  EXPECT_EQ(loss->state_dict().size(), 1u);
  loss->to(DType::float64);
  EXPECT_EQ(loss->tensor("weight").dtype(), DType::float64);
}

}  // namespace
