// Operations that hold graphs: the verifier, expressions inside them, stages, and what a loop may do.
#include "device_fixture.h"
#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/graph/passes.h"
#include "pyburn/graph/replay.h"
#include "pyburn/graph/split.h"
#include "pyburn/inference/control_flow.h"
#include "pyburn/inference/graph_file.h"
#include "pyburn/inference/session.h"
#include "pyburn/ir/integer_slots.h"
#include "pyburn/ops/control_flow.h"
#include "pyburn/support/interrupt.h"

namespace pyburn::testing {
namespace {

Tensors doubled_or_not(const Tensors& in) {
  const Tensor x = in[0];
  return cond(
      sum(x), [](const Tensors& t) -> Tensors { return {Tensor(t[0]) * 2.0}; },
      [](const Tensors& t) -> Tensors {
        return {reshape(Tensor(t[0]) + 1.0, {t[0].shape()[0], -1})};
      },
      {x});
}

Ref<Graph> captured(const CapturedFunction& f, const Dims& shape) {
  const DeviceScope scope(cpu());
  return capture(cpu(), {{{Shape(shape), DType::float32}, "x"}}, f);
}

GraphNode& node_named(Graph& g, std::string_view name) {
  for (GraphNode& n : g.nodes)
    if (n.op.info().name() == name) return n;
  throw std::runtime_error("no such node");
}

TEST(ControlFlow, FreeExtentsReachIntoGraphs) {
  const Ref<Graph> g = captured(doubled_or_not, {-1, 3});
  EXPECT_FALSE(node_named(*g, "cond").patches.empty());
  Session session(g, cpu());
  EXPECT_FALSE(session.prepared(Tensors{numbers(cpu(), {2, 3})}));
  for (int64_t n : {2, 5, 1, 2})
    for (double sign : {1.0, -1.0}) {
      const Tensors in{abs(numbers(cpu(), {n, 3}, int(n))) * sign + 0.125 * sign};
      expect_same(session.run(in)[0], doubled_or_not(in)[0]);
    }
}

TEST(ControlFlow, VerifierLooksInside) {
  Ref<Graph> g = captured(doubled_or_not, {2, 3});
  GraphNode& node = node_named(*g, "cond");
  const Operation good = node.op;
  node.op = with_sub_graphs(good, [](const Graph& inside) {
    Ref<Graph> broken = copy_of(inside);
    broken->outputs = {ValueId(broken->values.size())};
    return broken;
  });
  EXPECT_THROW(check(*g), FormatError);
  node.op = with_sub_graphs(good, [](const Graph& inside) {
    Ref<Graph> other = copy_of(inside);
    other->values[size_t(other->outputs[0])].dtype = DType::int64;
    return other;
  });
  EXPECT_THROW(graph_from_bytes(graph_to_bytes(*g), cpu()), FormatError);
  node.op = good;
  EXPECT_EQ(to_text(*graph_from_bytes(graph_to_bytes(*g), cpu())), to_text(*g));
}

TEST(ControlFlow, SlotsOfAGraphGoThereAndBack) {
  const Ref<Graph> g = captured(doubled_or_not, {2, 3});
  const Operation op = node_named(*g, "cond").op;
  Slots slots = integer_slots(op.ref());
  EXPECT_TRUE(with_integer_slots(op, slots) == op);
  slots[0] += 1;
  EXPECT_FALSE(with_integer_slots(op, slots) == op);
}

TEST(ControlFlow, StagesKeepTheOrderOfWhatDepends) {
  const auto f = [](const Tensors& in) -> Tensors {
    const Tensor x = in[0], y = exp(x) + 1.0, places = nonzero(gt(y, 2.0));
    return {sum(Tensor(places), Dims{0}), y * 2.0};
  };
  const Ref<Graph> g = captured(f, {6});
  const std::vector<GraphStage> stages = split(*g);
  ASSERT_EQ(stages.size(), 3u);  // what comes before, the counting, what comes after
  EXPECT_TRUE(stages[0].part && !stages[1].part && stages[2].part);
  for (const GraphNode& n : stages[0].part->nodes) EXPECT_NE(n.op.info().name(), "sum");
  Session session(g, cpu());
  for (int seed : {1, 2, 3}) {
    const Tensors in{numbers(cpu(), {6}, seed)};
    const Tensors expected = f(in), got = session.run(in);
    expect_same(got[0], expected[0]);
    expect_close(got[1], expected[1]);
  }
}

TEST(ControlFlow, PassesKeepWhatGivesAnExtent) {
  const auto f = [](const Tensors& in) -> Tensors {
    const Tensor places = nonzero(in[0]);
    const int64_t n = places.shape()[0];  // nobody reads the places themselves
    return {arange(n) + 1};
  };
  const Ref<Graph> g = captured(f, {6});
  ASSERT_EQ(g->unknown_axes.size(), 1u);
  for (const GraphPass& pass : all_passes()) check(*pass.run(*g));
  Session session(optimise(*g), cpu());
  EXPECT_EQ(session.run(Tensors{tensor(cpu(), {6}, {0, 1, 0, 2, 3, 0})})[0].shape(), Shape{3});
}

TEST(ControlFlow, ALoopAnswersAnInterrupt) {
  const auto forever = [](const Tensors& in) -> Tensors {
    return while_loop([](const Tensors& t) -> Tensors { return {ge(sum(Tensor(t[0])), 0.0)}; },
        [](const Tensors& t) -> Tensors { return {Tensor(t[0]) * 1.0}; }, in);
  };
  Session session(captured(forever, {2}), cpu());
  static std::atomic<int> polls;
  polls = 0;
  auto* before = poll_interrupt;
  poll_interrupt = [] {
    if (++polls > 1) throw Interrupted("[test] interrupted");
  };
  EXPECT_THROW(session.run(Tensors{ones(Dims{2}, DType::float32, &cpu())}), Interrupted);
  poll_interrupt = before;
}

// A graph replayed through the door of a device that records has the gradients of the program.
TEST(ControlFlow, GradientsGoThroughGraphs) {
  Device& home = device("autodiff(ndarray)");
  const DeviceScope scope(home);
  const Tensor w = numbers(home, {3}, 4);
  const std::vector<CapturedFunction> programs = {doubled_or_not,
      [](const Tensors& in) -> Tensors {
        return {while_loop([](const Tensors& t) -> Tensors { return {gt(amax(abs(Tensor(t[0])), {}, false), 0.5)}; },
            [](const Tensors& t) -> Tensors { return {Tensor(t[0]) * Tensor(t[0]) * 0.5}; }, in)};
      },
      [&](const Tensors& in) -> Tensors {
        return scan([&](const Tensors& t) -> Tensors { return {t[0] + t[1] * w, t[0] * t[1]}; }, {w}, {in[0]});
      }};
  for (const CapturedFunction& f : programs) {
    Replay replay(capture(home, {{{Shape{2, 3}, DType::float32}, "x"}}, f), home);
    const auto gradient_of = [&](const auto& run) {
      const Tensor x = numbers(home, {2, 3}, 9);
      autograd::set_requires_grad(x, true);
      const Tensors out = run(Tensors{x});
      Tensor loss = sum(out[0] * out[0]);
      if (out.size() > 1) loss = loss + sum(out[1] * out[1]);
      return Tensor(autograd::grad({loss}, {x}, {}, false, false, false)[0]);
    };
    expect_close(gradient_of([&](const Tensors& in) { return replay.run(in); }), gradient_of(f));
  }
}

TEST(ControlFlow, WritesInsideStayInside) {
  const Tensor outside = zeros(Dims{2}, DType::float32, &cpu());
  const auto writes = [&](const Tensors& in) -> Tensors {
    return cond(
        sum(Tensor(in[0])), [&](const Tensors& t) -> Tensors { return {Tensor(outside).add_(Tensor(t[0]))}; },
        [](const Tensors& t) { return t; }, in);
  };
  EXPECT_THROW(captured(writes, {2}), CaptureError);
  const auto own = [](const Tensors& in) -> Tensors {
    return cond(
        sum(Tensor(in[0])), [](const Tensors& t) -> Tensors { return {clone(Tensor(t[0])).mul_(3.0)}; }, [](const Tensors& t) { return t; },
        in);
  };
  Session session(captured(own, {2}), cpu());
  const Tensor x = ones(Dims{2}, DType::float32, &cpu()), none = zeros(Dims{2}, DType::float32, &cpu());
  expect_same(session.run(Tensors{x})[0], x * 3.0);
  const Tensors got = session.run(Tensors{none});
  expect_same(got[0], none);
  EXPECT_NE(got[0].storage(), none.storage());  // a branch may return what it was given, but not share it
}

}  // namespace
}  // namespace pyburn::testing
