// Replay at any size, folding, dropping.
#include <algorithm>

#include "device_fixture.h"
#include "pyburn/graph/extents.h"
#include "pyburn/graph/fit_extents.h"
#include "pyburn/graph/passes.h"
#include "pyburn/graph/replay.h"
#include "pyburn/inference/capture.h"
#include "pyburn/ops/random.h"

namespace pyburn::testing {
namespace {

CaptureInput batch_of(Dims rest) {
  rest.insert(0, -1);
  return {{rest, DType::float32}, "x"};
}

void expect_equal_at(const Ref<Graph>& g, const Dims& rest, const CapturedFunction& f) {
  Replay replay(g, cpu());
  for (int64_t n : {1, 2, 4, 7, 3}) {
    Dims shape = rest;
    shape.insert(0, n);
    const Tensors in{numbers(cpu(), shape, int(n))};
    const Tensors expected = f(in), got = replay.run(in);
    for (int64_t i = 0; i < expected.size(); ++i) expect_same(got[i], expected[i]);
  }
}

TEST(FreeExtent, FollowsShapesIntoAttributes) {
  const Tensor w = numbers(cpu(), {6, 5});
  auto f = [&](const Tensors& in) -> Tensors {
    const int64_t n = in[0].shape()[0];
    const Tensor flat = flatten(in[0], 1);
    const Tensor doubled = zeros(Dims{2 * n, 6});
    copy_into(slice(doubled, 0, 0, n), flat);
    copy_into(slice(doubled, 0, n, 2 * n), flat * flat);
    const Tensor y = matmul(doubled, w);
    return {y - mean(y, Dims{0}, true), arange(n) * n, sum(reshape(y, Dims{2, n, 5}), Dims{0})};
  };
  const DeviceScope scope(cpu());
  const Ref<Graph> g = capture(cpu(), {batch_of({2, 3})}, f);
  EXPECT_TRUE(std::any_of(g->nodes.begin(), g->nodes.end(), [](const GraphNode& n) { return !n.patches.empty(); }));
  expect_equal_at(g, {2, 3}, f);
}

TEST(FreeExtent, NamesTheOperationThatDoesNotFollow) {
  const DeviceScope scope(cpu());
  auto power = [](const Tensors& in) -> Tensors { return {zeros(Dims{int64_t(1) << in[0].shape()[0]})}; };
  EXPECT_NE(message_of<CaptureError>([&] { capture(cpu(), {batch_of({2})}, power); }).find("[full]"), std::string::npos);
  auto share = [](const Tensors& in) -> Tensors { return {in[0] * (1.0 / double(in[0].shape()[0]))}; };
  EXPECT_NE(message_of<CaptureError>([&] { capture(cpu(), {batch_of({2})}, share); }).find("[mul]"), std::string::npos);
  auto unrolled = [](const Tensors& in) -> Tensors {
    Tensor y = in[0];
    for (int64_t i = 0; i < in[0].shape()[0]; ++i) y = exp(y);
    return {y};
  };
  EXPECT_NE(message_of<CaptureError>([&] { capture(cpu(), {batch_of({2})}, unrolled); }).find("number of operations"), std::string::npos);
}

TEST(FreeExtent, SeveralExtentsAndExpressionsOfThem) {
  const DeviceScope scope(cpu());
  const Tensor w = numbers(cpu(), {4, 2, 3, 3});
  auto f = [&](const Tensors& in) -> Tensors {
    const Shape s = in[0].shape();
    const Tensor y = conv2d(in[0], w, {}, Dims{2}, Dims{1});
    const Tensor flat = reshape(y, Dims{s[0], 4, -1});
    return {mean(flat, Dims{2}), slice(in[0], 2, 0, (s[2] + 1) / 2), zeros(Dims{s[0] * s[3], s[2] * s[2]}), flatten(in[0], 1)};
  };
  const CaptureInput image{{Shape{-1, 2, -1, -1}, DType::float32}, "x", {"batch", "", "height", "width"}, {1, 2, 8, 6}};
  const Ref<Graph> g = capture(cpu(), {image}, f);
  EXPECT_EQ(g->extents, (std::vector<std::string>{"batch", "height", "width"}));
  Replay replay(g, cpu());
  for (const Dims& shape : {Dims{1, 2, 8, 6}, Dims{3, 2, 7, 9}, Dims{2, 2, 12, 5}, Dims{5, 2, 3, 4}}) {
    const Tensors in{numbers(cpu(), shape)}, expected = f(in), got = replay.run(in);
    for (int64_t i = 0; i < expected.size(); ++i) expect_same(got[i], expected[i]);
  }
}

TEST(FreeExtent, ExamplesSayWhichSizesAFunctionTakes) {
  const DeviceScope scope(cpu());
  auto halves = [](const Tensors& in) -> Tensors {
    require<ValueError>(in[0].shape()[1] % 16 == 0, "expected a multiple of 16");
    return {reshape(in[0], Dims{in[0].shape()[0], 16, -1})};
  };
  const CaptureInput given{{Shape{-1, -1}, DType::float32}, "x", {"n", "length"}, {2, 32}};
  Replay replay(capture(cpu(), {given}, halves), cpu());
  const Tensor x = numbers(cpu(), {3, 48});
  expect_same(replay.run(Tensors{x})[0], reshape(x, Dims{3, 16, 3}));
  const CaptureInput other{{Shape{-1}, DType::float32}, "y", {"n"}, {4}};
  EXPECT_THROW(capture(cpu(), {given, other}, halves), ValueError);
}

TEST(FitExtents, FindsTheSimplestThatFits) {
  const std::vector<KnownNumber> known{{ExtentExpression::extent(0), {3, 5, 8, 3}}, {ExtentExpression::dimension(0, 1), {4, 4, 4, 10}}};
  auto text = [&](std::vector<int64_t> values) {
    const auto found = fit_extents(values, known);
    return found ? to_text(*found) : "none";
  };
  EXPECT_EQ(text({3, 5, 8, 3}), "n0");
  EXPECT_EQ(text({12, 20, 32, 30}), "(n0 * in0[1])");
  EXPECT_EQ(text({6, 10, 16, 6}), "(n0 * 2)");
  EXPECT_EQ(text({2, 3, 4, 2}), "((n0 + 1) // 2)");
  EXPECT_EQ(text({-3, -5, -8, -3}), "(n0 * -1)");
  EXPECT_EQ(text({2, 2, 2, 5}), "(in0[1] // 2)");
  EXPECT_EQ(text({9, 25, 64, 9}), "(n0 * n0)");
  EXPECT_EQ(text({1, 7, 100, 5}), "none");
}

TEST(ExtentExpression, RefusesWhatIsMalformed) {
  using E = ExtentExpression;
  EXPECT_THROW(E().check(1), FormatError);
  EXPECT_THROW(E({{E::Kind::add}}).check(1), FormatError);
  EXPECT_THROW(E({{E::Kind::constant, 1}, {E::Kind::constant, 2}}).check(1), FormatError);
  EXPECT_THROW(E::extent(1).check(1), FormatError);
  EXPECT_THROW(E::dimension(-1, 0).check(1), FormatError);
  const auto quotient = E::of(E::Kind::divide, E::constant(1), E::extent(0));
  quotient.check(1);
  EXPECT_THROW(quotient.evaluate(std::vector<int64_t>{0}, {}), ShapeError);
  EXPECT_THROW(E::dimension(0, 0).evaluate({}, {}), FormatError);
  const auto square = E::of(E::Kind::multiply, E::extent(0), E::extent(0));
  EXPECT_THROW(square.evaluate(std::vector<int64_t>{int64_t(1) << 40}, {}), ShapeError);
}

TEST(FreeExtent, RefusesInputsThatDoNotFit) {
  const Ref<Graph> g = capture(cpu(), {batch_of({2}), batch_of({2})}, [](const Tensors& in) -> Tensors { return {in[0] + in[1]}; });
  Replay replay(g, cpu());
  auto run = [&](Tensors in) { return [&replay, in] { replay.run(in); }; };
  message_of<ShapeError>(run({numbers(cpu(), {3, 2}), numbers(cpu(), {4, 2})}));
  message_of<ShapeError>(run({numbers(cpu(), {3, 5}), numbers(cpu(), {3, 5})}));
  message_of<ValueError>(run({numbers(cpu(), {3, 2})}));
  message_of<DTypeError>(run({numbers(cpu(), {3, 2}), cast(numbers(cpu(), {3, 2}), DType::float64)}));
}

TEST(Simplify, FoldsWhatDependsOnConstantsAlone) {
  const Tensor mean = numbers(cpu(), {3}, 1), var = exp(numbers(cpu(), {3}, 2)), weight = numbers(cpu(), {3}, 3),
               bias = numbers(cpu(), {3}, 4);
  auto f = [&](const Tensors& in) -> Tensors {
    const Tensor unused = exp(in[0]);
    return {batch_norm(in[0], mean, var, weight, bias)};
  };
  const Ref<Graph> plain = capture(cpu(), {batch_of({3, 2, 2})}, f, {.simplify = false});
  const Ref<Graph> folded = simplify(*plain);
  EXPECT_LT(folded->nodes.size(), plain->nodes.size());
  for (const GraphNode& n : folded->nodes) EXPECT_NE(n.op.info().name(), "rsqrt") << to_text(*folded);
  for (const GraphNode& n : folded->nodes) EXPECT_NE(n.op.info().name(), "exp") << to_text(*folded);
  check(*folded);
  expect_equal_at(folded, {3, 2, 2}, f);
}

TEST(Simplify, LeavesWhatIsWrittenAlone) {
  const Tensor state = tensor(cpu(), {2}, {1, 2});
  const Ref<Graph> g = capture(cpu(), {{{Shape{2}, DType::float32}, "x"}}, [&](const Tensors& in) -> Tensors {
    const Tensor before = state * 2;
    const Tensor view = reshape(state, Dims{1, 2});
    add_into(view, view, in[0]);
    return {before + state * 3};
  });
  Replay replay(g, cpu());
  const Tensors in{tensor(cpu(), {2}, {10, 20})};
  EXPECT_EQ(values(replay.run(in)[0]), (std::vector<float>{35, 70}));
  EXPECT_EQ(values(replay.run(in)[0]), (std::vector<float>{85, 170}));
}

TEST(Replay, RepeatsRandomNumbers) {
  const DeviceScope scope(cpu());
  const RandomState before = default_generator().state();
  const Ref<Graph> g =
      capture(cpu(), {{{Shape{2}, DType::float32}, "x"}}, [](const Tensors& in) -> Tensors { return {in[0] + randn(Dims{2})}; });
  EXPECT_EQ(default_generator().state().offset, before.offset);
  Replay replay(g, cpu());
  const Tensors in{numbers(cpu(), {2})};
  expect_same(replay.run(in)[0], replay.run(in)[0]);
}

TEST(Replay, FreesValuesAfterTheirLastUse) {
  const Ref<Graph> g = capture(cpu(), {{{Shape{2}, DType::float32}, "x"}}, [](const Tensors& in) -> Tensors {
    const Tensor a = exp(in[0]), b = exp(a);
    return {exp(b) + b};
  });
  const auto dead = last_uses(*g);
  ASSERT_EQ(dead.size(), 4u);
  EXPECT_EQ(dead[0].size(), 1);  // the input
  EXPECT_EQ(dead[1].size(), 1);  // a
  EXPECT_EQ(dead[2].size(), 0);
  EXPECT_EQ(dead[3].size(), 2);  // b and exp(b)
}

}  // namespace
}  // namespace pyburn::testing
