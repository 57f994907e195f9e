// Hooks of modules: around calls, in the backward pass, on state dicts.
#include <gtest/gtest.h>

#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/nn/nn.h"
#include "pyburn/ops/functions.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/start.h"

using namespace pyburn;

namespace {

struct ModuleHooks : testing::Test {
  ModuleHooks() { start(); }
  // y = 3 x
  Ref<nn::Linear> layer = [] {
    start();
    auto made = make_ref<nn::Linear>(1, 1, false);
    nn::init::constant_(made->tensor("weight"), 3);
    return made;
  }();
};

Tensor number(double value) { return full({1, 1}, value); }
double value_of(const TensorHandle& x) { return read_number(detach(x)); }

struct Failing : nn::Module {
  TensorHandle forward(const TensorHandle&) override { throw ValueError("no"); }
};

TEST_F(ModuleHooks, ForwardHooksSeeAndReplace) {
  std::vector<std::string> order;
  auto handle = layer->hooks().register_forward_hook([&](nn::Module& m, const TensorHandle& x, const TensorHandle& y) {
    order.push_back(m.type_name());
    EXPECT_EQ(value_of(x), 2);
    EXPECT_EQ(value_of(y), 6);
  });
  EXPECT_EQ(value_of(layer->call(number(2))), 6);
  layer->hooks().register_forward_pre_hook([&](nn::Module&, const TensorHandle& x) {
    order.push_back("pre");
    return Tensor(x) * 2;
  });
  EXPECT_EQ(value_of(layer->call(number(1))), 6);
  layer->hooks().register_forward_hook(
      [&](nn::Module&, const TensorHandle&, const TensorHandle& y) {
        order.push_back("first");
        return Tensor(y) + 0;
      },
      {.prepend = true});
  EXPECT_EQ(value_of((*layer)(number(1))), 6);
  EXPECT_EQ(order, (std::vector<std::string>{"Linear", "pre", "Linear", "pre", "first", "Linear"}));
  handle.remove();
  handle.remove();
  order.clear();
  auto chain = nn::sequential(layer, make_ref<nn::ReLU>());
  EXPECT_EQ(value_of(chain->call(number(1))), 6);
  EXPECT_EQ(order, (std::vector<std::string>{"pre", "first"}));
  EXPECT_EQ(value_of(layer->forward(number(1))), 3);  // forward itself is without hooks
}

TEST_F(ModuleHooks, HandlesMayOutliveTheModule) {
  nn::HookHandle handle;
  int calls = 0;
  {
    auto other = make_ref<nn::ReLU>();
    handle = other->hooks().register_forward_hook([&](nn::Module&, const TensorHandle&, const TensorHandle&) { ++calls; });
    other->call(number(1));
    nn::HookHandle once;
    once = other->hooks().register_forward_pre_hook([&](nn::Module&, const TensorHandle&) { once.remove(), ++calls; });
    other->call(number(1));
    other->call(number(1));
    const nn::ScopedHook scoped =
        other->hooks().register_forward_hook([&](nn::Module&, const TensorHandle&, const TensorHandle&) { ++calls; });
    other->call(number(1));
  }
  handle.remove();
  EXPECT_EQ(calls, 1 + 2 + 1 + 2);
}

TEST_F(ModuleHooks, AlwaysCalledHooksSeeErrors) {
  auto failing = make_ref<Failing>();
  int calls = 0;
  failing->hooks().register_forward_hook([&](nn::Module&, const TensorHandle&, const TensorHandle&) { calls += 10; });
  failing->hooks().register_forward_hook(
      [&](nn::Module&, const TensorHandle&, const TensorHandle& y) { calls += !y.defined(); }, {.always_call = true});
  EXPECT_THROW(failing->call(number(1)), ValueError);
  EXPECT_EQ(calls, 1);
}

TEST_F(ModuleHooks, BackwardHooksSeeAndReplaceGradients) {
  std::vector<double> seen;
  layer->hooks().register_full_backward_pre_hook([&](nn::Module&, const TensorHandle& dy) {
    seen.push_back(value_of(dy));
    return Tensor(dy) * 10;
  });
  layer->hooks().register_full_backward_hook([&](nn::Module&, const TensorHandle& dx, const TensorHandle& dy) {
    seen.push_back(value_of(dx)), seen.push_back(value_of(dy));
    return Tensor(dx) + 0.5;
  });
  const Tensor x = nn::Parameter(number(2));
  autograd::backward(sum((*layer)(x)*2 + x));
  EXPECT_EQ(seen, (std::vector<double>{2, 60, 20}));
  EXPECT_EQ(value_of(autograd::grad_of(x)), 61.5);  // the other use of x does not come by
  EXPECT_EQ(value_of(autograd::grad_of(layer->tensor("weight"))), 40);

  seen.clear();
  const autograd::NoGrad no_grad;
  layer->call(x);
  EXPECT_TRUE(seen.empty());
}

TEST_F(ModuleHooks, BackwardHooksWithoutAGradientOfTheInput) {
  int calls = 0;
  layer->hooks().register_full_backward_hook([&](nn::Module&, const TensorHandle& dx, const TensorHandle& dy) {
    EXPECT_FALSE(dx.defined());
    calls += int(value_of(dy));
  });
  autograd::backward(sum((*layer)(number(2))));
  EXPECT_EQ(calls, 1);
  layer->hooks().register_full_backward_hook([](nn::Module&, const TensorHandle&, const TensorHandle& dy) { return dy; });
  EXPECT_THROW(autograd::backward(sum((*layer)(number(2)))), GradientError);
}

TEST_F(ModuleHooks, StateDictHooks) {
  auto chain = nn::sequential(layer);
  std::vector<std::string> seen;
  layer->hooks().register_state_dict_pre_hook(
      [&](nn::Module&, const std::string& prefix, bool keep_vars) { seen.push_back(prefix + (keep_vars ? "kept" : "")); });
  chain->hooks().register_state_dict_post_hook([&](nn::Module&, nn::NamedTensors& state, const std::string& prefix) {
    for (auto& [name, tensor] : state) name = prefix + "model." + name;
  });
  const nn::NamedTensors saved = chain->state_dict();
  EXPECT_EQ(saved.size(), 1u);
  EXPECT_EQ(saved[0].first, "model.0.weight");
  EXPECT_EQ(seen, (std::vector<std::string>{"0."}));

  auto other = nn::sequential(make_ref<nn::Linear>(1, 1, false));
  EXPECT_THROW(other->load_state_dict(saved), Error);
  other->hooks().register_load_state_dict_pre_hook([](nn::Module&, nn::StateLoad&, nn::NamedTensors& state, const std::string&) {
    for (auto& [name, tensor] : state)
      if (name.starts_with("model.")) name.erase(0, 6);
  });
  other->load_state_dict(saved);
  EXPECT_EQ(value_of(other->at(0)->tensor("weight")), 3);

  other->hooks().register_load_state_dict_post_hook([](nn::Module&, nn::StateLoad& load) { load.missing_keys.clear(); });
  EXPECT_TRUE(other->load_state_dict({}).missing_keys.empty());
}

}  // namespace
