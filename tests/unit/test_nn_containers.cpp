// Containers, initialisers and gradient clipping in C++.
#include <gtest/gtest.h>

#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/nn/nn.h"
#include "pyburn/ops/functions.h"
#include "pyburn/runtime/generator.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/start.h"

using namespace pyburn;

namespace {

struct NNContainers : testing::Test {
  NNContainers() { start(); }
};

std::vector<std::string> names(const nn::NamedTensors& list) {
  std::vector<std::string> out;
  for (const auto& [name, t] : list) out.push_back(name);
  return out;
}

double largest(const TensorHandle& x) { return read_number(amax(abs(x))); }

TEST_F(NNContainers, ModuleListFoldsWhatRepeats) {
  auto list = make_ref<nn::ModuleList>();
  for (int i = 0; i < 3; ++i) list->append(make_ref<nn::Linear>(2, 2));
  list->append(make_ref<nn::ReLU>());
  EXPECT_EQ(to_text(*list), "ModuleList(\n  (0-2): 3 x Linear(in_features=2, out_features=2, bias=True)\n  (3): ReLU()\n)");
  EXPECT_EQ(to_text(*make_ref<nn::ModuleList>()), "ModuleList()");
  EXPECT_THROW(list->call(ones({2})), UnsupportedOp);
}

std::string message_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}

TEST_F(NNContainers, ErrorsSayWhereTheyArose) {
  const auto inner = nn::sequential(make_ref<nn::ReLU>(), make_ref<nn::Linear>(5, 2));
  const auto outer = nn::sequential(make_ref<nn::ReLU>(), inner);
  const std::string what = "expected 5 features, got 4: input of shape (3, 4)";
  EXPECT_EQ(message_of([&] { outer->call(ones({3, 4})); }), "in Sequential.1.1 (Linear 5 → 2): " + what);
  EXPECT_EQ(message_of([&] { inner->call(ones({3, 4})); }), "in Sequential.1 (Linear 5 → 2): " + what);
  EXPECT_EQ(message_of([&] { nn::Linear(5, 2).call(ones({3, 4})); }), "[linear] " + what);

  nn::TransformerEncoder stack({.layer = {.d_model = 8, .nhead = 2}, .num_layers = 2});
  const std::string deep = message_of([&] { stack.call(ones({3, 2, 9})); });
  EXPECT_TRUE(deep.starts_with("in TransformerEncoder.layers.0.self_attn (MultiheadAttention): ")) << deep;
}

TEST_F(NNContainers, SequencesInsertPopAndNumberAnew) {
  auto net = nn::sequential(make_ref<nn::Linear>(2, 3), make_ref<nn::ReLU>());
  net->insert(1, make_ref<nn::Identity>());
  net->insert(-1, make_ref<nn::Flatten>());
  EXPECT_EQ(net->size(), 4);
  EXPECT_EQ(net->at(-1)->type_name(), "ReLU");
  EXPECT_EQ(net->pop(0)->type_name(), "Linear");
  EXPECT_EQ(net->at(0)->type_name(), "Identity");
  net->set(0, make_ref<nn::Linear>(2, 2));
  net->extend({make_ref<nn::Linear>(4, 4)});
  EXPECT_EQ(names(net->state_dict()), (std::vector<std::string>{"0.weight", "0.bias", "3.weight", "3.bias"}));
  EXPECT_THROW(net->at(4), IndexError);
  EXPECT_THROW(net->insert(6, make_ref<nn::ReLU>()), IndexError);
  EXPECT_THROW(net->pop(-5), IndexError);
}

TEST_F(NNContainers, ModuleDictKeepsTheOrder) {
  auto dict = make_ref<nn::ModuleDict>(nn::NamedModules{{"z", make_ref<nn::ReLU>()}, {"a", make_ref<nn::Linear>(1, 1)}});
  dict->set("q", make_ref<nn::Identity>());
  dict->update({{"z", make_ref<nn::Linear>(2, 2)}});
  EXPECT_EQ(dict->keys(), (std::vector<std::string>{"z", "a", "q"}));
  EXPECT_EQ(dict->at("z")->type_name(), "Linear");
  EXPECT_EQ(dict->pop("a")->type_name(), "Linear");
  EXPECT_FALSE(dict->contains("a"));
  EXPECT_EQ(dict->size(), 2);
  EXPECT_THROW(dict->at("a"), IndexError);
  EXPECT_THROW(dict->set("a.b", make_ref<nn::ReLU>()), ValueError);
}

TEST_F(NNContainers, ParametersComeBeforeBuffers) {
  auto m = make_ref<nn::Module>();
  m->register_buffer("mean", zeros({2}));
  m->register_parameter("weight", nn::Parameter(ones({2})));
  EXPECT_EQ(names(m->state_dict("p.")), (std::vector<std::string>{"p.weight", "p.mean"}));
}

TEST_F(NNContainers, OlderCheckpointsMayLackTheCount) {
  auto bn = make_ref<nn::BatchNorm2d>(nn::BatchNormConfig{.num_features = 2});
  nn::NamedTensors state = bn->state_dict();
  std::erase_if(state, [](const auto& item) { return item.first == "num_batches_tracked"; });
  nn::StateLoad older{.version = 1}, newer{.version = 2};
  bn->load_own(older, state, "");
  bn->load_own(newer, state, "");
  EXPECT_TRUE(older.missing_keys.empty());
  EXPECT_EQ(newer.missing_keys, (std::vector<std::string>{"num_batches_tracked"}));
}

TEST_F(NNContainers, OrthogonalInitialisation) {
  for (auto [rows, columns] : {std::pair{5, 3}, {3, 5}, {4, 4}, {1, 1}}) {
    const TensorHandle w = empty({rows, columns}, DType::float64);
    nn::init::orthogonal_(w, 2);
    const Tensor product = rows < columns ? matmul(w, transpose(w, 0, 1)) : matmul(transpose(w, 0, 1), w);
    EXPECT_LT(largest(product - 4.0 * eye(std::min(rows, columns), {}, DType::float64)), 1e-12);
  }
}

TEST_F(NNContainers, InitialisersKeepTheirBounds) {
  const TensorHandle w = empty({64, 32});
  nn::init::xavier_uniform_(w, 2);
  EXPECT_LE(largest(w), 2 * std::sqrt(6.0 / 96));
  EXPECT_GT(largest(w), 1.9 * std::sqrt(6.0 / 96));
  nn::init::trunc_normal_(w, 0, 1, -0.5, 0.25);
  EXPECT_LE(read_number(amax(w)), 0.25);
  EXPECT_GE(read_number(amin(w)), -0.5);
  nn::init::sparse_(w, 0.25);
  EXPECT_EQ(read_number(sum(eq(w, 0.0))), 16 * 32);
  Generator a, b;
  a.manual_seed(3), b.manual_seed(3);
  const TensorHandle v = empty({64, 32});
  nn::init::kaiming_normal_(w, 0, nn::init::FanMode::fan_out, "relu", &a);
  nn::init::kaiming_normal_(v, 0, nn::init::FanMode::fan_out, "relu", &b);
  EXPECT_EQ(largest(Tensor(w) - v), 0);
  EXPECT_THROW(nn::init::calculate_gain("what"), ValueError);
}

TEST_F(NNContainers, SkippedInitialisersLeaveZeros) {
  const nn::init::Skip skip;
  EXPECT_EQ(largest(make_ref<nn::Linear>(3, 2)->tensor("weight")), 0);
}

TEST_F(NNContainers, GradientsAreClippedTogether) {
  const nn::Parameter a(zeros({1})), b(zeros({1}));
  autograd::set_grad(a, full({1}, 3.0));
  autograd::set_grad(b, full({1}, 4.0));
  EXPECT_FLOAT_EQ(float(read_number(nn::clip_grad_norm_({a, b}, 1))), 5);
  EXPECT_NEAR(read_number(autograd::grad_of(b)), 0.8, 1e-6);
  nn::clip_grad_value_({a, b}, 0.7);
  EXPECT_NEAR(read_number(autograd::grad_of(b)), 0.7, 1e-6);
  EXPECT_EQ(nn::parameters_to_vector({a, b}).numel(), 2);
}

TEST_F(NNContainers, WalksEndWhereAModuleIsBelowItself) {
  auto loop = nn::sequential(make_ref<nn::ReLU>());
  loop->append(loop);
  loop->eval();
  EXPECT_FALSE(loop->at(0)->training());
  EXPECT_EQ(to_text(*loop), "Sequential(\n  (0): ReLU()\n  (1): ...\n)");
  int visits = 0;
  loop->apply([&](nn::Module&) { ++visits; });
  EXPECT_EQ(visits, 2);
  loop->pop();  // or it would keep itself
}

}  // namespace
