// What a session prepares: results equal the model's, whatever is shared, reused, fused or run at the same time.
#include <thread>

#include "device_fixture.h"
#include "pyburn/inference/capture.h"
#include "pyburn/inference/profile.h"
#include "pyburn/inference/session.h"

namespace pyburn::testing {
namespace {

Ref<Graph> captured(const CapturedFunction& f, const Dims& shape) {
  const DeviceScope scope(cpu());
  return capture(cpu(), {{{Shape(shape), DType::float32}, "x"}}, f);
}

void expect_follows(const CapturedFunction& f, const Dims& shape, float tolerance = 1e-5f) {
  const DeviceScope scope(cpu());
  Session session(captured(f, shape), cpu());
  for (int seed : {1, 2, 3}) {
    const Tensors in{numbers(cpu(), shape, seed)};
    ASSERT_TRUE(session.prepared(in));
    const Tensors expected = f(in), got = session.run(in);
    ASSERT_EQ(got.size(), expected.size());
    for (int64_t i = 0; i < got.size(); ++i) expect_close(got[i], expected[i], tolerance);
  }
}

TEST(SessionRuns, ChainsWithBroadcastsViewsAndReductions) {
  const Tensor row = numbers(cpu(), {6}, 7);
  expect_follows(
      [&](const Tensors& in) -> Tensors {
        const Tensor x = in[0], y = exp(x * 0.5) + row;
        const Tensor z = transpose(y, 0, 1) * 2.0;
        return {sum(z - mean(z, Dims{1}, true), Dims{0}), z, softmax(y, 1)};
      },
      {5, 6});
}

TEST(SessionRuns, WritesIntoItsOwnMemory) {
  expect_follows(
      [](const Tensors& in) -> Tensors {
        const Tensor both = zeros(Dims{2, 4, 3});
        copy_into(select(both, 0, 0), in[0]);
        copy_into(select(both, 0, 1), in[0] * in[0]);
        return {both, sum(both, Dims{0})};
      },
      {4, 3});
}

TEST(SessionRuns, AnInputThatDiesIsReusedOnlyWhereNobodyReadsItLater) {
  expect_follows(
      [](const Tensors& in) -> Tensors {
        const Tensor a = matmul(in[0], in[0]);
        const Tensor b = a + 1.0, c = cumsum(a, 0), d = transpose(a, 0, 1) + b;
        return {d * c, b, cumsum(d, 1)};
      },
      {4, 4}, 1e-4f);
}

TEST(SessionRuns, OutputsAreFreshAndTheInputMayHaveAnyLayout) {
  const auto f = [](const Tensors& in) -> Tensors { return {in[0] * 2.0, relu(Tensor(in[0]))}; };
  Session session(captured(f, {3, 4}), cpu());
  const Tensor x = transpose(numbers(cpu(), {4, 3}), 0, 1);
  const Tensors first = session.run(Tensors{x}), second = session.run(Tensors{numbers(cpu(), {3, 4}, 5)});
  expect_same(first[0], x * 2.0);
  EXPECT_NE(first[0].storage(), second[0].storage());
  const Tensor wide = numbers(cpu(), {5, 4}, 6);
  expect_same(session.run(Tensors{slice(wide, 0, 1, 4)})[0], slice(wide, 0, 1, 4) * 2.0);
}

TEST(SessionRuns, KeepsItsWeightsAndGivesNoneAway) {
  const Tensor w = numbers(cpu(), {3, 3}), before = clone(w);
  Session session(captured([&](const Tensors& in) -> Tensors { return {matmul(in[0], w), w}; }, {2, 3}), cpu());
  const Tensor x = numbers(cpu(), {2, 3}, 4);
  w.zero_();
  Tensors got = session.run(Tensors{x});
  expect_close(got[0], matmul(x, before));
  Tensor(got[1]).zero_();
  got = session.run(Tensors{x});
  expect_close(got[0], matmul(x, before));
  expect_same(got[1], before);
}

TEST(SessionRuns, KeepsStateOfItsOwn) {
  const Tensor count = zeros(Dims{1}, DType::float32, &cpu());
  Session session(captured(
                      [&](const Tensors& in) -> Tensors {
                        Tensor(count).add_(1.0);
                        return {in[0] + count};
                      },
                      {1}),
      cpu());
  const Tensor zero = zeros(Dims{1}, DType::float32, &cpu());
  for (float expected : {1.0f, 2.0f, 3.0f}) EXPECT_EQ(values(session.run(Tensors{zero})[0])[0], expected);
  EXPECT_EQ(values(count)[0], 0.0f);  // the owner's stays
}

TEST(SessionRuns, FallsBackWhereAnInputIsWrittenOrDecidesASize) {
  const auto nonzero_of = [](const Tensors& in) -> Tensors { return {nonzero(in[0])}; };
  const Tensor x = tensor(cpu(), {4}, {0, 1, 0, 2});
  bool captures = true;
  try {
    Session session(captured(nonzero_of, {4}), cpu());
    EXPECT_FALSE(session.prepared(Tensors{x}));
    expect_same(session.run(Tensors{x})[0], nonzero(x));
  } catch (const CaptureError&) {
    captures = false;  // the capture refuses it
  }
  (void)captures;
  const auto writes = [](const Tensors& in) -> Tensors {
    Tensor(in[0]).add_(1.0);
    return {in[0] * 2.0};
  };
  Session session(captured(writes, {4}), cpu());
  EXPECT_FALSE(session.prepared(Tensors{x}));
  const Tensor given = clone(x);
  expect_same(session.run(Tensors{given})[0], (x + 1.0) * 2.0);
  expect_same(given, x + 1.0);
}

TEST(SessionRuns, PreparesEachSizeOfAFreeExtent) {
  const Tensor w = numbers(cpu(), {3, 5});
  const auto f = [&](const Tensors& in) -> Tensors { return {relu(matmul(in[0], w)), mean(in[0], Dims{0})}; };
  Session session(captured(f, {-1, 3}), cpu());
  for (int round = 0; round < 2; ++round)
    for (int64_t n : {1, 2, 0, 7, 3, 4, 5, 6, 8, 9, 10, 33}) {
      const Tensors in{numbers(cpu(), {n, 3}, int(n))};
      expect_close(session.run(in)[0], f(in)[0]);
      if (n > 0) expect_close(session.run(in)[1], f(in)[1]);
    }
}

TEST(SessionRuns, ManyThreadsShareOne) {
  const Tensor w = numbers(cpu(), {16, 16});
  const auto f = [&](const Tensors& in) -> Tensors {
    Tensor x = in[0];
    for (int i = 0; i < 5; ++i) x = tanh(matmul(x, w)) + x;
    return {x};
  };
  Session session(captured(f, {8, 16}), cpu());
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const Tensors in{numbers(cpu(), {8, 16}, t)};
      const std::vector<float> expected = values(session.run(in)[0]);
      for (int i = 0; i < 50; ++i) wrong += values(session.run(in)[0]) != expected;
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(SessionRuns, RefusesInputsThatHaveNoValues) {
  Session session(captured([](const Tensors& in) -> Tensors { return {in[0] * 2.0}; }, {2}), cpu());
  Device& meta = device("inner(meta)");
  EXPECT_THROW(session.run(Tensors{zeros(Dims{2}, DType::float32, &meta)}), Error);
  EXPECT_THROW(session.run(Tensors{numbers(cpu(), {3})}), ShapeError);
  EXPECT_THROW(session.run({}), ValueError);
}

TEST(SessionRuns, TakesLittleMoreMemoryThanItMust) {
  const auto f = [](const Tensors& in) -> Tensors {
    Tensor x = in[0];
    for (int i = 0; i < 12; ++i) x = cumsum(x, i % 2) * 0.5;
    return {x};
  };
  Session session(captured(f, {64, 64}), cpu());
  const Tensors in{numbers(cpu(), {64, 64})};
  const MemoryPlan& memory = session.prepared(in)->memory();
  EXPECT_EQ(memory.bytes, memory.least);
  EXPECT_LE(memory.bytes, 2 * 64 * 64 * 4);
}

TEST(SessionProfile, NamesEachStepAndTheMachineLimit) {
  const Tensor w = numbers(cpu(), {32, 32});
  Session session(captured([&](const Tensors& in) -> Tensors { return {relu(matmul(in[0], w)) + 1.0}; }, {8, 32}), cpu());
  const Tensors in{numbers(cpu(), {8, 32})};
  const Profile p = profile(session, in, 3);
  ASSERT_FALSE(p.steps.empty());
  EXPECT_EQ(p.steps[0].multiply_adds, 8 * 32 * 32);
  EXPECT_GT(p.seconds, 0);
  EXPECT_NE(to_text(p).find("linear"), std::string::npos);
  EXPECT_NE(chrome_trace(p).find("\"traceEvents\""), std::string::npos);
  EXPECT_NE(summary(session, in).find("lower bound"), std::string::npos);
  EXPECT_THROW(profile(session, in, 0), ValueError);
}

}  // namespace
}  // namespace pyburn::testing
