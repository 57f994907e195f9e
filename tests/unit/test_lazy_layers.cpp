// Layers that learn the number of their input's features from the first call.
#include <gtest/gtest.h>

#include <filesystem>

#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/io/store.h"
#include "pyburn/nn/nn.h"
#include "pyburn/ops/functions.h"
#include "pyburn/optim/optimizer.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/start.h"

using namespace pyburn;

namespace {

struct LazyLayers : testing::Test {
  LazyLayers() { start(); }
};

std::vector<std::string> names(const nn::NamedTensors& list) {
  std::vector<std::string> out;
  for (const auto& [name, t] : list) out.push_back(name);
  return out;
}

TEST_F(LazyLayers, TheFirstCallGivesShapes) {
  auto layer = make_ref<nn::LazyLinear>(2);
  EXPECT_TRUE(layer->has_uninitialized_params());
  EXPECT_EQ(to_text(*layer), "LazyLinear(in_features=0, out_features=2, bias=True)");
  EXPECT_EQ(names(layer->state_dict()), (std::vector<std::string>{"weight", "bias"}));
  optim::SGD sgd(layer->parameters(), {.lr = 1});  // the parameters stay the same tensors
  const Tensor y = (*layer)(ones({4, 3}));
  EXPECT_EQ(y.shape(), (Shape{4, 2}));
  EXPECT_FALSE(layer->has_uninitialized_params());
  EXPECT_EQ(to_text(*layer), "Linear(in_features=3, out_features=2, bias=True)");
  EXPECT_EQ(layer->tensor("weight").shape(), (Shape{2, 3}));
  EXPECT_GT(read_number(amax(abs(detach(layer->tensor("weight"))))), 0);
  autograd::backward(sum(y));
  const Tensor before = clone(detach(layer->tensor("bias")));
  sgd.step();
  EXPECT_LT(read_number(amax(abs(before - detach(layer->tensor("bias")) - 4.0))), 1e-5);
  EXPECT_THROW(layer->call(ones({4, 5})), ShapeError);
}

TEST_F(LazyLayers, EveryFamily) {
  const auto image = ones({2, 4, 5, 5});
  auto conv = make_ref<nn::LazyConv2d>(nn::ConvConfig<2>{.out_channels = 6, .kernel_size = {3}, .groups = 2});
  EXPECT_EQ(conv->call(image).shape(), (Shape{2, 6, 3, 3}));
  EXPECT_EQ(conv->tensor("weight").shape(), (Shape{6, 2, 3, 3}));
  EXPECT_EQ(make_ref<nn::LazyConv1d>(nn::ConvConfig<1>{.out_channels = 3})->call(ones({4, 5})).shape(), (Shape{3, 5}));
  EXPECT_EQ(make_ref<nn::LazyConv3d>(nn::ConvConfig<3>{.out_channels = 3})->call(ones({1, 2, 3, 3, 3})).shape(), (Shape{1, 3, 3, 3, 3}));

  auto up = make_ref<nn::LazyConvTranspose2d>(nn::ConvTransposeConfig<2>{.out_channels = 3, .kernel_size = {3}, .stride = {2}});
  EXPECT_EQ(up->forward(image, Dims{12, 12}).shape(), (Shape{2, 3, 12, 12}));
  EXPECT_EQ(up->tensor("weight").shape(), (Shape{4, 3, 3, 3}));
  EXPECT_EQ(up->type_name(), "ConvTranspose2d");

  auto norm = make_ref<nn::LazyBatchNorm2d>();
  EXPECT_EQ(names(norm->state_dict()), (std::vector<std::string>{"weight", "bias", "running_mean", "running_var", "num_batches_tracked"}));
  EXPECT_EQ(norm->tensor("num_batches_tracked").rank(), 0);
  EXPECT_EQ(norm->call(image).shape(), image.shape());
  EXPECT_EQ(norm->tensor("running_var").shape(), (Shape{4}));
  EXPECT_EQ(norm->options().num_features, 4);

  auto instance = make_ref<nn::LazyInstanceNorm1d>();
  EXPECT_TRUE(instance->options().affine && instance->options().track_running_stats);
  EXPECT_EQ(instance->call(ones({3, 5})).shape(), (Shape{3, 5}));
  EXPECT_EQ(instance->tensor("weight").shape(), (Shape{3}));
}

TEST_F(LazyLayers, WhatDoesNotFitIsRefusedBeforeAnythingChanges) {
  EXPECT_THROW(make_ref<nn::LazyConv2d>(nn::ConvConfig<2>{.out_channels = 3, .groups = 2}), ValueError);
  auto conv = make_ref<nn::LazyConv2d>(nn::ConvConfig<2>{.out_channels = 4, .groups = 2});
  EXPECT_THROW(conv->call(ones({1, 3, 2, 2})), ValueError);
  EXPECT_THROW(conv->call(ones({2, 2})), ShapeError);
  EXPECT_TRUE(conv->has_uninitialized_params());
  EXPECT_EQ(conv->call(ones({1, 2, 2, 2})).shape(), (Shape{1, 4, 2, 2}));
  EXPECT_THROW(make_ref<nn::LazyLinear>(2)->call(ones({})), ShapeError);
}

TEST_F(LazyLayers, LoadingGivesShapes) {
  const auto full = nn::sequential(make_ref<nn::Linear>(3, 2), make_ref<nn::BatchNorm1d>(nn::BatchNormConfig{.num_features = 2}));
  const auto lazy = [] { return nn::sequential(make_ref<nn::LazyLinear>(2), make_ref<nn::LazyBatchNorm1d>()); };
  auto one = lazy(), two = lazy(), three = lazy();
  full->eval();
  const Tensor x = randn({4, 3}), expected = (*full)(x);
  one->load_state_dict(full->state_dict());
  one->eval();
  EXPECT_EQ(read_number(amax(abs((*one)(x)-expected))), 0);
  EXPECT_EQ(to_text(*one), to_text(*full));

  two->load_state_dict(three->state_dict());  // nothing to learn from
  EXPECT_TRUE(two->at(0)->is_shapeless("weight"));
  EXPECT_THROW(full->load_state_dict(three->state_dict()), Error);

  const auto file = std::filesystem::temp_directory_path() / "pyburn_test_lazy.safetensors";
  EXPECT_THROW(io::save_module(*two, file), ValueError);
  io::save_module(*full, file);
  EXPECT_TRUE(io::load_into(*two, file).complete());
  two->eval();
  EXPECT_EQ(read_number(amax(abs((*two)(x)-expected))), 0);
  std::filesystem::remove(file);
}

TEST_F(LazyLayers, MovesBeforeTheFirstCallCount) {
  auto layer = make_ref<nn::LazyLinear>(2);
  layer->to(DType::float64);
  EXPECT_EQ(layer->call(ones({1, 3}, DType::float64)).dtype(), DType::float64);
}

}  // namespace
