// Modules in C++: registry, walks, state dicts, layers.
#include <cmath>

#include "module_test.h"
#include "pyburn/decorators/autodiff/autograd.h"

using namespace pyburn;

namespace {

struct NN : testing::Test {
  NN() { start(); }
};

Ref<nn::Sequential> small_net() {
  return nn::sequential(
      make_ref<nn::Conv2d>(nn::ConvConfig<2>{.in_channels = 3, .out_channels = 8, .kernel_size = {3}, .padding = {{1}, ""}, .bias = false}),
      make_ref<nn::BatchNorm2d>(nn::BatchNormConfig{.num_features = 8}), make_ref<nn::ReLU>(), make_ref<nn::Flatten>(),
      make_ref<nn::Linear>(8 * 4 * 4, 2));
}

template <class E, class Fn>
std::string message_of(Fn fn) {
  try {
    fn();
  } catch (const E& e) {
    return e.what();
  }
  return "no error";
}

TEST_F(NN, PrintsAsPyTorch) {
  EXPECT_EQ(to_text(*small_net()),
      "Sequential(\n"
      "  (0): Conv2d(3, 8, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), bias=False)\n"
      "  (1): BatchNorm2d(8, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)\n"
      "  (2): ReLU()\n"
      "  (3): Flatten(start_dim=1, end_dim=-1)\n"
      "  (4): Linear(in_features=128, out_features=2, bias=True)\n"
      ")");
  EXPECT_EQ(to_text(*make_ref<nn::ReLU>(nn::ReLUFunction{true})), "ReLU(inplace=True)");
}

TEST_F(NN, StateDictHasPyTorchsNamesAndOrder) {
  const std::vector<std::string> expected = {
      "0.weight", "1.weight", "1.bias", "1.running_mean", "1.running_var", "1.num_batches_tracked", "4.weight", "4.bias"};
  EXPECT_EQ(names(small_net()->state_dict()), expected);
  EXPECT_EQ(names(small_net()->named_parameters()), (std::vector<std::string>{"0.weight", "1.weight", "1.bias", "4.weight", "4.bias"}));
}

TEST_F(NN, LoadsWhatItSaved) {
  auto a = small_net(), b = small_net();
  const nn::IncompatibleKeys keys = b->load_state_dict(a->state_dict());
  EXPECT_TRUE(keys.missing_keys.empty() && keys.unexpected_keys.empty());
  a->eval(), b->eval();
  const Tensor x = randn({2, 3, 4, 4});
  EXPECT_EQ(read_number(sum(abs((*a)(x) - (*b)(x)))), 0);
}

TEST_F(NN, LoadingNamesAllProblemsAtOnce) {
  const auto layer = make_ref<nn::Linear>(3, 4);
  const std::string text = message_of<Error>([&] { layer->load_state_dict({{"weight", zeros({3, 3})}, {"extra", zeros({1})}}); });
  EXPECT_EQ(text,
      "Error(s) in loading state_dict for Linear:\n\tMissing key(s) in state_dict: \"bias\". \n\tUnexpected key(s) in state_dict: "
      "\"extra\". "
      "\n\tsize mismatch for weight: copying a param with shape pyburn.Size([3, 3]) from checkpoint, the shape in current model is "
      "pyburn.Size([4, 3]).");
  const nn::IncompatibleKeys keys = layer->load_state_dict({{"extra", zeros({1})}}, false);
  EXPECT_EQ(keys.missing_keys, (std::vector<std::string>{"weight", "bias"}));
  EXPECT_EQ(keys.unexpected_keys, (std::vector<std::string>{"extra"}));
}

TEST_F(NN, NamesAreChecked) {
  auto m = make_ref<nn::Linear>(1, 1);
  EXPECT_EQ(message_of<ValueError>([&] { m->register_buffer("a.b", zeros({1})); }), "buffer name can't contain \".\", got: a.b");
  EXPECT_EQ(message_of<ValueError>([&] { m->register_module("weight", {}); }), "attribute 'weight' already exists");
  EXPECT_EQ(message_of<DTypeError>([&] { m->register_parameter("p", zeros({1})); }),
      "cannot assign 'Tensor' object to parameter 'p' (Parameter or None required)");
}

TEST_F(NN, SharedParametersAreMetOnce) {
  auto layer = make_ref<nn::Linear>(2, 2);
  auto net = nn::sequential(layer, layer);
  EXPECT_EQ(net->parameters().size(), 2u);
  EXPECT_EQ(net->state_dict().size(), 4u);
}

TEST_F(NN, ModesAndGradients) {
  auto net = small_net();
  net->eval();
  for (const auto& [name, m] : net->named_modules()) EXPECT_FALSE(m->training()) << name;
  net->train();
  autograd::backward(sum((*net)(randn({2, 3, 4, 4}))));
  for (const TensorHandle& p : net->parameters()) EXPECT_TRUE(autograd::grad_of(p).defined());
  net->zero_grad();
  for (const TensorHandle& p : net->parameters()) EXPECT_FALSE(autograd::grad_of(p).defined());
  net->requires_grad_(false);
  EXPECT_FALSE((*net)(randn({2, 3, 4, 4})).requires_grad());
}

TEST_F(NN, ConvertsInPlace) {
  auto net = small_net();
  const std::vector<TensorHandle> before = net->parameters();
  net->to(DType::float64);
  const std::vector<TensorHandle> after = net->parameters();
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_TRUE(before[i].is_same(after[i]));
    EXPECT_EQ(after[i].dtype(), DType::float64);
    EXPECT_TRUE(after[i].requires_grad());
  }
  EXPECT_EQ(net->at(1)->tensor("num_batches_tracked").dtype(), DType::int64);
  EXPECT_THROW(net->to(DType::int32), DTypeError);
}

TEST_F(NN, InitialisesWithinTheBoundOfPyTorch) {
  auto layer = make_ref<nn::Linear>(25, 40);
  const double bound = 1 / std::sqrt(25.0);
  for (const TensorHandle& p : layer->parameters()) {
    const double largest = read_number(amax(abs(detach(p))));
    EXPECT_LE(largest, bound);
    EXPECT_GT(largest, bound / 2);
  }
}

TEST_F(NN, BatchNormCountsAndAverages) {
  auto norm = make_ref<nn::BatchNorm2d>(nn::BatchNormConfig{.num_features = 1, .momentum = std::nullopt});
  for (double value : {1.0, 3.0}) (*norm)(full({1, 1, 2, 2}, value));
  EXPECT_EQ(read_number(norm->tensor("num_batches_tracked")), 2);
  EXPECT_DOUBLE_EQ(read_number(norm->tensor("running_mean")), 2);
  EXPECT_THROW((*norm)(zeros({2, 1})), ValueError);
}

TEST_F(NN, ConvTakesOneImage) {
  auto conv = make_ref<nn::Conv2d>(nn::ConvConfig<2>{.in_channels = 2, .out_channels = 3, .kernel_size = {3}, .stride = {2}});
  EXPECT_EQ((*conv)(zeros({2, 7, 7})).shape(), (Shape{3, 3, 3}));
  EXPECT_THROW(nn::Conv2d(nn::ConvConfig<2>{.in_channels = 3, .groups = 2}), ValueError);
  const auto same = make_ref<nn::Conv2d>(nn::ConvConfig<2>{.in_channels = 2, .kernel_size = {4, 3}, .padding = {{}, "same"}});
  EXPECT_EQ((*same)(zeros({2, 7, 5})).shape(), (Shape{1, 7, 5}));
}

// A stand-in for Python's objects.
struct HostObject {
  int references = 1;
};

TEST_F(NN, SubmodulesAreReplacedByTheirPaths) {
  auto net = nn::sequential(nn::sequential(make_ref<nn::ReLU>()));
  net->set_submodule("0.0", make_ref<nn::Identity>());
  EXPECT_EQ(net->get_submodule("0.0")->type_name(), "Identity");
  net->set_submodule("0.extra", make_ref<nn::Linear>(1, 1));
  EXPECT_TRUE(net->get_submodule("0.extra")->tensor("weight").defined());
  EXPECT_THROW(net->set_submodule("0.missing", make_ref<nn::Identity>(), true), ValueError);
  EXPECT_THROW(net->set_submodule("0.extra.weight", make_ref<nn::Identity>()), ValueError);
  EXPECT_THROW(net->set_submodule("", make_ref<nn::Identity>()), ValueError);
  EXPECT_THROW(net->set_submodule("0.0", {}), ValueError);
}

TEST_F(NN, ModulesMayLiveOnTheStack) {
  nn::Linear layer(2, 3);
  EXPECT_EQ(layer.named_modules().size(), 1u);  // a reference to it comes and goes
  EXPECT_EQ(layer(ones({1, 2})).shape(), (Shape{1, 3}));
  const TensorHandle weight = layer.tensor("weight");
  layer.to_empty(device("null"));
  EXPECT_TRUE(layer.tensor("weight").is_same(weight));
  EXPECT_FALSE(weight.storage()->has_values);
}

TEST_F(NN, GradientsOfConvolutionsAsFunctions) {
  for (int axes = 1; axes <= 3; ++axes) {
    const Dims image(axes, 6), kernel(axes, 3);
    Dims x_size{2, 4}, w_size{6, 2};
    for (int i = 0; i < axes; ++i) x_size.push_back(image[i]), w_size.push_back(kernel[i]);
    const Tensor x = nn::Parameter(randn(x_size)), w = nn::Parameter(randn(w_size));
    const nn::grad::ConvOptions options{.stride = {2}, .padding = {1}, .groups = 2};
    const auto convolve = axes == 1   ? conv1d(x, w, {}, Dims{2}, Dims{1}, Dims{1}, 2)
                          : axes == 2 ? conv2d(x, w, {}, Dims{2}, Dims{1}, Dims{1}, 2)
                                      : conv3d(x, w, {}, Dims{2}, Dims{1}, Dims{1}, 2);
    const Tensor dy = randn(convolve.shape());
    autograd::backward(convolve, dy);
    const auto difference = [](const Tensor& a, const Tensor& b) { return read_number(amax(abs(a - b))); };
    EXPECT_LT(difference(nn::grad::conv_input(x_size, w, dy, options), autograd::grad_of(x)), 1e-4);
    EXPECT_LT(difference(nn::grad::conv_weight(x, w_size, dy, options), autograd::grad_of(w)), 1e-4);
  }
  EXPECT_THROW(nn::grad::conv_input({1, 1}, ones({1, 1}), ones({1, 1})), ShapeError);
  EXPECT_THROW(nn::grad::conv_input({1, 1, 4}, ones({1, 1}), ones({1, 1, 2})), ShapeError);
}

TEST_F(NN, ReferencesMoveToTheHost) {
  const Adoptable::Host before = Adoptable::host;
  Adoptable::host = {[](void* p) noexcept { ++static_cast<HostObject*>(p)->references; },
      [](void* p) noexcept { --static_cast<HostObject*>(p)->references; }};
  HostObject object;
  nn::ReLU relu;  // the host owns it
  {
    Ref<nn::Module> one(&relu), two = one;
    EXPECT_EQ(relu.use_count(), 2u);
    relu.adopt_by(&object);
    EXPECT_EQ(object.references, 3);
    const Ref<nn::Module> three = two;
    EXPECT_EQ(object.references, 4);
  }
  EXPECT_EQ(object.references, 1);
  Adoptable::host = before;
}

}  // namespace
