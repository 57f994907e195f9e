// The pool of claiming threads: every item once, exceptions, nesting, many callers.
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "pyburn/support/error.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn {
namespace {

class ThreadPool : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { set_num_threads(GetParam()); }
  void TearDown() override { set_num_threads(default_num_threads()); }

  // How often each of n items was visited.
  static std::vector<int> visits(int64_t n, int64_t grain) {
    std::vector<std::atomic<int>> count(static_cast<size_t>(n));
    parallel_for(n, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ++count[size_t(i)];
    });
    return {count.begin(), count.end()};
  }
};

TEST_P(ThreadPool, VisitsEveryItemOnce) {
  for (int64_t n : {1, 2, 63, 64, 65, 1000, 4097})
    for (int64_t grain : {1, 7, 64, 5000}) EXPECT_EQ(visits(n, grain), std::vector<int>(size_t(n), 1)) << n << " in " << grain;
}

TEST_P(ThreadPool, DoesNothingForNothing) {
  parallel_for(0, 1, [](int64_t, int64_t) { FAIL(); });
  parallel_for(-3, 1, [](int64_t, int64_t) { FAIL(); });
}

TEST_P(ThreadPool, CutsTheSameForAnyNumberOfThreads) {
  std::mutex mutex;
  std::vector<std::pair<int64_t, int64_t>> pieces;
  parallel_for(100, 30, [&](int64_t begin, int64_t end) {
    const std::lock_guard lock(mutex);
    pieces.emplace_back(begin, end);
  });
  std::sort(pieces.begin(), pieces.end());
  EXPECT_EQ(pieces, (std::vector<std::pair<int64_t, int64_t>>{{0, 30}, {30, 60}, {60, 90}, {90, 100}}));
}

TEST_P(ThreadPool, AnExceptionReachesTheCaller) {
  for (int repeat = 0; repeat < 50; ++repeat)
    EXPECT_THROW(parallel_for(1000, 1,
                     [](int64_t begin, int64_t) {
                       if (begin == 500) throw std::runtime_error("here");
                     }),
        std::runtime_error);
  EXPECT_EQ(visits(1000, 10), std::vector<int>(1000, 1));  // and the pool still works
}

TEST_P(ThreadPool, Nests) {
  std::atomic<int64_t> total{0};
  parallel_for(20, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) parallel_for(50, 3, [&](int64_t b, int64_t e) { total += e - b; });
  });
  EXPECT_EQ(total, 20 * 50);
}

TEST_P(ThreadPool, ManyCallers) {
  std::atomic<int64_t> total{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 8; ++c)
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 200; ++repeat) parallel_for(100, 5, [&](int64_t b, int64_t e) { total += e - b; });
    });
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(total, 8 * 200 * 100);
}

INSTANTIATE_TEST_SUITE_P(Threads, ThreadPool, ::testing::Values(1, 2, 3, 8));

TEST(NumThreads, IsChecked) {
  EXPECT_THROW(set_num_threads(0), ValueError);
  EXPECT_THROW(set_num_threads(-1), ValueError);
  EXPECT_THROW(set_num_threads(100000), ValueError);
  EXPECT_GE(default_num_threads(), 1);
}

}  // namespace
}  // namespace pyburn
