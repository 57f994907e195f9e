// State of sessions: where writes go, and whose they are.
#include <thread>

#include "device_fixture.h"
#include "pyburn/inference/capture.h"
#include "pyburn/inference/session.h"

namespace pyburn::testing {
namespace {

constexpr int64_t kLength = 512, kWidth = 8;

// Appends a row to a cache, at a position that is a tensor, and adds up what is there.
Ref<Graph> appending(const Tensor& cache) {
  return capture(
      cpu(), {{{Shape{1, kWidth}, DType::float32}, "row"}, {{Shape{1}, DType::int64}, "position"}}, [&](const Tensors& in) -> Tensors {
        Tensor(cache).index_copy_(0, in[1], in[0]);
        return {sum(cache, Dims{0})};
      });
}

TensorHandle position(int64_t i) { return from_host(cpu(), {&i, {Shape{1}, DType::int64}}); }

int64_t bytes_of(const LoweredOperand& o) { return pyburn::bytes_of(o.dtype, o.layout.shape.numel()); }

// Appending to a cache moves the new bytes: the write has the state's own storage as its output, and nothing of the size of the cache is
// made or copied.
TEST(SessionState, AppendingMovesTheNewBytesOnly) {
  const DeviceScope scope(cpu());
  const Tensor cache = zeros(Dims{kLength, kWidth}, DType::float32, &cpu());
  Session session(appending(cache), cpu());
  const Tensors in{ones(Dims{1, kWidth}, DType::float32, &cpu()), position(3)};
  const std::shared_ptr<PreparedProgram> prepared = session.prepared(in);
  ASSERT_TRUE(prepared);
  const LoweredProgram& p = prepared->program();
  int64_t moved = 0, appends = 0;
  for (const LoweredNode& n : p.nodes)
    for (const LoweredOperand& out : n.out) {
      if (n.op.info().name() != "index_copy") {
        moved += bytes_of(out);
        continue;
      }
      ++appends;
      EXPECT_EQ(n.in[0].slot, out.slot);
      EXPECT_EQ(p.slots[size_t(out.slot)].role, LoweredSlot::Role::state);
      moved += bytes_of(n.in[2]);  // the kernel gets its target as its first input, and writes the new rows into it
    }
  EXPECT_EQ(appends, 1);
  EXPECT_LE(moved, int64_t(sizeof(float)) * kWidth * 4);
  EXPECT_LE(prepared->memory().bytes, 4096);  // the cache has 16 KiB
}

TEST(SessionState, ContextsDoNotShareIt) {
  const DeviceScope scope(cpu());
  const Tensor cache = zeros(Dims{kLength, kWidth}, DType::float32, &cpu());
  Session session(appending(cache), cpu());
  EXPECT_TRUE(session.has_state());
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 1; t <= 4; ++t)
    threads.emplace_back([&, t] {
      const std::unique_ptr<SessionContext> context = session.new_context();
      for (int round = 0; round < 2; ++round) {
        for (int64_t i = 0; i < 50; ++i) {
          const Tensors in{full(Dims{1, kWidth}, double(t), DType::float32, &cpu()), position(i)};
          wrong += values(context->run(in)[0])[0] != float(t * (i + 1));
        }
        context->reset();
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(values(sum(cache))[0], 0.0f);  // the owner's stays
  const Tensors in{ones(Dims{1, kWidth}, DType::float32, &cpu()), position(0)};
  EXPECT_EQ(values(session.run(in)[0])[0], 1.0f);
  EXPECT_EQ(values(session.run(in)[0])[0], 1.0f);  // at the same place
}

TEST(SessionState, WhatIsGivenOutDoesNotChangeLater) {
  const DeviceScope scope(cpu());
  const Tensor count = zeros(Dims{2}, DType::float32, &cpu());
  for (bool counts : {false, true}) {  // the second is several programs
    Session session(capture(cpu(), {{{Shape{2}, DType::float32}, "x"}},
                        [&](const Tensors& in) -> Tensors {
                          Tensor(count).add_(in[0]);
                          if (!counts) return {count};
                          return {count, nonzero(count)};
                        }),
        cpu());
    const Tensors in{ones(Dims{2}, DType::float32, &cpu())};
    const Tensor first = session.run(in)[0], second = session.run(in)[0];
    EXPECT_EQ(values(first), (std::vector<float>{1, 1}));
    EXPECT_EQ(values(second), (std::vector<float>{2, 2}));
  }
}

}  // namespace
}  // namespace pyburn::testing
