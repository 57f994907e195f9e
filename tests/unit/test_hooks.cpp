// Hooks of modules: around calls, in the backward pass, on state dicts.
#include <gtest/gtest.h>

#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/decorators/autodiff/function.h"
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

// ---- several tensors

TEST_F(ModuleHooks, HooksSeeAllTensorsOfACall) {
  const auto lstm = make_ref<nn::LSTM>(nn::LSTMConfig{.input_size = 2, .hidden_size = 3});
  const Tensor x = randn({5, 1, 2}), h0 = zeros({1, 1, 3}), c0 = zeros({1, 1, 3});
  std::vector<int64_t> seen;
  lstm->hooks().register_forward_pre_hook([&](nn::Module&, const Tensors& inputs) {
    seen.push_back(inputs.size());
    Tensors changed = inputs;
    changed[0] = Tensor(inputs[0]) * 0.0;
    return changed;
  });
  lstm->hooks().register_forward_hook([&](nn::Module&, const Tensors& inputs, const Tensors& outputs) {
    seen.push_back(inputs.size()), seen.push_back(outputs.size());
    EXPECT_EQ(value_of(sum(abs(inputs[0]))), 0);
  });
  lstm->hooks().register_forward_hook([&](nn::Module&, const TensorHandle& input, const TensorHandle& output) {  // the first ones
    EXPECT_EQ(input.shape(), x.shape());
    return Tensor(output) + 10;
  });
  const nn::RecurrentResult result = nn::call(*lstm, x, h0, c0);
  EXPECT_EQ(seen, (std::vector<int64_t>{3, 3, 3}));
  const nn::RecurrentResult plain = lstm->forward(x * 0.0, h0, c0);
  EXPECT_LT(value_of(amax(abs(Tensor(result.output) - 10 - plain.output))), 1e-5);
  EXPECT_EQ(value_of(amax(abs(Tensor(result.hn) - plain.hn))), 0);

  lstm->hooks().register_forward_hook([](nn::Module&, const Tensors&, const Tensors&) { return Tensors{ones({1})}; });
  EXPECT_THROW(nn::call(*lstm, x, h0, c0), ValueError);
}

TEST_F(ModuleHooks, GradientsOfAllInputsComeTogether) {
  const auto bilinear = make_ref<nn::Bilinear>(nn::BilinearConfig{.in1_features = 1, .in2_features = 1, .out_features = 1, .bias = false});
  nn::init::constant_(bilinear->tensor("weight"), 2);  // y = 2 a b
  const Tensor a = nn::Parameter(number(3)), b = nn::Parameter(number(5)), fixed = number(7);
  std::vector<double> seen;
  nn::HookHandle handle = bilinear->hooks().register_full_backward_hook([&](nn::Module&, const Tensors& dx, const Tensors& dy) {
    for (const TensorHandle& t : dx) seen.push_back(value_of(t));
    seen.push_back(value_of(dy[0]));
    return Tensors{Tensor(dx[0]) + 100, dx[1]};
  });
  autograd::backward(sum(nn::call(*bilinear, a, b)));
  EXPECT_EQ(seen, (std::vector<double>{10, 6, 1}));
  EXPECT_EQ(value_of(autograd::grad_of(a)), 110);
  EXPECT_EQ(value_of(autograd::grad_of(b)), 6);

  seen.clear();
  autograd::backward(sum(nn::call(*bilinear, a, fixed)));  // no gradient is asked of the second: zeros
  EXPECT_EQ(seen, (std::vector<double>{14, 0, 1}));
  handle.remove();

  bilinear->hooks().register_full_backward_pre_hook([](nn::Module&, const Tensors& dy) { return Tensors{Tensor(dy[0]) * 3}; });
  autograd::set_grad(b, {});
  autograd::backward(sum(nn::call(*bilinear, a, b)));
  EXPECT_EQ(value_of(autograd::grad_of(b)), 18);
}

TEST_F(ModuleHooks, PartsOfATransformerHaveTheirHooks) {
  const auto model = make_ref<nn::Transformer>(
      nn::TransformerConfig{.d_model = 4, .nhead = 2, .num_encoder_layers = 1, .num_decoder_layers = 1, .dim_feedforward = 4});
  std::vector<std::string> seen;
  model->apply([&](nn::Module& m) {
    if (m.type_name().ends_with("Attention") || m.type_name().starts_with("Transformer"))
      m.hooks().register_forward_hook([&](nn::Module& m, const Tensors&, const Tensors&) { seen.push_back(m.type_name()); });
  });
  nn::call(*model, randn({3, 1, 4}), randn({2, 1, 4}));
  EXPECT_EQ(seen, (std::vector<std::string>{"MultiheadAttention", "TransformerEncoderLayer", "TransformerEncoder", "MultiheadAttention",
                      "MultiheadAttention", "TransformerDecoderLayer", "TransformerDecoder", "Transformer"}));
}

// ---- hooks of all modules

TEST_F(ModuleHooks, HooksOfAllModulesComeFirst) {
  std::vector<std::string> order;
  layer->hooks().register_forward_hook([&](nn::Module&, const TensorHandle&, const TensorHandle&) { order.push_back("own"); });
  {
    const nn::ScopedHook before = nn::hooks_of_all_modules().register_forward_pre_hook(
        [&](nn::Module& m, const TensorHandle&) { order.push_back("before " + m.type_name()); });
    const nn::ScopedHook after = nn::hooks_of_all_modules().register_forward_hook(
        [&](nn::Module& m, const TensorHandle&, const TensorHandle&) { order.push_back("after " + m.type_name()); });
    EXPECT_EQ(value_of(nn::sequential(layer, make_ref<nn::ReLU>())->call(number(2))), 6);
  }
  EXPECT_EQ(order, (std::vector<std::string>{
                       "before Sequential", "before Linear", "after Linear", "own", "before ReLU", "after ReLU", "after Sequential"}));
  order.clear();
  layer->call(number(2));
  EXPECT_EQ(order, (std::vector<std::string>{"own"}));
  EXPECT_FALSE(make_ref<nn::ReLU>()->has_call_hooks());
}

TEST_F(ModuleHooks, GradientsOfAllModules) {
  std::vector<std::string> order;
  const nn::ScopedHook back = nn::hooks_of_all_modules().register_full_backward_hook(
      [&](nn::Module& m, const TensorHandle&, const TensorHandle&) { order.push_back(m.type_name()); });
  const Tensor x = nn::Parameter(number(2));
  autograd::backward(sum(nn::sequential(layer, make_ref<nn::ReLU>())->call(x)));
  EXPECT_EQ(order, (std::vector<std::string>{"ReLU", "Linear", "Sequential"}));
}

TEST_F(ModuleHooks, RegistrationsAreSeenAndReplaced) {
  std::vector<std::string> names;
  auto& all = nn::hooks_of_all_modules();
  {
    const nn::ScopedHook parameters =
        all.register_parameter_registration_hook([&](nn::Module& m, const std::string& name, const TensorHandle& p) -> TensorHandle {
          names.push_back(m.entries().empty() ? name : "then " + name);
          return nn::Parameter(Tensor(detach(p)) * 0.0, false);
        });
    const nn::ScopedHook buffers =
        all.register_buffer_registration_hook([&](nn::Module&, const std::string& name, const TensorHandle&) -> TensorHandle {
          names.push_back("buffer " + name);
          return {};
        });
    const nn::ScopedHook modules =
        all.register_module_registration_hook([&](nn::Module&, const std::string& name, const Ref<nn::Module>& m) -> Ref<nn::Module> {
          names.push_back("module " + name);
          return m->type_name() == "ReLU" ? Ref<nn::Module>(make_ref<nn::Identity>()) : Ref<nn::Module>();
        });
    const auto made = make_ref<nn::Linear>(1, 1);
    EXPECT_FALSE(made->tensor("weight").requires_grad());
    const auto chain = nn::sequential(made, make_ref<nn::ReLU>(), make_ref<nn::BatchNorm1d>(nn::BatchNormConfig{.affine = false}));
    EXPECT_EQ(chain->at(1)->type_name(), "Identity");
  }
  EXPECT_EQ(names, (std::vector<std::string>{"weight", "then bias", "buffer running_mean", "buffer running_var",
                       "buffer num_batches_tracked", "module 0", "module 1", "module 2"}));
  EXPECT_TRUE(make_ref<nn::Linear>(1, 1)->tensor("weight").requires_grad());
}

// ---- state that is no tensor of its own

class Counting : public nn::Module {
 public:
  PB_MODULE(Counting)
  TensorHandle forward(const TensorHandle& x) override { return ++calls, x; }
  TensorHandle get_extra_state() const override { return full({}, calls, DType::int64); }
  void set_extra_state(const TensorHandle& state) override { calls = int64_t(read_number(state)); }
  int64_t calls = 0;
};

TEST_F(ModuleHooks, ExtraStateIsSavedAndLoaded) {
  const auto counting = make_ref<Counting>(), other = make_ref<Counting>();
  const auto chain = nn::sequential(counting, layer), again = nn::sequential(other, nn::deepcopy(*layer));
  chain->call(number(1)), chain->call(number(1));
  nn::NamedTensors state = chain->state_dict();
  EXPECT_EQ(state[0].first, "0._extra_state");
  again->load_state_dict(state);
  EXPECT_EQ(other->calls, 2);
  EXPECT_EQ(nn::deepcopy(*other)->calls, 2);

  state.erase(state.begin());
  EXPECT_EQ(again->load_state_dict(state, false).missing_keys, (std::vector<std::string>{"0._extra_state"}));
  EXPECT_THROW(again->load_state_dict(state), Error);
  EXPECT_EQ(nn::sequential(make_ref<nn::ReLU>(), layer)->load_state_dict(chain->state_dict(), false).unexpected_keys,
      (std::vector<std::string>{"0._extra_state"}));
}

// ---- gradients of the program's own

TEST_F(ModuleHooks, FunctionsWithAGradientOfTheirOwn) {
  const Tensor x = nn::Parameter(full({1}, 2.4)), w = nn::Parameter(full({1}, 3.0));
  const auto straight = [](const TensorHandle& x) {
    const Tensor y = [&] {
      const autograd::NoGrad no_grad;
      return round(x);
    }();
    autograd::attach_function("StraightThrough", {x}, {y}, [](const Grads& dy) { return dy; });
    return y;
  };
  autograd::backward(straight(x) * w);
  EXPECT_EQ(value_of(autograd::grad_of(x)), 3);
  EXPECT_EQ(value_of(autograd::grad_of(w)), 2);
  EXPECT_EQ(autograd::grad_fn(straight(x))->name(), "StraightThroughBackward");

  const Tensor y = detach(x);
  autograd::attach_function("Short", {x, w}, {y}, [](const Grads&) { return Grads{}; });
  EXPECT_THROW(autograd::backward(y), GradientError);
}

}  // namespace
