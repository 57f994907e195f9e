// Deep copies of modules.
#include <cmath>

#include "module_test.h"
#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/optim/averaged_model.h"

using namespace pyburn;

namespace {

struct ModuleCopies : testing::Test {
  ModuleCopies() { start(); }
};

class TwoHeads : public nn::Module {
 public:
  TwoHeads()
      : body(register_module("body", make_ref<nn::Linear>(2, 3))),
        scale(register_parameter("scale", nn::Parameter(full({1}, 2.0)))),
        heads{register_module("first", make_ref<nn::Linear>(3, 1)), register_module("second", make_ref<nn::Linear>(3, 1))} {}
  PB_MODULE(TwoHeads, body, scale, heads)
  TensorHandle forward(const TensorHandle& x) override {
    const TensorHandle y = body->call(x);
    return Tensor(heads[0]->call(y)) + Tensor(heads[1]->call(y)) * scale;
  }

  Ref<nn::Linear> body;
  TensorHandle scale;
  std::vector<Ref<nn::Linear>> heads;
};

class Forgetful : public nn::Module {
 public:
  Forgetful() : inner(register_module("inner", make_ref<nn::Linear>(1, 1))) {}
  PB_MODULE(Forgetful)
  Ref<nn::Linear> inner;
};
class ForgetfulOfTensors : public nn::Module {
 public:
  ForgetfulOfTensors() : scale(register_parameter("scale", nn::Parameter(ones({1})))) {}
  PB_MODULE(ForgetfulOfTensors)
  TensorHandle scale;
};
class Silent : public TwoHeads {};

bool same_values(const TensorHandle& a, const TensorHandle& b) { return read_number(all(eq(detach(a), detach(b)))) == 1; }

void expect_equal_and_apart(nn::Module& a, nn::Module& b) {
  EXPECT_EQ(to_text(a), to_text(b));
  const nn::NamedTensors x = a.state_dict("", true), y = b.state_dict("", true);
  ASSERT_EQ(x.size(), y.size());
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(x[i].first, y[i].first);
    EXPECT_TRUE(same_values(x[i].second, y[i].second)) << x[i].first;
    EXPECT_NE(x[i].second.storage(), y[i].second.storage()) << x[i].first;
    EXPECT_EQ(x[i].second.requires_grad(), y[i].second.requires_grad());
    EXPECT_EQ(x[i].second.has(Flag::parameter), y[i].second.has(Flag::parameter));
  }
}

TEST_F(ModuleCopies, AModelOfOnesOwn) {
  const auto model = make_ref<TwoHeads>();
  model->heads[1]->eval();
  autograd::set_requires_grad(model->scale, false);
  const Ref<TwoHeads> copy = nn::deepcopy(*model);
  expect_equal_and_apart(*model, *copy);
  EXPECT_FALSE(copy->heads[1]->training());
  EXPECT_EQ(copy->body.get(), copy->get_submodule("body").get());
  EXPECT_EQ(copy->heads[0].get(), copy->get_submodule("first").get());
  EXPECT_TRUE(copy->scale.is_same(copy->get_parameter("scale")));

  const Tensor x = randn({4, 2}), before = detach((*model)(x));
  EXPECT_TRUE(same_values(before, (*copy)(x)));
  nn::init::constant_(copy->body->tensor("weight"), 7);
  EXPECT_FALSE(same_values(before, (*copy)(x)));
  EXPECT_TRUE(same_values(before, (*model)(x)));
}

TEST_F(ModuleCopies, GradientsAndSharedPartsComeAlong) {
  const auto shared = make_ref<nn::Linear>(2, 2);
  const auto model = nn::sequential(shared, make_ref<nn::ReLU>(), shared);
  autograd::backward(sum((*model)(ones({1, 2}))));
  const auto copy = nn::deepcopy(*model);
  EXPECT_EQ(copy->at(0).get(), copy->at(2).get());
  EXPECT_NE(copy->at(0).get(), shared.get());
  const Tensor theirs = autograd::grad_of(copy->at(0)->tensor("weight")), ours = autograd::grad_of(shared->tensor("weight"));
  EXPECT_TRUE(same_values(theirs, ours));
  EXPECT_NE(theirs.storage(), ours.storage());

  const auto tied = make_ref<nn::Module>();  // one tensor under two names
  const TensorHandle weight = tied->register_parameter("a", nn::Parameter(ones({2})));
  tied->register_parameter("b", weight);
  const auto tied_copy = nn::deepcopy(*tied);
  EXPECT_TRUE(tied_copy->tensor("a").is_same(tied_copy->tensor("b")));
}

TEST_F(ModuleCopies, HooksAreCopiedAndCanBeRemovedFromOneAlone) {
  const auto layer = make_ref<nn::Linear>(1, 1);
  int calls = 0;
  nn::HookHandle handle = layer->hooks().register_forward_hook([&](nn::Module&, const TensorHandle&, const TensorHandle&) { ++calls; });
  const auto copy = nn::deepcopy(*layer);
  layer->call(ones({1, 1})), copy->call(ones({1, 1}));
  EXPECT_EQ(calls, 2);
  handle.remove();
  layer->call(ones({1, 1})), copy->call(ones({1, 1}));
  EXPECT_EQ(calls, 3);
}

TEST_F(ModuleCopies, LayersOfAllKinds) {
  const auto normed = make_ref<nn::Linear>(3, 3), older = make_ref<nn::Linear>(3, 3);
  nn::parametrizations::weight_norm(*normed);
  nn::weight_norm(*older);
  const std::vector<Ref<nn::Module>> modules = {
      normed,
      older,
      make_ref<nn::Conv2d>(nn::ConvConfig<2>{.in_channels = 1, .out_channels = 2, .kernel_size = {3}}),
      make_ref<nn::BatchNorm1d>(nn::BatchNormConfig{.num_features = 3}),
      make_ref<nn::LSTM>(nn::LSTMConfig{.input_size = 2, .hidden_size = 3, .bidirectional = true}),
      make_ref<nn::GRUCell>(nn::GRUCellConfig{.input_size = 2, .hidden_size = 3}),
      make_ref<nn::MultiheadAttention>(nn::MultiheadAttentionConfig{.embed_dim = 4, .num_heads = 2}),
      make_ref<nn::Transformer>(
          nn::TransformerConfig{.d_model = 4, .nhead = 2, .num_encoder_layers = 1, .num_decoder_layers = 1, .dim_feedforward = 4}),
      make_ref<nn::CrossEntropyLoss>(nn::CrossEntropyFunction{.weight = nn::TensorOption(ones({3}))}),
      make_ref<nn::Dropout>(),
      make_ref<nn::SwiGLU>(nn::GatedConfig{.d_input = 2, .d_output = 3}),
      make_ref<nn::geometric::GATConv>(nn::geometric::GATConvConfig{.in_channels = 2, .out_channels = 3}),
      make_ref<nn::AdaptiveLogSoftmaxWithLoss>(nn::AdaptiveLogSoftmaxConfig{.in_features = 4, .n_classes = 8, .cutoffs = {2, 4}}),
      make_ref<nn::ModuleDict>(
          nn::NamedModules{{"a", make_ref<nn::Embedding>(nn::EmbeddingConfig{.num_embeddings = 3, .embedding_dim = 2})}}),
      make_ref<nn::ParameterList>(),
      make_ref<nn::Identity>(),
  };
  for (const Ref<nn::Module>& m : modules) {
    SCOPED_TRACE(m->type_name());
    const Ref<nn::Module> copy = nn::deepcopy(*m);
    EXPECT_EQ(typeid(*m), typeid(*copy));
    expect_equal_and_apart(*m, *copy);
  }
  const Tensor x = randn({2, 3});
  for (const auto& layer : {normed, older}) {
    const Tensor y = detach((*layer)(x));
    const auto copy = nn::deepcopy(*layer);
    EXPECT_TRUE(same_values(y, (*copy)(x)));
    for (const TensorHandle& p : copy->parameters()) nn::init::constant_(p, 1);  // what the copy computes with is its own
    EXPECT_FALSE(same_values(y, (*copy)(x)));
    EXPECT_TRUE(same_values(y, (*layer)(x)));
  }
}

TEST_F(ModuleCopies, ALazyLayerStaysLazy) {
  const auto lazy = make_ref<nn::LazyLinear>(3);
  const auto copy = nn::deepcopy(*lazy);
  (*copy)(ones({1, 5}));
  EXPECT_EQ(copy->tensor("weight").shape(), (Shape{3, 5}));
  EXPECT_TRUE(lazy->has_uninitialized_params());
  (*lazy)(ones({1, 2}));
  EXPECT_EQ(lazy->tensor("weight").shape(), (Shape{3, 2}));
}

TEST_F(ModuleCopies, WhatCannotBeCopiedSaysWhy) {
  const auto why_not = [](nn::Module& m) -> std::string {
    try {
      nn::deepcopy(m);
    } catch (const UnsupportedOp& e) {
      return e.what();
    }
    return "copied";
  };
  EXPECT_EQ(why_not(*make_ref<Silent>()), "TwoHeads cannot be copied: add PB_MODULE(...) to its class");
  EXPECT_EQ(why_not(*make_ref<Forgetful>()),
      "a copy of Forgetful would share 'inner' with the original: list the member that refers to it in PB_MODULE(Forgetful, ...)");
  EXPECT_NE(why_not(*make_ref<ForgetfulOfTensors>()).find("'scale'"), std::string::npos);

  const auto computed = make_ref<nn::Module>();
  computed->register_buffer("y", nn::Parameter(ones({1})) * 2);
  EXPECT_THROW(nn::deepcopy(*computed), GradientError);
}

TEST_F(ModuleCopies, AveragesAreModels) {
  const auto model = nn::sequential(make_ref<nn::Linear>(1, 1, false), make_ref<nn::BatchNorm1d>(nn::BatchNormConfig{.num_features = 1}));
  optim::AveragedModel average(*model, 0.5);  // on the stack: its walks take references to it, and it stays
  EXPECT_EQ(average.named_modules().size(), 4u);
  EXPECT_EQ(names(average.state_dict()), (Names{"n_averaged", "module.0.weight", "module.1.weight", "module.1.bias",
                                             "module.1.running_mean", "module.1.running_var", "module.1.num_batches_tracked"}));
  for (double value : {2.0, 6.0}) {
    nn::init::constant_(model->at(0)->tensor("weight"), value);
    average.update_parameters(*model);
  }
  average.eval();
  EXPECT_NEAR(read_number(detach(average(ones({1, 1})))), 4 / std::sqrt(1 + 1e-5), 1e-5);

  const auto again = nn::deepcopy(average);
  EXPECT_EQ(again->n_averaged(), 2);
  again->update_parameters(*model);
  EXPECT_EQ(average.n_averaged(), 2);
}

}  // namespace
