// ONNX files in C++: the models of tests/golden/onnx, without Python.
#include <gtest/gtest.h>

#include <filesystem>

#include "pyburn/inference/onnx_session.h"
#include "pyburn/onnx/operator.h"
#include "pyburn/pyburn.h"

namespace pyburn {
namespace {

const std::filesystem::path folder = PYBURN_ONNX_GOLDENS;

TEST(Onnx, RunsFunctionsOfTheModelAndOfTheStandard) {
  const Ref<onnx::Model> model = onnx::load(folder / "functions.onnx");
  const Tensor x = randn({1, 2, 3, 4});
  const Tensor leak = neg(leaky_relu(x, 0.5));
  const Tensor centred = leak - mean(leak, Dims{0, 2, 3}, true);
  const Tensor deviation = sqrt(mean(leak * leak, Dims{0, 2, 3}, true) - square(mean(leak, Dims{0, 2, 3}, true)));
  EXPECT_TRUE(allclose(model->forward(x), centred / (deviation + 1e-9), 1e-3, 1e-4));
}

TEST(Onnx, SessionsComputeWhatTheModelDoes) {
  const Ref<onnx::Model> model = onnx::load(folder / "weights.onnx");
  OnnxSession session(model);
  for (const int64_t batch : {1, 5, 2}) {
    const onnx::Value x(randn({batch, 2}));
    const onnx::Values expected = model->run({&x, 1}), outputs = session.run({&x, 1});
    ASSERT_NE(session.captured({&x, 1}), nullptr);
    EXPECT_TRUE(allclose(outputs[0].tensor(), expected[0].tensor()));
  }
}

TEST(Onnx, MapsGoInAndOut) {
  const Ref<onnx::Model> model = onnx::load(folder / "classical.onnx");
  const onnx::Value keys(make_ref<onnx::Strings>(Shape{2}, std::vector<std::string>{"u", "v"}));
  const onnx::Value features(make_ref<onnx::Map>(keys, onnx::Value::on_host(arange(1, -1, -1, DType::float32))));
  const onnx::Values outputs = model->run({&features, 1});
  EXPECT_EQ(outputs[0].strings().items, std::vector<std::string>{"b"});
  ASSERT_EQ(outputs[1].items().size(), 1u);
  const onnx::Map& row = outputs[1].items()[0].map();
  EXPECT_EQ(row.keys.strings().items, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(allclose(sum(row.values.tensor()), ones(Dims())));
  EXPECT_EQ(to_text(outputs[1].items()[0]), "a map of strings (2,) to a tensor float32 (2,)");
}

TEST(Onnx, CopiesHaveTensorsOfTheirOwn) {
  const Ref<onnx::Model> model = onnx::load(folder / "weights.onnx"), twin = nn::deepcopy(*model);
  const Tensor x = ones({1, 2});
  EXPECT_TRUE(equal(model->call(x), twin->call(x)));
  const autograd::NoGrad no_grad;
  for (const TensorHandle& p : twin->parameters()) Tensor(p).zero_();
  EXPECT_FALSE(equal(model->call(x), twin->call(x)));
}

TEST(Onnx, EveryRowHasAVersionAndAFunction) {
  for (const onnx::Operator* row : onnx::all_operators()) {
    EXPECT_TRUE(row->run) << row->name;
    EXPECT_EQ(onnx::find_operator(row->domain, row->name, row->since), row) << row->name << " " << row->since << " is in the table twice";
  }
}

}  // namespace
}  // namespace pyburn
