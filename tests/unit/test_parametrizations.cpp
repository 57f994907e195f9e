// Tensors of modules that are computed: parametrizations, weight_norm, spectral_norm, orthogonal.
#include "module_test.h"
#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/ops/copy.h"
#include "pyburn/optim/optimizer.h"

using namespace pyburn;
namespace parametrize = nn::parametrize;
namespace parametrizations = nn::parametrizations;

namespace {

struct Parametrizations : testing::Test {
  Parametrizations() { start(); }
};

Tensor weight_of(nn::Module& m) { return m.tensor("weight"); }

struct Symmetric : nn::Module {
  TensorHandle forward(const TensorHandle& x) override { return triu(x) + transpose(triu(x, 1), 0, 1); }
  std::string type_name() const override { return "Symmetric"; }
};
struct Doubled : nn::Parametrization {
  TensorHandle forward(const TensorHandle& x) override { return Tensor(x) * 2; }
  std::optional<Tensors> right_inverse(const TensorHandle& x) override { return Tensors{Tensor(x) / 2}; }
};
struct Flat : nn::Module {
  TensorHandle forward(const TensorHandle& x) override { return flatten(x); }
};

TEST_F(Parametrizations, ATensorIsComputed) {
  auto layer = make_ref<nn::Linear>(3, 3);
  const TensorHandle original = layer->tensor("weight");
  parametrize::register_parametrization(*layer, "weight", make_ref<Symmetric>());
  EXPECT_EQ(largest(weight_of(*layer) - transpose(weight_of(*layer), 0, 1)), 0);
  EXPECT_EQ(names(layer->state_dict()), (Names{"bias", "parametrizations.weight.original"}));
  EXPECT_TRUE(nn::parametrizations_of(*layer, "weight")->originals()[0].is_same(original));
  EXPECT_EQ(to_text(*layer),
      "ParametrizedLinear(\n  in_features=3, out_features=3, bias=True\n  (parametrizations): ModuleDict(\n    (weight): "
      "ParametrizationList(\n      (0): Symmetric()\n    )\n  )\n)");
  optim::SGD sgd(layer->parameters(), {.lr = 0.5});
  const Tensor before = detach(weight_of(*layer));
  autograd::backward(sum((*layer)(ones({1, 3}))));
  EXPECT_EQ(largest(autograd::grad_of(original) - triu(ones({3, 3})) - triu(ones({3, 3}), 1)), 0);
  sgd.step();
  EXPECT_GT(largest(before - weight_of(*layer)), 0.4);

  EXPECT_THROW(parametrize::assign(*layer, "weight", ones({3, 3})), Error);  // there is no way back
  EXPECT_THROW(parametrize::register_parametrization(*layer, "weight", {}), ValueError);
  EXPECT_THROW(parametrize::register_parametrization(*layer, "nothing", make_ref<Symmetric>()), ValueError);
  auto other = make_ref<nn::Linear>(2, 3);
  EXPECT_THROW(parametrize::register_parametrization(*other, "weight", make_ref<Flat>()), ValueError);
  EXPECT_FALSE(parametrize::is_parametrized(*other));
  parametrize::register_parametrization(*other, "weight", make_ref<Flat>(), true);
  EXPECT_EQ(weight_of(*other).shape(), (Shape{6}));
}

TEST_F(Parametrizations, SeveralOneAfterTheOther) {
  auto layer = make_ref<nn::Linear>(2, 2);
  const Tensor start = clone(detach(weight_of(*layer)));
  parametrize::register_parametrization(*layer, "weight", make_ref<Doubled>());
  EXPECT_LT(largest(weight_of(*layer) - start), 1e-7);  // right_inverse keeps the value
  EXPECT_THROW(parametrize::register_parametrization(*layer, "weight", make_ref<Flat>()), ValueError);
  parametrize::register_parametrization(*layer, "weight", make_ref<Doubled>());
  EXPECT_LT(largest(weight_of(*layer) - start * 2), 1e-6);
  parametrize::assign(*layer, "weight", full({2, 2}, 12.0));
  EXPECT_EQ(largest(layer->state_dict()[1].second), 3);
  {
    const parametrize::Cached cached;
    EXPECT_TRUE(layer->tensor("weight").is_same(layer->tensor("weight")));
  }
  EXPECT_FALSE(layer->tensor("weight").is_same(layer->tensor("weight")));
  parametrize::remove_parametrizations(*layer, "weight");
  EXPECT_FALSE(parametrize::is_parametrized(*layer));
  EXPECT_EQ(largest(weight_of(*layer)), 12);
  EXPECT_EQ(names(layer->state_dict()), (Names{"bias", "weight"}));
  EXPECT_THROW(parametrize::remove_parametrizations(*layer, "weight"), ValueError);
}

TEST_F(Parametrizations, AreTransferred) {
  const auto from = make_ref<nn::Linear>(3, 3), to = make_ref<nn::Linear>(3, 3);
  nn::parametrize::transfer(*from, *to);  // nothing to do
  EXPECT_FALSE(nn::parametrize::is_parametrized(*to));
  nn::parametrizations::weight_norm(*from);
  nn::parametrize::transfer(*from, *to);
  EXPECT_TRUE(nn::parametrize::is_parametrized(*to, "weight"));
  EXPECT_EQ(read_number(all(eq(detach(from->tensor("weight")), detach(to->tensor("weight"))))), 1);
  const auto list = nn::parametrizations_of(*to, "weight");
  EXPECT_FALSE(list->originals()[0].is_same(nn::parametrizations_of(*from, "weight")->originals()[0]));
  EXPECT_THROW(nn::parametrize::transfer(*from, *to, "bias"), ValueError);
}

TEST_F(Parametrizations, WeightNorm) {
  auto layer = make_ref<nn::Linear>(2, 2);
  const double values[] = {3, 4, 6, 8};
  copy_into(detach(weight_of(*layer)), from_host(default_device(), {const_cast<double*>(values), {Shape{2, 2}, DType::float64}}));
  parametrizations::weight_norm(*layer);
  const nn::NamedTensors state = layer->state_dict();
  EXPECT_EQ(names(state), (Names{"bias", "parametrizations.weight.original0", "parametrizations.weight.original1"}));
  EXPECT_EQ(state[1].second.shape(), (Shape{2, 1}));
  EXPECT_EQ(largest(state[1].second), 10);
  EXPECT_NEAR(largest(weight_of(*layer)), 8, 1e-6);
  autograd::backward(sum((*layer)(ones({1, 2}))));
  // d(sum)/dg is the sum of the direction: (3 + 4) / 5
  EXPECT_NEAR(read_number(amin(autograd::grad_of(nn::parametrizations_of(*layer, "weight")->originals()[0]))), 1.4, 1e-6);

  auto other = make_ref<nn::Linear>(2, 2);  // checkpoints of the older form
  parametrizations::weight_norm(*other);
  other->load_state_dict({{"bias", state[0].second}, {"weight_g", state[1].second}, {"weight_v", state[2].second}});
  EXPECT_EQ(largest(weight_of(*other) - weight_of(*layer)), 0);

  parametrize::remove_parametrizations(*layer, "weight");
  EXPECT_EQ(names(layer->state_dict()), (Names{"bias", "weight"}));
  EXPECT_TRUE(layer->tensor("weight").has(Flag::parameter));
  auto conv = make_ref<nn::Conv1d>(nn::ConvConfig<1>{.in_channels = 2, .out_channels = 3, .kernel_size = {2}});
  parametrizations::weight_norm(*conv, "weight", {});
  EXPECT_EQ(conv->state_dict()[1].second.rank(), 0);
  EXPECT_THROW(parametrize::remove_parametrizations(*conv, "weight", false), ValueError);
}

TEST_F(Parametrizations, SpectralNorm) {
  auto layer = make_ref<nn::Linear>(4, 3);
  const Tensor singular = linalg_svdvals(detach(weight_of(*layer))), before = clone(detach(weight_of(*layer)));
  parametrizations::spectral_norm(*layer);
  EXPECT_EQ(names(layer->state_dict()),
      (Names{"bias", "parametrizations.weight.original", "parametrizations.weight.0._u", "parametrizations.weight.0._v"}));
  for (int i = 0; i < 50; ++i) weight_of(*layer);
  EXPECT_NEAR(largest(weight_of(*layer) * amax(singular) - before), 0, 1e-4);
  EXPECT_NEAR(read_number(amax(linalg_svdvals(detach(weight_of(*layer))))), 1, 1e-4);
  layer->eval();
  const Tensor u = clone(layer->state_dict()[2].second);
  weight_of(*layer);
  EXPECT_EQ(largest(u - layer->state_dict()[2].second), 0);  // only training follows the singular vectors
  layer->train();
  const Tensor y1 = (*layer)(ones({1, 4})), y2 = (*layer)(ones({1, 4}));  // one gradient through both
  autograd::backward(sum(y1 + y2));

  auto up = make_ref<nn::ConvTranspose1d>(nn::ConvTransposeConfig<1>{.in_channels = 2, .out_channels = 5, .kernel_size = {3}});
  parametrizations::spectral_norm(*up);
  EXPECT_EQ(up->state_dict()[2].second.shape(), (Shape{5}));
  EXPECT_THROW(parametrizations::spectral_norm(*make_ref<nn::Linear>(2, 2), "weight", 0), ValueError);
  EXPECT_THROW(parametrizations::spectral_norm(*make_ref<nn::Linear>(2, 2), "what"), ValueError);
  EXPECT_THROW(parametrizations::spectral_norm(*make_ref<nn::Linear>(2, 2), "weight", 1, 1e-12, 2), IndexError);
}

TEST_F(Parametrizations, Orthogonal) {
  for (auto [rows, columns] : {std::pair{4, 4}, {5, 2}, {2, 5}})
    for (const char* map : {"matrix_exp", "cayley", "householder"})
      for (bool turned : {true, false}) {
        auto layer = make_ref<nn::Linear>(columns, rows, true, nn::Placement{DType::float64});
        parametrizations::orthogonal(*layer, "weight", map, turned);
        EXPECT_EQ(names(layer->state_dict()), turned ? (Names{"bias", "parametrizations.weight.original", "parametrizations.weight.0.base"})
                                                     : (Names{"bias", "parametrizations.weight.original"}));
        const Tensor w = weight_of(*layer), wt = transpose(w, 0, 1);
        EXPECT_LT(largest((rows < columns ? matmul(w, wt) : matmul(wt, w)) - eye(std::min(rows, columns), {}, DType::float64)), 1e-9)
            << map << rows << columns << turned;
        autograd::backward(sum(weight_of(*layer) * 2));
        EXPECT_TRUE(autograd::grad_of(nn::parametrizations_of(*layer, "weight")->originals()[0]).defined());
        if (!turned && std::string_view(map) != "householder") {
          EXPECT_THROW(parametrize::assign(*layer, "weight", detach(w)), Error);
          continue;
        }
        const Tensor q = linalg_qr(randn({std::max(rows, columns), std::min(rows, columns)}, DType::float64))[0];
        const Tensor wanted = rows < columns ? transpose(q, 0, 1) : q;
        parametrize::assign(*layer, "weight", wanted);
        EXPECT_LT(largest(weight_of(*layer) - wanted), 1e-9) << map << rows << columns << turned;
      }
  EXPECT_THROW(parametrizations::orthogonal(*make_ref<nn::Linear>(2, 2), "bias"), ValueError);
  EXPECT_THROW(parametrizations::orthogonal(*make_ref<nn::Linear>(2, 2), "weight", "what"), ValueError);
}

TEST_F(Parametrizations, TheOlderForms) {
  auto layer = make_ref<nn::Linear>(4, 3);
  const Tensor before = clone(detach(weight_of(*layer)));
  nn::weight_norm(*layer);
  EXPECT_EQ(names(layer->state_dict()), (Names{"bias", "weight_g", "weight_v"}));
  EXPECT_LT(largest(weight_of(*layer) - before), 1e-6);
  autograd::backward(sum((*layer)(ones({1, 4}))));
  EXPECT_TRUE(autograd::grad_of(layer->tensor("weight_g")).defined());
  nn::remove_weight_norm(*layer);
  EXPECT_EQ(names(layer->state_dict()), (Names{"bias", "weight"}));
  EXPECT_THROW(nn::remove_weight_norm(*layer), ValueError);

  nn::spectral_norm(*layer);
  EXPECT_EQ(names(layer->state_dict()), (Names{"bias", "weight_orig", "weight_u", "weight_v"}));
  for (int i = 0; i < 60; ++i) layer->call(ones({1, 4}));
  EXPECT_NEAR(read_number(amax(linalg_svdvals(detach(weight_of(*layer))))), 1, 1e-4);
  nn::remove_spectral_norm(*layer);
  EXPECT_TRUE(layer->training());
  EXPECT_NEAR(read_number(amax(linalg_svdvals(detach(weight_of(*layer))))), 1, 1e-4);
  EXPECT_THROW(nn::remove_spectral_norm(*layer), ValueError);
  EXPECT_THROW(nn::spectral_norm(*layer, "bias"), IndexError);
  EXPECT_THROW(nn::weight_norm(*layer, "what"), ValueError);
  EXPECT_EQ(names(layer->state_dict()), (Names{"bias", "weight"}));
}

TEST_F(Parametrizations, RecurrentLayersAndFunctionsOfModules) {
  auto lstm = make_ref<nn::LSTM>(nn::LSTMConfig{.input_size = 3, .hidden_size = 2});
  const Tensor x = randn({5, 1, 3}), before = lstm->forward(x).output;
  parametrizations::weight_norm(*lstm, "weight_hh_l0");
  EXPECT_LT(largest(lstm->forward(x).output - before), 1e-6);
  EXPECT_THROW(parametrize::register_parametrization(*make_ref<nn::LazyLinear>(2), "weight", make_ref<Doubled>()), ValueError);
}

}  // namespace
