// Layers and helpers around modules: adaptive softmax, losses with functions, packed sequences, lists of parameters, fused layers, calls
// with other parameters, layers by name.
#include "module_test.h"
#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/inference/summary.h"

using namespace pyburn;

namespace {

struct ModuleParts : testing::Test {
  ModuleParts() { start(); }
};

Tensor integers(std::vector<int64_t> v) { return from_host(default_device(), {v.data(), {Shape{int64_t(v.size())}, DType::int64}}); }
template <class T = double>
std::vector<T> values(const TensorHandle& x) {
  std::vector<T> out(size_t(x.numel()));
  to_host(detach(x), {out.data(), {x.shape(), sizeof(T) == 8 && std::is_integral_v<T> ? DType::int64 : DType::float64}});
  return out;
}

TEST_F(ModuleParts, AdaptiveSoftmax) {
  auto layer = make_ref<nn::AdaptiveLogSoftmaxWithLoss>(
      nn::AdaptiveLogSoftmaxConfig{.in_features = 8, .n_classes = 10, .cutoffs = {4, 8}, .div_value = 2});
  const nn::NamedTensors state = layer->state_dict();
  EXPECT_EQ(names(state), (Names{"head.weight", "tail.0.0.weight", "tail.0.1.weight", "tail.1.0.weight", "tail.1.1.weight"}));
  const Shape shapes[] = {{6, 8}, {4, 8}, {4, 4}, {2, 8}, {2, 2}};
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(state[i].second.shape(), shapes[i]) << state[i].first;

  const Tensor x = randn({10, 8}), target = arange(10), all = layer->log_prob(x);
  EXPECT_LT(largest(sum(exp(all), Dims{1}) - 1), 1e-5);
  const auto [output, loss] = layer->forward(x, target);
  EXPECT_LT(largest(output - squeeze(gather(all, 1, unsqueeze(target, 1)), Dims{1})), 1e-5);
  EXPECT_NEAR(read_number(detach(loss)), -read_number(detach(mean(output))), 1e-6);
  autograd::backward(loss);
  for (const TensorHandle& p : layer->parameters()) EXPECT_TRUE(autograd::grad_of(p).defined());
  EXPECT_EQ(layer->forward(select(x, 0, 0), select(integers({9}), 0, 0)).output.rank(), 0);
  EXPECT_EQ(values<int64_t>(layer->predict(x)), values<int64_t>(argmax(all, 1)));

  EXPECT_THROW(layer->forward(x, integers({1})), Error);
  EXPECT_THROW(layer->forward(x, full({10}, 10, DType::int64)), Error);
  for (Dims cutoffs : {Dims{5, 15, 15}, Dims{5, 15, 10}, Dims{5, 10, 25}, Dims{5, 10, 20}, Dims{0, 5}, Dims{}})
    EXPECT_THROW(
        make_ref<nn::AdaptiveLogSoftmaxWithLoss>(nn::AdaptiveLogSoftmaxConfig{.in_features = 16, .n_classes = 20, .cutoffs = cutoffs}),
        ValueError);
}

TEST_F(ModuleParts, LinearCrossEntropy) {
  auto layer = make_ref<nn::LinearCrossEntropyLoss>(
      nn::LinearCrossEntropyConfig{.in_features = 3, .num_classes = 4, .out_features = {2}, .bias = true});
  EXPECT_EQ(names(layer->state_dict()), (Names{"linear.weight", "linear.bias"}));
  const Tensor x = randn({5, 3}), target = randint(0, 4, {5, 2});
  const Tensor scores = reshape(linear(x, layer->state_dict()[0].second, layer->state_dict()[1].second), {5, 4, 2});
  EXPECT_NEAR(read_number(detach(layer->forward(x, target))), read_number(cross_entropy(scores, target)), 1e-6);
  EXPECT_THROW(layer->forward(ones({5, 2}), target), Error);
  EXPECT_NEAR(read_number(nn::linear_cross_entropy(ones({2, 3}), zeros({4, 3}), integers({0, 3}))), 1.386294, 1e-5);
}

TEST_F(ModuleParts, ALossWithADistance) {
  const Tensor a = zeros({1, 2}), b = ones({1, 2});
  auto loss = make_ref<nn::TripletMarginWithDistanceLoss>(nn::TripletMarginWithDistanceOptions{
      .distance_function = [](const TensorHandle& x, const TensorHandle& y) { return sum(abs(Tensor(x) - y), Dims{-1}); }});
  EXPECT_EQ(read_number(loss->forward(a, b, a)), 3);
  EXPECT_EQ(read_number(loss->forward(a, a, b)), 0);
  EXPECT_NEAR(read_number(nn::triplet_margin_with_distance_loss(a, b, a)), 1 + std::sqrt(2.0), 1e-5);
  EXPECT_THROW(make_ref<nn::TripletMarginWithDistanceLoss>(nn::TripletMarginWithDistanceOptions{.margin = 0}), ValueError);
}

TEST_F(ModuleParts, SequencesArePackedAndPadded) {
  const Tensors sequences{integers({1, 2}), integers({3, 4, 5}), integers({6})};
  const nn::PackedSequence packed = nn::pack_sequence(sequences, false);
  EXPECT_EQ(values<int64_t>(packed.data), (std::vector<int64_t>{3, 1, 6, 4, 2, 5}));
  EXPECT_EQ(packed.batch_sizes, (Dims{3, 2, 1}));
  EXPECT_EQ(values<int64_t>(packed.sorted_indices), (std::vector<int64_t>{1, 0, 2}));
  const nn::PaddedSequence padded = nn::pad_packed_sequence(packed, true, -1, 4);
  EXPECT_EQ(values<int64_t>(padded.output), (std::vector<int64_t>{1, 2, -1, -1, 3, 4, 5, -1, 6, -1, -1, -1}));
  EXPECT_EQ(padded.lengths, (std::vector<int64_t>{2, 3, 1}));
  const Tensors again = nn::unpack_sequence(packed);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(values<int64_t>(again[i]), values<int64_t>(sequences[i]));
  EXPECT_EQ(values<int64_t>(nn::pad_sequence(sequences, true, 0, "left")), (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 0, 0, 6}));
  EXPECT_THROW(nn::pack_sequence(sequences), Error);
  EXPECT_THROW(nn::pack_padded_sequence(ones({3, 2}), {3, 0}), Error);
  EXPECT_THROW(nn::pack_padded_sequence(ones({3, 2}), {4, 1}), Error);
  EXPECT_THROW(nn::pad_packed_sequence(packed, false, 0, 2), ValueError);
  EXPECT_THROW(nn::pad_packed_sequence({packed.data, {2, 3, 1}, {}, {}}), ValueError);
  EXPECT_THROW(nn::pad_packed_sequence({packed.data, {3, 2}, {}, {}}), ValueError);
  EXPECT_THROW(nn::pad_sequence({}), Error);
}

TEST_F(ModuleParts, RecurrentLayersTakePackedSequences) {
  auto lstm = make_ref<nn::LSTM>(nn::LSTMConfig{.input_size = 3, .hidden_size = 2, .bidirectional = true});
  const Tensor a = randn({2, 3}), b = randn({4, 3}), h0 = randn({2, 2, 2}), c0 = randn({2, 2, 2});
  const auto y = lstm->forward(nn::pack_sequence({a, b}, false), h0, c0);
  const Tensors outputs = nn::unpack_sequence(y.output);
  for (int i = 0; i < 2; ++i) {
    const auto one = lstm->forward(i == 0 ? a : b, select(h0, 1, i), select(c0, 1, i));
    EXPECT_LT(largest(Tensor(outputs[i]) - one.output), 1e-5);
    EXPECT_LT(largest(select(y.hn, 1, i) - one.hn), 1e-5);
    EXPECT_LT(largest(select(y.cn, 1, i) - one.cn), 1e-5);
  }
}

TEST_F(ModuleParts, ParametersInContainers) {
  auto list = make_ref<nn::ParameterList>(std::vector<TensorHandle>{ones({2, 3}), nn::Parameter(zeros({1}))});
  list->append(ones({4}));
  EXPECT_EQ(names(list->named_parameters()), (Names{"0", "1", "2"}));
  EXPECT_EQ(list->at(-1).shape(), (Shape{4}));
  list->set(0, full({2}, 5.0));
  EXPECT_EQ(largest(list->at(0)), 5);
  EXPECT_EQ(to_text(*list),
      "ParameterList(\n    (0): Parameter containing: [pyburn.float32 of size 2]\n    (1): Parameter containing: [pyburn.float32 of size "
      "1]\n    (2): Parameter containing: [pyburn.float32 of size 4]\n)");
  EXPECT_THROW(list->at(3), IndexError);
  EXPECT_THROW(list->append({}), ValueError);

  auto dict = make_ref<nn::ParameterDict>(nn::NamedTensors{{"z", ones({2})}, {"a", ones({3})}});
  dict->set("z", ones({5}));
  EXPECT_EQ(dict->keys(), (Names{"z", "a"}));
  EXPECT_EQ(dict->pop("z").shape(), (Shape{5}));
  EXPECT_EQ(names(dict->state_dict()), (Names{"a"}));
  EXPECT_THROW(dict->at("z"), IndexError);
  EXPECT_THROW(dict->set("a.b", ones({1})), ValueError);
}

TEST_F(ModuleParts, BatchNormsAreFused) {
  auto conv = make_ref<nn::Conv2d>(nn::ConvConfig<2>{.in_channels = 2, .out_channels = 3, .kernel_size = {3}, .bias = false});
  auto up = make_ref<nn::ConvTranspose2d>(nn::ConvTransposeConfig<2>{.in_channels = 2, .out_channels = 3, .kernel_size = {3}});
  auto norm = make_ref<nn::BatchNorm2d>(nn::BatchNormConfig{.num_features = 3});
  const Tensor x = randn({2, 2, 5, 5});
  for (int i = 0; i < 3; ++i) norm->call(conv->call(x));
  EXPECT_THROW(nn::fuse_conv_bn_eval(*conv, *norm), ValueError);
  conv->eval(), norm->eval(), up->eval();
  EXPECT_LT(largest(Tensor(nn::fuse_conv_bn_eval(*conv, *norm)->call(x)) - norm->call(conv->call(x))), 1e-5);
  EXPECT_LT(largest(Tensor(nn::fuse_conv_bn_eval(*up, *norm)->call(x)) - norm->call(up->call(x))), 1e-5);
  auto line = make_ref<nn::Linear>(4, 3);
  auto flat = make_ref<nn::BatchNorm1d>(nn::BatchNormConfig{.num_features = 3});
  flat->call(line->call(randn({7, 4})));
  line->eval(), flat->eval();
  const Tensor rows = randn({2, 4});
  EXPECT_LT(largest(Tensor(nn::fuse_linear_bn_eval(*line, *flat)->call(rows)) - flat->call(line->call(rows))), 1e-5);
}

TEST_F(ModuleParts, CallsWithOtherParameters) {
  auto layer = make_ref<nn::Linear>(2, 1, false);
  auto twice = nn::sequential(layer, make_ref<nn::Identity>());
  const Tensor weight = nn::Parameter(ones({1, 2}));
  const Tensor y = nn::functional_call(*twice, {{"0.weight", weight * 3}}, ones({1, 2}));
  EXPECT_EQ(read_number(detach(y)), 6);
  autograd::backward(sum(y));
  EXPECT_EQ(largest(autograd::grad_of(weight)), 3);
  EXPECT_TRUE(layer->tensor("weight").has(Flag::parameter));
  EXPECT_THROW(nn::functional_call(*twice, {{"1.weight", weight}}, ones({1, 2})), ValueError);
  EXPECT_THROW(nn::functional_call(*twice, {}, ones({1, 2}), {.strict = true}), ValueError);
  EXPECT_THROW(nn::functional_call(*twice, {{"0.weight", ones({1, 3})}}, ones({1, 2})), ShapeError);
  EXPECT_EQ(layer->tensor("weight").shape(), (Shape{1, 2}));
}

TEST_F(ModuleParts, PartsByTheirPaths) {
  auto model =
      nn::sequential(nn::sequential(make_ref<nn::Linear>(2, 3)), make_ref<nn::BatchNorm1d>(nn::BatchNormConfig{.num_features = 3}));
  EXPECT_EQ(model->get_submodule("0.0")->type_name(), "Linear");
  EXPECT_EQ(model->get_submodule("").get(), model.get());
  EXPECT_EQ(model->get_parameter("0.0.weight").shape(), (Shape{3, 2}));
  EXPECT_EQ(model->get_buffer("1.running_mean").shape(), (Shape{3}));
  EXPECT_THROW(model->get_parameter("1.running_mean"), ValueError);
  EXPECT_THROW(model->get_submodule("0.1"), ValueError);
  EXPECT_THROW(model->get_submodule("0..0"), ValueError);
}

TEST_F(ModuleParts, MasksOfAttention) {
  const Tensor causal = nn::generate_autoregressive_mask(2, 2);
  EXPECT_EQ(causal.shape(), (Shape{2, 2, 2}));
  EXPECT_EQ(values(cast(causal, DType::float64)), (std::vector<double>{0, 1, 0, 0, 0, 1, 0, 0}));
  const auto [tokens, mask] = nn::generate_padding_mask(9, {{5, 6, 7}, {8}}, 2);
  EXPECT_EQ(values<int64_t>(tokens), (std::vector<int64_t>{5, 6, 8, 9}));
  EXPECT_EQ(values(cast(mask, DType::float64)), (std::vector<double>{0, 0, 0, 1}));
  EXPECT_EQ(nn::generate_padding_mask(0, {{1}}, 3, true).tokens.shape(), (Shape{1, 3}));
  EXPECT_THROW(nn::generate_padding_mask(0, {{1}}, {}, true), ValueError);
}

TEST_F(ModuleParts, ASummaryCountsWhatACallCosts) {
  auto shared = make_ref<nn::Linear>(8, 8);
  auto model = nn::sequential(make_ref<nn::Linear>(4, 8), make_ref<nn::ReLU>(), shared, shared);
  const ModelSummary found = summary(*model, ones({16, 4}));
  EXPECT_EQ(found.total_params, 40 + 72);
  EXPECT_EQ(found.total_mult_adds, 16 * (4 * 8 + 2 * 8 * 8));
  ASSERT_EQ(found.layers.size(), 5u);
  EXPECT_EQ(found.layers[1].output, (Shape{16, 8}));
  EXPECT_TRUE(found.layers[4].is_repeated && !found.layers[3].is_repeated);
  EXPECT_EQ(found.layers[4].depth, 1);
  EXPECT_TRUE(model->training());
  const std::string text = to_text(found);
  for (const char* part : {"  Linear (0)", "[16, 8]", "(recursive)", "Total mult-adds: 2,560", "Input size: 0.00 MiB"})
    EXPECT_NE(text.find(part), text.npos) << text;
  auto lazy = nn::sequential(make_ref<nn::LazyLinear>(3));
  EXPECT_EQ(summary(*lazy, ones({2, 5})).total_params, 18);
}

TEST_F(ModuleParts, LayersByName) {
  EXPECT_EQ(to_text(*nn::activation("Leaky_ReLU")), "LeakyReLU(negative_slope=0.01)");
  EXPECT_EQ(to_text(*nn::activation("gelu_approximate")), "GELU(approximate='tanh')");
  EXPECT_EQ(nn::normalization("BatchNorm", {.num_features = 4, .dims = 2})->type_name(), "BatchNorm2d");
  EXPECT_EQ(
      to_text(*nn::normalization("group", {.num_features = 8, .num_groups = 2})), "GroupNorm(2, 8, eps=1e-05, affine=True, bias=True)");
  EXPECT_EQ(nn::normalization("layer", {.num_features = 3})->call(ones({2, 3})).shape(), (Shape{2, 3}));
  EXPECT_THROW(nn::activation("what"), ValueError);
  EXPECT_THROW(nn::normalization("batch", {.dims = 4}), ValueError);
}

}  // namespace
