// Buffers in one arena: those that live at the same time never overlap, and little more is taken than must be.
#include <gtest/gtest.h>

#include "pyburn/graph/memory_plan.h"

namespace pyburn {
namespace {

void expect_valid(const std::vector<BufferLife>& buffers, const MemoryPlan& plan) {
  ASSERT_EQ(plan.offsets.size(), buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_EQ(plan.offsets[i] % MemoryPlan::kAlignment, 0);
    EXPECT_LE(plan.offsets[i] + buffers[i].bytes, plan.bytes);
    for (size_t j = 0; j < i; ++j) {
      if (buffers[i].last < buffers[j].first || buffers[j].last < buffers[i].first) continue;
      EXPECT_TRUE(plan.offsets[i] + buffers[i].bytes <= plan.offsets[j] || plan.offsets[j] + buffers[j].bytes <= plan.offsets[i])
          << i << " and " << j;
    }
  }
  EXPECT_GE(plan.bytes, plan.least);
}

TEST(MemoryPlan, BuffersThatFollowEachOtherShareMemory) {
  const std::vector<BufferLife> buffers{{640, 0, 1}, {640, 1, 2}, {640, 2, 3}, {640, 3, 4}};
  const MemoryPlan plan = plan_memory(buffers);
  expect_valid(buffers, plan);
  EXPECT_EQ(plan.bytes, 1280);
  EXPECT_EQ(plan.least, 1280);
}

TEST(MemoryPlan, NothingNeedsNothing) {
  EXPECT_EQ(plan_memory({}).bytes, 0);
  EXPECT_EQ(plan_memory({}).least, 0);
}

TEST(MemoryPlan, RandomBuffersNeverOverlap) {
  uint32_t state = 7;
  auto below = [&](uint32_t n) { return int32_t((state = state * 1664525u + 1013904223u) >> 8) % int32_t(n); };
  double waste = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<BufferLife> buffers;
    const int32_t steps = 1 + below(60);
    for (int32_t n = 1 + below(80); n > 0; --n) {
      const int32_t first = below(uint32_t(steps)), last = std::min(steps, first + below(8));
      buffers.push_back({below(5000), first, last});
    }
    const MemoryPlan plan = plan_memory(buffers);
    expect_valid(buffers, plan);
    waste += double(plan.bytes) / double(std::max<int64_t>(plan.least, 1));
  }
  EXPECT_LT(waste / 200, 1.15);  // on average
}

}  // namespace
}  // namespace pyburn
