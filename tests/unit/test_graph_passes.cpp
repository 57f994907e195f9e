// Passes: what a graph computes stays, what it consists of changes.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "device_fixture.h"
#include "pyburn/graph/graph_editor.h"
#include "pyburn/graph/passes.h"
#include "pyburn/graph/replay.h"
#include "pyburn/inference/capture.h"

namespace pyburn::testing {
namespace {

Ref<Graph> captured(const CapturedFunction& f, Dims shape) {
  const DeviceScope scope(cpu());
  return capture(cpu(), {{{Shape(shape), DType::float32}, "x"}}, f, {.simplify = false});
}

std::vector<std::string> operations(const Graph& g) {
  std::vector<std::string> names;
  for (const GraphNode& n : g.nodes)
    if (n.op.info().kind != Kind::view) names.emplace_back(n.op.info().name());
  return names;
}
using Names = std::vector<std::string>;

void expect_same_results(const Ref<Graph>& a, const Ref<Graph>& b, Dims shape, float tolerance = 1e-5f) {
  const Tensors in{numbers(cpu(), shape, 3)};
  const Tensors x = Replay(a, cpu()).run(in), y = Replay(b, cpu()).run(in);
  ASSERT_EQ(x.size(), y.size());
  for (int64_t i = 0; i < x.size(); ++i) expect_close(x[i], y[i], tolerance);
}

TEST(GraphPasses, FoldConstantsRunsWhatNeedsNoInput) {
  const Tensor w = numbers(cpu(), {4, 4});
  const Ref<Graph> g = captured([&](const Tensors& in) -> Tensors { return {in[0] + exp(w) * 2.0}; }, {4, 4});
  const Ref<Graph> folded = drop_dead_nodes(*fold_constants(*g));
  EXPECT_EQ(operations(*folded), Names{"add"});
  expect_same_results(g, folded, {4, 4});
}

TEST(GraphPasses, MergeEqualNodesKeepsOne) {
  const Ref<Graph> g = captured([](const Tensors& in) -> Tensors { return {exp(in[0]) + exp(in[0]) * exp(in[0])}; }, {5});
  const Ref<Graph> merged = merge_equal_nodes(*g);
  EXPECT_EQ(operations(*merged), (Names{"exp", "mul", "add"}));
  expect_same_results(g, merged, {5});
}

TEST(GraphPasses, MergeEqualNodesLeavesWhatIsWrittenOrGivenOut) {
  const auto written = [](const Tensors& in) -> Tensors {
    Tensor a = exp(in[0]);
    const Tensor b = exp(in[0]);
    copy_into(a, b * 2.0);
    return {a + b};
  };
  const Ref<Graph> g = captured(written, {5});
  expect_same_results(g, merge_equal_nodes(*g), {5});
  const Ref<Graph> twice = captured([](const Tensors& in) -> Tensors { return {exp(in[0]), exp(in[0])}; }, {5});
  EXPECT_EQ(operations(*merge_equal_nodes(*twice)), (Names{"exp", "exp"}));
}

TEST(GraphPasses, ValuesForWritesMakesInPlaceOperationsPlain) {
  const auto f = [](const Tensors& in) -> Tensors {
    Tensor y = exp(in[0]);
    const Tensor before = y * 2.0;
    y.relu_();
    y.mul_(3.0);
    return {y + before, y};
  };
  const Ref<Graph> g = captured(f, {5}), plain = values_for_writes(*g);
  for (const GraphNode& n : plain->nodes) EXPECT_FALSE(n.writes);
  expect_same_results(g, plain, {5});
}

TEST(GraphPasses, ValuesForWritesLeavesWhatOthersSee) {
  const auto f = [](const Tensors& in) -> Tensors {
    Tensor y = exp(in[0]);
    const Tensor part = slice(y, 0, 0, 2);
    y.mul_(3.0);
    Tensor(slice(y, 0, 3, 5)).zero_();
    return {part, y};
  };
  const Ref<Graph> g = captured(f, {5}), same = values_for_writes(*g);
  EXPECT_TRUE(*g == *same);
  expect_same_results(g, optimise(*g), {5});
}

struct ConvNorm {
  Tensor w = numbers(cpu(), {6, 3, 3, 3}, 1), b = numbers(cpu(), {6}, 2), mean = numbers(cpu(), {6}, 3), var = exp(numbers(cpu(), {6}, 4));
  Tensor scale = numbers(cpu(), {6}, 5), shift = numbers(cpu(), {6}, 6);
};

TEST(GraphPasses, FoldScalesPutsABatchNormIntoTheConvolution) {
  const ConvNorm t;
  for (bool biased : {false, true}) {
    const Ref<Graph> g = captured(
        [&](const Tensors& in) -> Tensors {
          return {relu(batch_norm(conv2d(in[0], t.w, biased ? t.b : Tensor(), Dims{1}, Dims{1}), t.mean, t.var, t.scale, t.shift))};
        },
        {2, 3, 7, 5});
    const Ref<Graph> folded = optimise(*g);
    EXPECT_EQ(operations(*folded), (Names{"conv2d", "relu"}));
    expect_same_results(g, folded, {2, 3, 7, 5});
  }
}

TEST(GraphPasses, FoldScalesSeesThroughOperationsInPlace) {
  const ConvNorm t;
  const Ref<Graph> g = captured(
      [&](const Tensors& in) -> Tensors {
        Tensor y = batch_norm(conv2d(in[0], t.w, t.b), t.mean, t.var, t.scale, t.shift);
        y.relu_();
        y.add_(1.0);
        return {y};
      },
      {2, 3, 7, 5});
  const Ref<Graph> folded = optimise(*g);
  EXPECT_EQ(operations(*folded), (Names{"conv2d", "relu", "add"}));
  expect_same_results(g, folded, {2, 3, 7, 5});
}

TEST(GraphPasses, FoldScalesTakesPlainFactorsAndSummands) {
  const ConvNorm t;
  const Tensor factor = reshape(t.scale, Dims{6, 1, 1}), summand = reshape(t.shift, Dims{1, 6, 1, 1});
  const Ref<Graph> g =
      captured([&](const Tensors& in) -> Tensors { return {(factor * conv2d(in[0], t.w)) - summand + factor}; }, {2, 3, 7, 5});
  const Ref<Graph> folded = optimise(*g);
  EXPECT_EQ(operations(*folded), Names{"conv2d"});
  expect_same_results(g, folded, {2, 3, 7, 5});
}

TEST(GraphPasses, FoldScalesLeavesAConvolutionThatIsUsedTwiceOrGivenOut) {
  const ConvNorm t;
  const Ref<Graph> used = captured(
      [&](const Tensors& in) -> Tensors {
        const Tensor y = conv2d(in[0], t.w);
        return {batch_norm(y, t.mean, t.var) + y};
      },
      {2, 3, 7, 5});
  EXPECT_EQ(operations(*optimise(*used)), (Names{"conv2d", "addcmul", "add"}));
  const Ref<Graph> given = captured(
      [&](const Tensors& in) -> Tensors {
        const Tensor y = conv2d(in[0], t.w);
        return {batch_norm(y, t.mean, t.var), y};
      },
      {2, 3, 7, 5});
  EXPECT_EQ(operations(*optimise(*given)), (Names{"conv2d", "addcmul"}));
  expect_same_results(given, optimise(*given), {2, 3, 7, 5});
  // One number for each place of a row is no number for each channel.
  const Tensor row = numbers(cpu(), {5}, 9);
  const Ref<Graph> other = captured([&](const Tensors& in) -> Tensors { return {conv2d(in[0], t.w) * row}; }, {2, 3, 7, 7});
  EXPECT_EQ(operations(*optimise(*other)), (Names{"conv2d", "mul"}));
}

TEST(GraphEditor, ReplacesAndErases) {
  const Ref<Graph> g = captured([](const Tensors& in) -> Tensors { return {exp(neg(in[0])), abs(in[0])}; }, {3});
  GraphEditor editor(*g);
  ASSERT_EQ(editor.nodes(), 3);
  const ValueId x = g->inputs[0], negated = editor.node(0).out[0];
  EXPECT_EQ(editor.users(x), (std::vector<int32_t>{0, 2}));
  EXPECT_EQ(editor.only_user(negated), 1);
  EXPECT_TRUE(editor.is_kept(g->outputs[1]));
  editor.replace(negated, x);
  editor.erase(0);
  const Ref<Graph> changed = editor.finish();
  EXPECT_EQ(operations(*changed), (Names{"exp", "abs"}));
  const Tensor in = numbers(cpu(), {3});
  expect_same(Replay(changed, cpu()).run(Tensors{in})[0], exp(in));
}

TEST(GraphEditor, InsertsBeforeANode) {
  const Ref<Graph> g = captured([](const Tensors& in) -> Tensors { return {exp(in[0])}; }, {3});
  GraphEditor editor(*g);
  const NoAttrs none;
  const ValueId negated =
      editor.insert_before(0, Operation(OpRef{OpTable::global().find("neg"), &none}), {g->inputs[0]}, editor.meta(g->inputs[0]));
  editor.set_inputs(0, {negated});
  const Ref<Graph> changed = editor.finish();
  const Tensor in = numbers(cpu(), {3});
  expect_same(Replay(changed, cpu()).run(Tensors{in})[0], exp(neg(in)));
}

TEST(GraphPasses, RecogniseActivationsFindsThemHoweverTheyAreWritten) {
  const double root = std::sqrt(2 / std::numbers::pi), half = 1 / std::sqrt(2.0);
  const auto becomes = [](const CapturedFunction& f, const char* name) {
    const Ref<Graph> g = captured(f, {3, 70}), found = drop_dead_nodes(*recognise_activations(*g));
    EXPECT_EQ(operations(*found), Names{name}) << to_text(*g);
    expect_same_results(g, found, {3, 70});
  };
  becomes([&](const Tensors& in) -> Tensors { return {in[0] * 0.5 * (erf(in[0] * half) + 1.0)}; }, "gelu");
  becomes([&](const Tensors& in) -> Tensors { return {in[0] * ((erf(in[0] / std::sqrt(2.0)) + 1.0) / 2.0)}; }, "gelu");
  becomes([&](const Tensors& in) -> Tensors { return {in[0] * 0.5 * (tanh((in[0] + pow(in[0], 3.0) * 0.044715) * root) + 1.0)}; }, "gelu");
  becomes([&](const Tensors& in) -> Tensors { return {in[0] * sigmoid(in[0])}; }, "silu");
  becomes([&](const Tensors& in) -> Tensors { return {in[0] / (exp(-in[0]) + 1.0)}; }, "silu");
}

TEST(GraphPasses, RecogniseActivationsLeavesTheirNeighbours) {
  const auto stays = [](const CapturedFunction& f, Dims shape) {
    const Ref<Graph> g = captured(f, shape);
    EXPECT_EQ(operations(*recognise_activations(*g)), operations(*g));
  };
  stays([](const Tensors& in) -> Tensors { return {in[0] * sigmoid(in[0] * 1.702)}; }, {3, 5});           // nearly gelu
  stays([](const Tensors& in) -> Tensors { return {in[0] * 0.5 * (erf(in[0] * 0.7) + 1.0)}; }, {3, 5});   // of another scale
  stays([](const Tensors& in) -> Tensors { return {in[0] * sigmoid(in[0] + 1e-3)}; }, {3, 5});            // shifted
  stays([](const Tensors& in) -> Tensors { return {in[0] * sigmoid(transpose(in[0], 0, 1))}; }, {5, 5});  // of other elements
}

TEST(GraphPasses, RecogniseNormsFindsThemWithWeightAndBias) {
  const Tensor w = numbers(cpu(), {70}, 1), b = numbers(cpu(), {70}, 2);
  const auto centred = [](const Tensor& x) -> Tensor { return x - mean(x, Dims{-1}, true); };
  const auto becomes = [](const CapturedFunction& f, Names names) {
    const Ref<Graph> g = captured(f, {3, 4, 70}), found = drop_dead_nodes(*recognise_norms(*g));
    EXPECT_EQ(operations(*found), names) << to_text(*g);
    expect_same_results(g, found, {3, 4, 70});
  };
  const auto plain = [&](const Tensor& x) -> Tensor {
    const Tensor c = centred(x);
    return c / sqrt(mean(c * c, Dims{-1}, true) + 1e-5);
  };
  becomes([&](const Tensors& in) -> Tensors { return {plain(in[0])}; }, {"normalise_rows"});
  becomes([&](const Tensors& in) -> Tensors { return {plain(in[0]) * w + b}; }, {"normalise_rows"});
  becomes([&](const Tensors& in) -> Tensors { return {b + w * plain(in[0])}; }, {"normalise_rows"});
  becomes([&](const Tensors& in) -> Tensors { return {centred(in[0]) * rsqrt(mean(pow(centred(in[0]), 2.0), Dims{-1}, true) + 1e-3) * w}; },
      {"normalise_rows"});
  becomes(
      [&](const Tensors& in) -> Tensors { return {in[0] * rsqrt(mean(in[0] * in[0], Dims{-1}, true) + 1e-6) * w}; }, {"normalise_rows"});
  becomes([&](const Tensors& in) -> Tensors { return {plain(in[0]) * w * w}; }, {"normalise_rows", "mul"});
}

TEST(GraphPasses, RecogniseNormsLeavesTheirNeighbours) {
  const auto stays = [](const CapturedFunction& f) {
    const Ref<Graph> g = captured(f, {3, 4, 70});
    EXPECT_EQ(operations(*recognise_norms(*g)), operations(*g));
  };
  stays([](const Tensors& in) -> Tensors { return {in[0] / (mean(in[0], Dims{-1}, true) + 1e-5)}; });
  stays([](const Tensors& in) -> Tensors {  // over other axes
    const Tensor c = in[0] - mean(in[0], Dims{1}, true);
    return {c / sqrt(mean(c * c, Dims{1}, true) + 1e-5)};
  });
  stays([](const Tensors& in) -> Tensors {  // eps outside of the root
    const Tensor c = in[0] - mean(in[0], Dims{-1}, true);
    return {c / (sqrt(mean(c * c, Dims{-1}, true)) + 1e-2)};
  });
}

TEST(GraphPasses, FoldScalesReachesTheLinearLayerBehindAFlattening) {
  const Tensor w = numbers(cpu(), {5, 24}, 1), b = numbers(cpu(), {5}, 2);
  const Tensor scale = numbers(cpu(), {1, 4, 1, 1}, 3), shift = numbers(cpu(), {1, 4, 1, 1}, 4);
  const auto becomes = [](const CapturedFunction& f, Names names) {
    const Ref<Graph> g = captured(f, {3, 4, 2, 3}), found = drop_dead_nodes(*fold_scales(*g));
    EXPECT_EQ(operations(*found), names) << to_text(*g);
    expect_same_results(g, found, {3, 4, 2, 3});
  };
  const auto flat = [](const Tensor& x) -> Tensor { return reshape(relu(x), Dims{3, 24}); };
  becomes(
      [&](const Tensors& in) -> Tensors {
        return {linear(reshape(relu(in[0]) * scale + shift, Dims{3, 24}), w, b)};
      },
      {"relu", "reshape", "linear"});
  becomes(
      [&](const Tensors& in) -> Tensors {
        return {linear(reshape(relu(in[0]) + shift, Dims{3, 24}), w)};
      },
      {"relu", "reshape", "linear"});
  const Tensor by_row = numbers(cpu(), {1, 5}, 5);
  becomes([&](const Tensors& in) -> Tensors { return {linear(flat(in[0]), w, b) * by_row + by_row}; }, {"relu", "reshape", "linear"});
  // Another user of the scaled image, rows that are not images, a scale along another axis.
  becomes(
      [&](const Tensors& in) -> Tensors {
        const Tensor x = relu(in[0]) * scale;
        return {linear(reshape(x, Dims{3, 24}), w), exp(x)};
      },
      {"relu", "mul", "reshape", "linear", "exp"});
  becomes(
      [&](const Tensors& in) -> Tensors {
        return {linear(reshape(relu(in[0]) * scale, Dims{6, 12}), narrow(w, 1, 0, 12))};
      },
      {"relu", "mul", "reshape", "linear"});
  becomes(
      [&](const Tensors& in) -> Tensors {
        return {linear(reshape(relu(in[0]) * numbers(cpu(), {2, 1}, 6), Dims{3, 24}), w)};
      },
      {"relu", "mul", "reshape", "linear"});
}

TEST(GraphPasses, RecogniseLinearFindsProductsWithConstantMatrices) {
  const Tensor w = numbers(cpu(), {6, 5}, 1), b = numbers(cpu(), {5}, 2), other = numbers(cpu(), {3, 4, 5}, 3);
  const auto becomes = [](const CapturedFunction& f, Dims shape, Names names) {
    const Ref<Graph> g = captured(f, shape), found = drop_dead_nodes(*recognise_linear(*g));
    EXPECT_EQ(operations(*found), names) << to_text(*g);
    expect_same_results(g, found, shape);
  };
  const Names linear{"linear"}, copied{"reshape", "linear", "reshape"};
  becomes([&](const Tensors& in) -> Tensors { return {matmul(in[0], w)}; }, {4, 6}, linear);
  becomes([&](const Tensors& in) -> Tensors { return {matmul(in[0], w) + b}; }, {4, 6}, linear);
  becomes([&](const Tensors& in) -> Tensors { return {b + matmul(in[0], w)}; }, {1, 4, 6}, linear);
  becomes([&](const Tensors& in) -> Tensors { return {matmul(in[0], w) + b}; }, {3, 4, 6}, copied);
  becomes([&](const Tensors& in) -> Tensors { return {matmul(in[0], w) + other}; }, {3, 4, 6}, {"reshape", "linear", "reshape", "add"});
  becomes([&](const Tensors& in) -> Tensors { return {matmul(in[0], w) - b}; }, {4, 6}, {"linear", "sub"});
}

TEST(GraphPasses, RecogniseLinearLeavesOthers) {
  const Tensor w = numbers(cpu(), {6, 6}, 1), several = numbers(cpu(), {3, 6, 5}, 2);
  const auto stays = [](const CapturedFunction& f) {
    const Ref<Graph> g = captured(f, {3, 6, 6});
    EXPECT_EQ(operations(*drop_dead_nodes(*recognise_linear(*g))), operations(*g));
  };
  stays([&](const Tensors& in) -> Tensors { return {matmul(in[0], several)}; });
  stays([&](const Tensors& in) -> Tensors { return {matmul(w, in[0])}; });
  stays([&](const Tensors& in) -> Tensors { return {matmul(in[0], in[0])}; });
  const Ref<Graph> g = captured([&](const Tensors& in) -> Tensors { return {matmul(in[0], transpose(w, 0, 1))}; }, {4, 6});
  expect_same_results(g, recognise_linear(*g), {4, 6});
}

TEST(GraphPasses, RecogniseAttentionFindsItForManyTokens) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Tensor added = numbers(cpu(), {1, 1, 512, 512}, 1), seen = ge(numbers(cpu(), {512, 512}, 2), -0.5);
  const Tensor low = full(Dims{}, -infinity, {}, &cpu()), root = full(Dims{}, 2.0, {}, &cpu());
  const auto scores = [](const Tensor& x) -> Tensor { return matmul(x, transpose(x * 0.5, 2, 3)); };
  const auto mixed = [](const Tensor& s, const Tensor& x) -> Tensors { return {matmul(softmax(s, -1), x + 1.0)}; };
  const auto becomes = [](const CapturedFunction& f) {
    const Ref<Graph> g = captured(f, {1, 2, 512, 8}), found = drop_dead_nodes(*recognise_attention(*g));
    const Names names = operations(*found);
    EXPECT_EQ(std::count(names.begin(), names.end(), "attention"), 1) << to_text(*g);
    for (const char* gone : {"softmax", "bmm", "where"}) EXPECT_EQ(std::count(names.begin(), names.end(), gone), 0) << gone << to_text(*g);
    expect_same_results(g, found, {1, 2, 512, 8});
  };
  becomes([&](const Tensors& in) -> Tensors { return mixed(scores(in[0]), in[0]); });
  becomes([&](const Tensors& in) -> Tensors { return mixed(scores(in[0]) / 3.0, in[0]); });
  becomes([&](const Tensors& in) -> Tensors { return mixed(scores(in[0]) * 0.25 + added, in[0]); });
  becomes([&](const Tensors& in) -> Tensors { return mixed(added + scores(in[0]), in[0]); });
  becomes([&](const Tensors& in) -> Tensors { return mixed(where(seen, scores(in[0]) * 0.1, -infinity), in[0]); });
  becomes([&](const Tensors& in) -> Tensors { return mixed(where(seen, -infinity, scores(in[0])), in[0]); });
  // As ONNX files have it.
  becomes([&](const Tensors& in) -> Tensors { return mixed(where(seen, low, scores(in[0]) / root), in[0]); });
}

TEST(GraphPasses, RecogniseAttentionLeavesOthers) {
  const auto stays = [](const CapturedFunction& f, Dims shape) {
    const Ref<Graph> g = captured(f, shape);
    EXPECT_EQ(operations(*recognise_attention(*g)), operations(*g));
  };
  const auto scores = [](const Tensor& x) -> Tensor { return matmul(x, transpose(x, 2, 3)); };
  stays([&](const Tensors& in) -> Tensors { return {matmul(softmax(scores(in[0]), -1), in[0])}; }, {1, 2, 16, 8});   // few tokens
  stays([&](const Tensors& in) -> Tensors { return {matmul(softmax(scores(in[0]), -2), in[0])}; }, {1, 2, 512, 8});  // over queries
  stays(
      [&](const Tensors& in) -> Tensors {  // the shares are a result, too
        const Tensor p = softmax(scores(in[0]), -1);
        return {matmul(p, in[0]), p};
      },
      {1, 2, 512, 8});
  stays([&](const Tensors& in) -> Tensors { return {matmul(softmax(2.0 / scores(in[0]), -1), in[0])}; }, {1, 2, 512, 8});
  stays([&](const Tensors& in) -> Tensors { return {matmul(softmax(where(gt(scores(in[0]), 0.0), scores(in[0]), -1.0), -1), in[0])}; },
      {1, 2, 512, 8});
}

}  // namespace
}  // namespace pyburn::testing
