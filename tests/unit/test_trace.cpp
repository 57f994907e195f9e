// Recording: what was done is what is replayed, with views and writes in place.
#include "device_fixture.h"
#include "pyburn/backends/null/null_backend.h"
#include "pyburn/decorators/trace/trace.h"
#include "pyburn/graph/replay.h"
#include "pyburn/inference/capture.h"

namespace pyburn::testing {
namespace {

Trace& tracer(Ref<Backend> inner, Device*& device) {
  auto* trace = new Trace(std::move(inner));
  device = &device_of(Ref<Backend>(trace));
  return *trace;
}
Ref<Backend> cpu_backend_ref() {
  cpu();
  return Ref<Backend>(&cpu::cpu_backend());
}

// Views of views, writes through them, a write whose dtype differs, and a chain back to the start.
Tensors views_and_writes(const Tensors& in) {
  const Tensor x = in[0];
  const Tensor copy = clone(x);
  const Tensor row = select(copy, 0, 1);
  add_into(row, row, 5.0);
  const Tensor turned = transpose(copy, 0, 1);
  mul_into(slice(turned, 0, 1, 3), slice(turned, 0, 1, 3), 2.0);
  const Tensor flat = reshape(copy, Dims{-1});
  copy_into(slice(flat, 0, 0, 2), detach(slice(flat, 0, 3, 5)));
  const Tensor back = transpose(turned, 0, 1);
  return {back + x, flat, sum(turned, Dims{0}), cast(copy, DType::int64)};
}

TEST(Trace, ReplaysViewsAndWritesExactly) {
  Device* device;
  Trace& trace = tracer(cpu_backend_ref(), device);
  const Tensors in{numbers(*device, {3, 4})};
  trace.start(in, {"x"});
  const Tensors eager = views_and_writes(in);
  const Ref<Graph> graph = trace.finish(eager);
  EXPECT_TRUE(graph->constants.empty());

  Replay replay(graph, cpu());
  const Tensors other{numbers(cpu(), {3, 4}, 2)};
  const Tensors expected = views_and_writes(other), got = replay.run(other);
  ASSERT_EQ(got.size(), expected.size());
  for (int64_t i = 0; i < got.size(); ++i) expect_same(got[i], expected[i]);
  // Outputs that alias each other in the program do so after a replay.
  EXPECT_EQ(expected[1].storage() == expected[0].storage(), got[1].storage() == got[0].storage());
}

TEST(Trace, CaptureWithoutDataGivesTheSameGraph) {
  Device* device;
  Trace& trace = tracer(cpu_backend_ref(), device);
  const Tensors in{numbers(*device, {3, 4})};
  trace.start(in, {"x"});
  const Ref<Graph> recorded = trace.finish(views_and_writes(in));
  const Ref<Graph> captured = capture(cpu(), {{{Shape{3, 4}, DType::float32}, "x"}}, views_and_writes, {.simplify = false});
  EXPECT_EQ(to_text(*recorded), to_text(*captured));
}

TEST(Trace, ViewsThatLeadBackNeedNoNode) {
  const Ref<Graph> g = capture(cpu(), {{{Shape{3, 4}, DType::float32}, "x"}},
      [](const Tensors& in) -> Tensors { return {transpose(transpose(in[0], 0, 1), 0, 1)}; });
  EXPECT_EQ(g->outputs[0], g->inputs[0]);
  EXPECT_TRUE(g->nodes.empty());
}

TEST(Trace, ConstantsKeepTheirNamesAndFirstValues) {
  Device* device;
  Trace& trace = tracer(cpu_backend_ref(), device);
  const Tensor state = tensor(*device, {2}, {1, 2}), weight = tensor(*device, {2}, {3, 4});
  const Tensors in{tensor(*device, {2}, {10, 20})};
  trace.start(in);
  trace.name_constant(weight, "weight");
  add_into(state, state, in[0]);
  const Tensor y = state * weight;
  const Ref<Graph> graph = trace.finish(Tensors{y});
  ASSERT_EQ(graph->constants.size(), 2u);
  EXPECT_EQ(graph->constant_names, (std::vector<std::string>{"", "weight"}));
  EXPECT_EQ(values(graph->constants[0].second), (std::vector<float>{1, 2}));
  EXPECT_EQ(values(state), (std::vector<float>{11, 22}));
  Replay replay(graph, cpu());
  const Tensors again{tensor(cpu(), {2}, {10, 20})};
  expect_same(replay.run(again)[0], y);
  EXPECT_EQ(values(replay.run(again)[0]), (std::vector<float>{63, 168}));  // the state goes on
}

TEST(Trace, ReadingWhileCapturingRaises) {
  const Tensor weight = tensor(cpu(), {2}, {3, 4});
  auto with = [&](auto body) {
    return message_of<CaptureError>([&] {
      capture(cpu(), {{{Shape{2}, DType::float32}, "x"}}, [&](const Tensors& in) -> Tensors {
        EXPECT_EQ(values(weight), (std::vector<float>{3, 4}));  // a constant may be read
        body(in[0]);
        return {in[0]};
      });
    });
  };
  EXPECT_NE(with([](const Tensor& x) { values(x); }).find("[read] the values"), std::string::npos);
  EXPECT_NE(with([](const Tensor& x) { values(x + 1); }).find("[read] the values"), std::string::npos);
  EXPECT_NE(with([&](const Tensor& x) { add_into(weight, weight, x), values(weight); }).find("[read] the values"), std::string::npos);
  EXPECT_NE(with([](const Tensor& x) { values<int64_t>(nonzero(x)); }).find("[read] the values"), std::string::npos);
  EXPECT_EQ(values(weight), (std::vector<float>{3, 4}));
}

TEST(Trace, TensorsThatEscapeACaptureAreRefused) {
  Tensor escaped;
  capture(cpu(), {{{Shape{2}, DType::float32}, "x"}}, [&](const Tensors& in) -> Tensors { return {escaped = in[0] + 1}; });
  EXPECT_NE(message_of<CaptureError>([&] { escaped + 1; }).find("made while capturing"), std::string::npos);
  EXPECT_NE(message_of<CaptureError>([&] { detach(escaped) * 2; }).find("made while capturing"), std::string::npos);
  message_of<CaptureError>([&] { values(escaped); });
}

TEST(Trace, WritesToTwoOldViewsOfOneTensorAreRefused) {
  const Tensor base = numbers(cpu(), {4}), left = slice(base, 0, 0, 3), right = slice(base, 0, 1, 4);
  const std::string message = message_of<CaptureError>([&] {
    capture(cpu(), {{{Shape{3}, DType::float32}, "x"}}, [&](const Tensors& in) -> Tensors {
      const Tensor y = right + in[0];
      add_into(left, left, in[0]);
      return {y + left};
    });
  });
  EXPECT_NE(message.find("two views of a tensor"), std::string::npos);
}

TEST(Trace, AFailedFunctionEndsTheRecording) {
  auto failing = [] {
    capture(cpu(), {{{Shape{2}, DType::float32}, "x"}}, [](const Tensors& in) -> Tensors { return {in[0] + numbers(cpu(), {3})}; });
  };
  EXPECT_NE(message_of<ShapeError>(failing).find("[add]"), std::string::npos);
  EXPECT_EQ(current_level(), nullptr);
}

TEST(Null, KnowsShapesButNoValues) {
  Device& device = device_of(Ref<Backend>(new NullBackend));
  const Tensor x = zeros(Dims{2, 3}, {}, &device), y = softmax(matmul(x, transpose(x, 0, 1)), 1);
  EXPECT_EQ(to_text(y.shape()), "(2, 2)");
  EXPECT_EQ(reshape(x, Dims{6}).storage(), x.storage());
  message_of<CaptureError>([&] { values(y); });
  EXPECT_NE(message_of<ShapeError>([&] { matmul(x, x); }).find("differ"), std::string::npos);
}

}  // namespace
}  // namespace pyburn::testing
