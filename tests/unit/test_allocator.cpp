// Host memory: aligned, cached, counted, refused when there is not enough.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "pyburn/runtime/allocator.h"
#include "pyburn/support/error.h"

namespace pyburn {
namespace {

constexpr int64_t kMegabyte = 1 << 20;

TEST(Allocator, BlocksAreAlignedAndUsable) {
  for (int64_t bytes : {int64_t(0), int64_t(1), int64_t(64), int64_t(65), int64_t(4096), int64_t(4097), 100000 * int64_t(7), 2 * kMegabyte,
           5 * kMegabyte + 1}) {
    void* p = host_allocate(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % 64, 0u) << bytes;
    std::memset(p, 0xab, size_t(bytes));
    host_free(p, bytes);
  }
}

TEST(Allocator, GivesFreedBlocksOutAgain) {
  for (int64_t bytes : {int64_t(100), int64_t(10000), 3 * kMegabyte}) {
    void* first = host_allocate(bytes);
    host_free(first, bytes);
    void* second = host_allocate(bytes);
    EXPECT_EQ(first, second) << bytes;
    host_free(second, bytes);
  }
}

TEST(Allocator, Counts) {
  const MemoryStatistics before = host_memory();
  void* p = host_allocate(8 * kMegabyte);
  const MemoryStatistics during = host_memory();
  EXPECT_EQ(during.in_use - before.in_use, 8 * kMegabyte);
  EXPECT_GE(during.peak, during.in_use);
  EXPECT_GE(during.reserved, during.in_use);
  host_free(p, 8 * kMegabyte);
  EXPECT_EQ(host_memory().in_use, before.in_use);
  EXPECT_GE(host_memory().reserved, 8 * kMegabyte);  // kept for the next one
  EXPECT_EQ(host_memory().peak, during.peak);
}

TEST(Allocator, TheCacheCanBeEmptied) {
  for (int64_t bytes : {int64_t(100), int64_t(10000), 3 * kMegabyte}) host_free(host_allocate(bytes), bytes);
  empty_host_cache();
  const MemoryStatistics m = host_memory();
  EXPECT_LE(m.reserved - m.in_use, kMegabyte);  // blocks of other threads stay
}

TEST(Allocator, RefusesWhatTheMachineDoesNotHave) {
  EXPECT_THROW(host_allocate(int64_t(1) << 50), OutOfMemoryError);
  EXPECT_THROW(host_allocate(std::numeric_limits<int64_t>::max()), OutOfMemoryError);
  host_free(host_allocate(1000), 1000);
}

TEST(Allocator, BlocksTravelBetweenThreads) {
  const int64_t before = host_memory().in_use;
  std::vector<void*> blocks(64);
  std::thread([&] {
    for (void*& p : blocks) p = host_allocate(512);
  }).join();
  for (void* p : blocks) host_free(p, 512);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([t] {
      for (int i = 0; i < 500; ++i) {
        const int64_t bytes = 1 + (i * 131 + t * 977) % 20000;
        auto* p = static_cast<unsigned char*>(host_allocate(bytes));
        std::memset(p, t, size_t(bytes));
        ASSERT_EQ(p[bytes - 1], t);
        host_free(p, bytes);
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(host_memory().in_use, before);
}

}  // namespace
}  // namespace pyburn
