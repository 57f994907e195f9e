// Training steps recorded while they run, and replayed as prepared programs.
#include <gtest/gtest.h>

#include "pyburn/inference/compiled_step.h"
#include "pyburn/pyburn.h"
#include "pyburn/start.h"

namespace pyburn {
namespace {

using Step = std::function<Tensor(const Tensor& x)>;

Ref<RecordedStep> record(const Step& step, const Tensor& x, std::string* reason = nullptr) {
  const std::vector<TensorHandle> inputs{x};
  StepRecording recording(default_device(), inputs);
  const std::vector<TensorHandle> results{step(x)};
  Ref<RecordedStep> recorded = recording.finish(results);
  if (reason) *reason = recording.reason();
  return recorded;
}

class CompiledStepTest : public ::testing::Test {
 protected:
  void SetUp() override { start(); }
};

// A step without host parts: gradient descent written out.
struct Descent {
  Tensor weight = full({3, 2}, 0.5);
  Descent() { weight.set(Flag::requires_grad); }
  Tensor operator()(const Tensor& x) {
    autograd::set_grad(weight, {});
    const Tensor loss = mean(square(dropout(matmul(x, weight), 0.25)));
    autograd::backward(loss);
    const autograd::NoGrad no_grad;
    fn::add_into(weight, weight, autograd::grad_of(weight) * -0.1);
    return detach(loss);
  }
};

std::vector<float> elements(const TensorHandle& t) {
  std::vector<float> values(size_t(t.numel()));
  to_host(t, {values.data(), t.meta()});
  return values;
}

TEST_F(CompiledStepTest, LeavesWhatTheStepLeaves) {
  default_generator().manual_seed(7);
  const Tensor x = randn({4, 3});
  const RandomState start = default_generator().state();
  Descent plain, compiled;
  std::vector<std::vector<float>> wanted;
  for (int i = 0; i < 6; ++i) wanted.push_back(elements(plain(x)));
  const RandomState end = default_generator().state();

  default_generator().set_state(start);
  const Step step = [&](const Tensor& t) { return compiled(t); };
  const Ref<RecordedStep> first = record(step, x), second = record(step, x), third = record(step, x);
  ASSERT_TRUE(first && second && third);
  EXPECT_NE(difference(*first, *second), "");  // the first call finds no gradient
  EXPECT_EQ(difference(*second, *third), "");
  CompiledStep program(third, *second);
  const std::vector<TensorHandle> inputs{x};
  for (size_t i = 3; i < 6; ++i) {
    ASSERT_TRUE(program.fits(inputs));
    EXPECT_EQ(elements(program.run(inputs, {})[0]), wanted[i]);
  }
  EXPECT_EQ(elements(compiled.weight), elements(plain.weight));
  EXPECT_EQ(elements(autograd::grad_of(compiled.weight)), elements(autograd::grad_of(plain.weight)));
  EXPECT_EQ(default_generator().state().offset, end.offset);
}

TEST_F(CompiledStepTest, FitsOnlyWhatWasRecorded) {
  const Tensor x = ones({4, 3});
  Descent descent;
  const Step step = [&](const Tensor& t) { return descent(t); };
  record(step, x);
  const Ref<RecordedStep> a = record(step, x), b = record(step, x);
  CompiledStep program(b, *a);
  const std::vector<TensorHandle> inputs{x}, itself{descent.weight};
  EXPECT_TRUE(program.fits(inputs));
  EXPECT_FALSE(program.fits(itself));
  {
    const autograd::NoGrad no_grad;
    EXPECT_FALSE(program.fits(inputs));
  }
  {
    const AutocastScope autocast({.enabled = true});
    EXPECT_FALSE(program.fits(inputs));
  }
  const TensorHandle gradient = autograd::grad_of(descent.weight);
  autograd::set_grad(descent.weight, {});
  EXPECT_FALSE(program.fits(inputs));
  autograd::set_grad(descent.weight, gradient);
  EXPECT_TRUE(program.fits(inputs));
  autograd::set_data(descent.weight, ones({3, 2}));
  EXPECT_FALSE(program.fits(inputs));
}

TEST_F(CompiledStepTest, SaysWhyAStepCannotBeReplayed) {
  const Tensor x = ones({4});
  std::string reason;
  EXPECT_FALSE(record([](const Tensor& t) { return t * read_number(sum(t)); }, x, &reason));
  EXPECT_NE(reason.find("is read"), std::string::npos) << reason;
  EXPECT_FALSE(record([](const Tensor& t) { return Tensor(nonzero(t)); }, x, &reason));
  EXPECT_NE(reason.find("depends on values"), std::string::npos) << reason;
  EXPECT_FALSE(record(
      [](const Tensor& t) {
        dropout(t, 0.5);
        default_generator().manual_seed(1);
        return dropout(t, 0.5);
      },
      x, &reason));
  EXPECT_NE(reason.find("seeds"), std::string::npos) << reason;

  double factor = 1;
  const Step changing = [&](const Tensor& t) { return t * (factor += 1); };
  const Ref<RecordedStep> a = record(changing, x), b = record(changing, x);
  EXPECT_NE(difference(*a, *b).find("change from call to call"), std::string::npos) << difference(*a, *b);
}

TEST_F(CompiledStepTest, NothingIsComputedInAdvanceFromWhatOthersMayChange) {
  const Tensor x = ones({2}), scale = full({2}, 3.0);
  const Step step = [&](const Tensor& t) { return t * (scale + 1); };
  const Ref<RecordedStep> a = record(step, x), b = record(step, x);
  CompiledStep program(b, *a);
  const std::vector<TensorHandle> inputs{x};
  EXPECT_EQ(elements(program.run(inputs, {})[0]), (std::vector<float>{4, 4}));
  fn::fill_(scale, 5);
  EXPECT_EQ(elements(program.run(inputs, {})[0]), (std::vector<float>{6, 6}));
}

TEST_F(CompiledStepTest, DropoutInASessionIsNotFolded) {
  const Tensor x = ones({2});
  const auto f = [](const Tensors& in) -> Tensors { return {in[0] * TensorHandle(dropout(ones({2}), 0.5))}; };
  const Ref<Graph> graph = capture(default_device(), {{{Shape{2}, DType::float32}, "x"}}, f);
  int draws = 0;
  for (const GraphNode& n : graph->nodes) draws += draws_random_numbers(n.op.ref());
  EXPECT_EQ(draws, 1);
}

}  // namespace
}  // namespace pyburn
