// Differentiation from C++: writes and views, versions, hooks, repeated and nested backward passes, leaves.
#include <gtest/gtest.h>

#include "device_fixture.h"
#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/decorators/autodiff/gradient_cycles.h"
#include "pyburn/decorators/autodiff/history.h"
#include "pyburn/ops/functions.h"
#include "pyburn/runtime/allocator.h"
#include "pyburn/start.h"
#include "pyburn/support/error.h"

namespace pyburn {
namespace {

using namespace autograd;
using pyburn::testing::values;
using Values = std::vector<float>;

class Autograd : public ::testing::Test {
 protected:
  static Device& started() { return start(), device("cpu"); }
  const DeviceScope scope{started()};

  static Tensor constant(Values v) {
    const int64_t n = int64_t(v.size());
    return pyburn::testing::tensor(device("cpu"), Dims{n}, std::move(v));
  }
  static Tensor leaf(Values v) {
    const Tensor t = constant(std::move(v));
    set_requires_grad(t, true);
    return t;
  }
  static Values grad_values(const Tensor& t) {
    const TensorHandle g = grad_of(t);
    return g.defined() ? values(g) : Values{};
  }
  static Tensor part(const Tensor& t, int64_t begin, int64_t end) { return slice(t, 0, begin, end, 1); }
};

TEST_F(Autograd, AWriteToAViewReachesTheBase) {
  const Tensor x = leaf({1, 2, 3}), y = x * 2.0, v = part(y, 0, 2);
  v.mul_(10.0);
  EXPECT_EQ(values(y), (Values{20, 40, 6}));
  backward(sum(y));
  EXPECT_EQ(grad_values(x), (Values{20, 20, 2}));
}

TEST_F(Autograd, AWriteToTheBaseReachesItsViews) {
  const Tensor x = leaf({1, 2, 3}), y = x * 2.0, v = part(y, 1, 3);
  y.mul_(x);
  EXPECT_TRUE(wants_gradient(v));
  backward(sum(v));
  EXPECT_EQ(grad_values(x), (Values{0, 8, 12}));
}

TEST_F(Autograd, AViewRecordsNothingWhileNoGradientIsWanted) {
  const Tensor x = constant({1, 2, 3, 4}), v = part(x, 1, 4), further = part(v, 1, 3);
  for (const Tensor& t : {v, further}) {
    EXPECT_TRUE(history_of(t)->base.is_same(x));
    EXPECT_TRUE(history_of(t)->chain.empty());
    EXPECT_FALSE(history_of(t)->node);
  }
  const Tensor w = leaf({5, 6});
  further.mul_(w);  // the way from the base is found now
  backward(sum(x * x));
  EXPECT_EQ(grad_values(w), (Values{2 * 3 * 3 * 5, 2 * 4 * 4 * 6}));
  const Tensor recorded = part(leaf({1, 2}) * 2.0, 0, 1);
  EXPECT_EQ(history_of(recorded)->chain.size(), 1);
  EXPECT_TRUE(history_of(recorded)->node);
}

TEST_F(Autograd, ViewsOfViewsAndOverlappingViews) {
  const Tensor x = leaf({1, 2, 3, 4}), y = clone(x).view(Dims{2, 2}), column = select(y, 1, 1), row = select(y, 0, 0);
  column.mul_(3.0);
  row.add_(select(y, 0, 1));  // reads an element that was written
  EXPECT_EQ(values(y), (Values{4, 18, 3, 12}));
  backward(sum(row));
  EXPECT_EQ(grad_values(x), (Values{1, 3, 1, 3}));
}

TEST_F(Autograd, AConstantTakesTheHistoryOfWhatIsWrittenIntoIt) {
  const Tensor x = leaf({1, 2}), board = zeros(Dims{4});
  EXPECT_TRUE(is_leaf(board));
  copy_into(part(board, 1, 3), x * x);
  EXPECT_TRUE(wants_gradient(board));
  EXPECT_FALSE(is_leaf(board));
  backward(sum(board * constant({1, 2, 3, 4})));
  EXPECT_EQ(grad_values(x), (Values{4, 12}));
}

TEST_F(Autograd, AWriteThroughPermutedViews) {
  const Tensor x = leaf({1, 2, 3, 4, 5, 6}), y = transpose(clone(x).view(Dims{2, 3}), 0, 1) * 1.0;
  select(transpose(y, 0, 1), 0, 1).mul_(7.0);
  backward(sum(y));
  EXPECT_EQ(grad_values(x), (Values{1, 1, 1, 7, 7, 7}));
}

TEST_F(Autograd, OverwrittenElementsGiveNoGradient) {
  const Tensor x = leaf({1, 2, 3}), y = x * 2.0;
  part(y, 0, 1).zero_();
  backward(sum(y));
  EXPECT_EQ(grad_values(x), (Values{0, 2, 2}));
}

TEST_F(Autograd, AChangedSavedTensorIsAnError) {
  const Tensor x = leaf({1, 2}), y = exp(x);
  y.add_(1.0);
  EXPECT_THROW(backward(sum(y)), GradientError);
  const Tensor a = leaf({1, 2}), b = constant({3, 4}), z = a * b;
  b.detach().mul_(2.0);
  EXPECT_THROW(backward(sum(z)), GradientError);
}

TEST_F(Autograd, WritesThroughDataAreNotNoticed) {
  const Tensor a = leaf({1, 2}), b = constant({3, 4}), z = a * b;
  Tensor(data_of(b)).mul_(2.0);
  backward(sum(z));
  EXPECT_EQ(grad_values(a), (Values{6, 8}));
}

TEST_F(Autograd, WhatIsNotReadMayChange) {
  const Tensor x = leaf({1, 2}), c = constant({1, 1}), y = x + c;
  c.mul_(3.0);
  y.mul_(2.0);
  backward(sum(y));
  EXPECT_EQ(grad_values(x), (Values{2, 2}));
}

TEST_F(Autograd, ARefusedWriteLeavesNoTrace) {
  const Tensor x = leaf({1, 2}), y = x * x;
  EXPECT_THROW(x.add_(1.0), GradientError);
  EXPECT_THROW(part(x, 0, 1).add_(1.0), GradientError);
  EXPECT_EQ(x.storage()->version(), 0u);
  backward(sum(y));
  EXPECT_EQ(grad_values(x), (Values{2, 4}));
}

TEST_F(Autograd, LeavesMayBeWrittenWithoutGrad) {
  const Tensor x = leaf({1, 2});
  {
    const NoGrad off;
    x.add_(1.0);
    part(x, 0, 1).mul_(10.0);
  }
  EXPECT_EQ(values(x), (Values{20, 3}));
  EXPECT_TRUE(is_leaf(x));
}

TEST_F(Autograd, ViewsMadeWithoutGradMayNotBeWrittenWithIt) {
  const Tensor x = leaf({1, 2}), y = x * 1.0;
  Tensor v, of_it;
  {
    const NoGrad off;
    v = part(y, 0, 1);
  }
  of_it = v.view(Dims{1, 1});
  EXPECT_FALSE(wants_gradient(v));
  EXPECT_THROW(v.mul_(part(x, 0, 1)), GradientError);
  EXPECT_THROW(v.mul_(2.0), GradientError);
  EXPECT_THROW(of_it.add_(part(x, 0, 1)), GradientError);
  const NoGrad off;
  v.mul_(2.0);
  EXPECT_EQ(values(y), (Values{2, 2}));
}

TEST_F(Autograd, ResultsMadeWithoutGradAreNoViews) {
  const Tensor x = leaf({1, 2, 3, 4});
  Tensor product, plain;
  {
    const NoGrad off;
    const Tensor m = x.view(Dims{2, 2});
    product = matmul(m, m);
    plain = reshape(transpose(m, 0, 1), Dims{4});
  }
  product.mul_(select(x, 0, 0));
  plain.add_(x);
  EXPECT_TRUE(wants_gradient(product));
  EXPECT_TRUE(wants_gradient(plain));
}

TEST_F(Autograd, AReshapeSharesItsHistoryEvenWhileNothingIsRecorded) {
  const Tensor x = leaf({3}), board = zeros(Dims{2, 2}), flat = reshape(board, Dims{4});
  part(flat, 0, 1).add_(x);
  EXPECT_TRUE(wants_gradient(board));
  backward(sum(board * 5.0));
  EXPECT_EQ(grad_values(x), (Values{5}));
}

class Scale final : public Hook {
 public:
  explicit Scale(double factor) : factor_(factor) {}
  TensorHandle call(const TensorHandle& g) override {
    ++calls;
    return factor_ == 1 ? TensorHandle() : TensorHandle(g * factor_);
  }
  int calls = 0;

 private:
  double factor_;
};

TEST_F(Autograd, HooksSeeAndChangeGradients) {
  const Tensor x = leaf({1, 2}), y = x * 3.0;
  const Ref<Scale> on_leaf = make_ref<Scale>(10), on_result = make_ref<Scale>(1), removed = make_ref<Scale>(100);
  register_hook(x, on_leaf);
  register_hook(y, on_result);
  remove_hook(y, register_hook(y, removed));
  backward(sum(y + y));
  EXPECT_EQ(grad_values(x), (Values{60, 60}));
  EXPECT_EQ(on_leaf->calls, 1);
  EXPECT_EQ(on_result->calls, 1);  // once, with the whole gradient
  EXPECT_EQ(removed->calls, 0);
  EXPECT_THROW(register_hook(constant({1}), on_leaf), GradientError);
}

TEST_F(Autograd, RetainedGradients) {
  const Tensor x = leaf({1, 2}), y = x * 3.0;
  retain_grad(y);
  backward(sum(y * y));
  EXPECT_EQ(values(grad_of(y)), (Values{6, 12}));
}

TEST_F(Autograd, TheGraphIsFreedUnlessItIsRetained) {
  const Tensor x = leaf({1, 2}), y = sum(x * x);
  backward(y, {}, true);
  backward(y, {}, true);
  EXPECT_EQ(grad_values(x), (Values{4, 8}));
  backward(y);
  EXPECT_THROW(backward(y), GradientError);
}

TEST_F(Autograd, ThirdOrder) {
  const Tensor x = leaf({2});
  Tensor value = x * x * x * x * x;
  const Values slopes = {80, 160, 240};
  for (float slope : slopes) {
    value = grad({sum(value)}, {x}, {}, true, true, false)[0];
    EXPECT_EQ(values(value), Values{slope});
  }
}

TEST_F(Autograd, SecondOrderThroughWritesAndViews) {
  const Tensor x = leaf({2, 3}), y = x * x;
  part(y, 0, 1).mul_(part(x, 1, 2));
  const Tensor first = grad({sum(y)}, {x}, {}, true, true, false)[0];
  EXPECT_EQ(values(first), (Values{12, 10}));
  backward(select(first, 0, 0));  // d(2 x0 x1)/dx
  EXPECT_EQ(grad_values(x), (Values{6, 4}));
}

TEST_F(Autograd, Leaves) {
  EXPECT_THROW(set_requires_grad(ones(Dims{2}, DType::int64), true), DTypeError);
  const Tensor x = leaf({1}), y = x * 1.0;
  EXPECT_THROW(set_requires_grad(y, false), GradientError);
  EXPECT_THROW(backward(constant({1})), GradientError);
  EXPECT_THROW(backward(x * constant({1, 2})), GradientError);
  EXPECT_THROW(set_grad(x, constant({1, 2})), ShapeError);
  EXPECT_FALSE(wants_gradient(x.detach()));
}

TEST_F(Autograd, GradientsAddUpInPlace) {
  const Tensor x = leaf({1, 2});
  backward(sum(x * 2.0));
  const TensorHandle g = grad_of(x);
  backward(sum(x * 3.0));
  EXPECT_TRUE(grad_of(x).is_same(g));
  EXPECT_EQ(values(g), (Values{5, 5}));
}

TEST_F(Autograd, ALongChainIsFreedWithoutRecursion) {
  const Tensor x = leaf({1});
  Tensor y = x;
  for (int i = 0; i < 300000; ++i) y = y + 0.0;
  backward(y);
  y = Tensor();
  EXPECT_EQ(grad_values(x), Values{1});
}

TEST_F(Autograd, GradientsWithAHistoryAreFreedWithTheirLeaves) {
  const int64_t before = host_memory().in_use;
  Tensor kept = leaf({1, 2, 3});
  TensorHandle result;
  for (int i = 0; i < 3; ++i) {
    const Tensor x = leaf(Values(1000, 1)), y = leaf({1, 2, 3});
    backward(sum(x * x) * sum(y * kept), {}, false, true);
    if (i == 2) result = sum(grad_of(x));
  }
  free_gradient_cycles();
  EXPECT_TRUE(grad_of(kept).requires_grad()) << "somebody holds the leaf";
  EXPECT_GE(host_memory().in_use, before + 4000) << "and what its gradient reads";
  backward(sum(grad_of(kept)));
  EXPECT_EQ(values(result), (Values{28000}));
  set_grad(kept, {});
  free_gradient_cycles();
  EXPECT_GE(host_memory().in_use, before + 4000) << "the result holds the last graph";
  result = {};
  kept = {};
  free_gradient_cycles();
  EXPECT_EQ(host_memory().in_use, before);
}

}  // namespace
}  // namespace pyburn
