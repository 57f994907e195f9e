// Layers with parameters in C++: a few cases per family. Values are compared with PyTorch's in tests/python/test_layer_goldens.py.
#include <gtest/gtest.h>

#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/nn/nn.h"
#include "pyburn/ops/functions.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/start.h"

using namespace pyburn;

namespace {

struct ParametricLayers : testing::Test {
  ParametricLayers() { start(); }
};

double difference(const Tensor& a, const Tensor& b) { return read_number(max(abs(a - b))); }
std::vector<std::string> names(nn::Module& m) {
  std::vector<std::string> list;
  for (const auto& [name, t] : m.state_dict()) list.push_back(name);
  return list;
}

TEST_F(ParametricLayers, ConvTransposeUndoesTheShapeOfAConvolution) {
  const nn::ConvTransposeConfig<2> config{.in_channels = 2, .out_channels = 3, .kernel_size = {3}, .stride = {2}, .padding = {1}};
  const auto layer = make_ref<nn::ConvTranspose2d>(config);
  const Tensor x = randn({1, 2, 4, 5});
  EXPECT_EQ(layer->forward(x).shape(), (Shape{1, 3, 7, 9}));
  EXPECT_EQ(layer->forward(x, {8, 10}).shape(), (Shape{1, 3, 8, 10}));
  EXPECT_THROW(layer->forward(x, {9, 9}), ValueError);
  EXPECT_EQ(to_text(*layer), "ConvTranspose2d(2, 3, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1))");
}

TEST_F(ParametricLayers, NormsGiveMeanZeroAndVarianceOne) {
  const Tensor x = randn({8, 4, 6}) * 3.0 + 2.0;
  const auto check = [](const Tensor& rows) {
    EXPECT_LT(read_number(max(abs(mean(rows, Dims{1})))), 1e-4);
    EXPECT_LT(read_number(max(abs(mean(rows * rows, Dims{1}) - 1.0))), 1e-2);
  };
  check(flatten(transpose((*make_ref<nn::BatchNorm1d>(nn::BatchNormConfig{.num_features = 4}))(x), 0, 1), 1));
  check(flatten((*make_ref<nn::InstanceNorm1d>(nn::InstanceNormConfig{.num_features = 4}))(x), 0, 1));
  check(flatten((*make_ref<nn::GroupNorm>(nn::GroupNormConfig{.num_groups = 1, .num_channels = 4}))(x), 1));
  check(flatten((*make_ref<nn::LayerNorm>(nn::LayerNormConfig{.normalized_shape = {4, 6}}))(x), 1));
}

TEST_F(ParametricLayers, EmbeddingKeepsItsPadding) {
  const auto layer = make_ref<nn::Embedding>(nn::EmbeddingConfig{.num_embeddings = 5, .embedding_dim = 3, .padding_idx = -1});
  EXPECT_EQ(read_number(sum(abs(Tensor(layer->tensor("weight")).select(0, 4)))), 0);
  EXPECT_THROW(make_ref<nn::Embedding>(nn::EmbeddingConfig{.num_embeddings = 5, .padding_idx = 5}), ValueError);
  EXPECT_NO_THROW(make_ref<nn::Embedding>(nn::EmbeddingConfig{.num_embeddings = 5, .sparse = true}));  // its gradients are dense
}

TEST_F(ParametricLayers, RecurrentLayersNameTheirParameters) {
  const auto layer = make_ref<nn::LSTM>(nn::LSTMConfig{.input_size = 3, .hidden_size = 4, .bidirectional = true, .proj_size = 2});
  EXPECT_EQ(names(*layer),
      (std::vector<std::string>{"weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0", "weight_hr_l0", "weight_ih_l0_reverse",
          "weight_hh_l0_reverse", "bias_ih_l0_reverse", "bias_hh_l0_reverse", "weight_hr_l0_reverse"}));
  const nn::RecurrentResult r = layer->forward(randn({5, 2, 3}), {});
  EXPECT_EQ(r.output.shape(), (Shape{5, 2, 4}));
  EXPECT_EQ(r.hn.shape(), (Shape{2, 2, 2}));
  EXPECT_EQ(r.cn.shape(), (Shape{2, 2, 4}));
}

TEST_F(ParametricLayers, PackedSequencesAreTheirSequences) {
  const auto layer = make_ref<nn::GRU>(nn::GRUConfig{.input_size = 3, .hidden_size = 4, .num_layers = 2, .bidirectional = true});
  const Tensor longer = randn({3, 3}), shorter = randn({2, 3});
  const Tensor data = stack({longer.select(0, 0), shorter.select(0, 0), longer.select(0, 1), shorter.select(0, 1), longer.select(0, 2)}, 0);
  const nn::RecurrentResult packed = layer->forward_packed(data, {2, 2, 1});
  const nn::RecurrentResult alone = layer->forward(shorter, {});
  EXPECT_LT(difference(stack({Tensor(packed.output).select(0, 1), Tensor(packed.output).select(0, 3)}, 0), alone.output), 1e-6);
  EXPECT_LT(difference(Tensor(packed.hn).select(1, 1), alone.hn), 1e-6);
  EXPECT_THROW(layer->forward_packed(data, {2, 1, 2}), ValueError);
}

TEST_F(ParametricLayers, CachedAttentionIsCausalAttention) {
  const auto layer = make_ref<nn::TransformerEncoderLayer>(
      nn::TransformerLayerConfig{.d_model = 4, .nhead = 2, .dim_feedforward = 8, .dropout = 0, .batch_first = true});
  const Tensor x = randn({2, 5, 4});
  const Tensor expected = layer->forward(x, nn::AttentionMasks{.mask = nn::square_subsequent_mask(5)});
  nn::TransformerLayerCache cache;
  Tensors parts;
  for (int64_t i = 0; i < 5; ++i) parts.push_back(layer->forward_cached(x.narrow(1, i, 1), cache));
  EXPECT_LT(difference(fn::cat(parts, 1), expected), 1e-5);
  EXPECT_EQ(cache.length(), 5);
}

TEST_F(ParametricLayers, StacksHaveTheNamesOfPyTorch) {
  const nn::TransformerStackConfig config{
      .layer = {.d_model = 4, .nhead = 2, .dim_feedforward = 8, .dropout = 0, .batch_first = true}, .num_layers = 2, .norm = true};
  const auto decoder = make_ref<nn::TransformerDecoder>(config);
  const std::vector<std::string> all = names(*decoder);
  EXPECT_EQ(all.front(), "layers.0.self_attn.in_proj_weight");
  EXPECT_EQ(all.back(), "norm.bias");
  const Tensor x = randn({2, 4, 4}), memory = randn({2, 3, 4});
  const Tensor expected = decoder->forward(x, memory, nn::AttentionMasks{.mask = nn::square_subsequent_mask(4)});
  nn::TransformerCache cache;
  Tensors parts;
  for (int64_t i = 0; i < 4; i += 2) parts.push_back(decoder->forward_cached(x.narrow(1, i, 2), memory, cache));
  EXPECT_LT(difference(fn::cat(parts, 1), expected), 1e-5);
  EXPECT_EQ(cache.size(), 2u);
}

TEST_F(ParametricLayers, GradientsReachEveryParameterOfADecoder) {
  const auto layer = make_ref<nn::TransformerDecoderLayer>(nn::TransformerLayerConfig{.d_model = 4, .nhead = 2, .dim_feedforward = 8});
  autograd::backward(sum(Tensor(layer->forward(randn({3, 1, 4}), randn({5, 1, 4}))) * randn({3, 1, 4})));
  for (const auto& [name, p] : layer->named_parameters()) EXPECT_TRUE(autograd::grad_of(p).defined()) << name;
}

}  // namespace
