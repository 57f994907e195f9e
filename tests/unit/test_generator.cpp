// Random numbers: the known answers of Random123, and streams that do not depend on how they are drawn.
#include <gtest/gtest.h>

#include <thread>

#include "device_fixture.h"
#include "pyburn/ops/functions.h"
#include "pyburn/runtime/generator.h"
#include "pyburn/start.h"
#include "pyburn/support/error.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn {
namespace {

using pyburn::testing::values;

class GeneratorTest : public ::testing::Test {
 protected:
  static Device& started() { return start(), device("cpu"); }
  const DeviceScope scope{started()};
};

TEST(Philox, KnownAnswers) { EXPECT_EQ(philox(0, 0), (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8})); }

TEST(Philox, BlocksDiffer) {
  EXPECT_NE(philox(0, 0), philox(0, 1));
  EXPECT_NE(philox(0, 0), philox(1, 0));
  EXPECT_NE(philox(0, 0), philox(0, uint64_t(1) << 32));
  EXPECT_NE(philox(0, 0), philox(uint64_t(1) << 32, 0));
}

TEST(Generator, ReservesWholeBlocks) {
  Generator g(5);
  EXPECT_EQ(g.reserve(1).offset, 0u);
  EXPECT_EQ(g.reserve(4).offset, 1u);
  EXPECT_EQ(g.reserve(5).offset, 2u);
  EXPECT_EQ(g.reserve(0).offset, 4u);
  EXPECT_EQ(g.state().offset, 4u);
  EXPECT_EQ(g.state().seed, 5u);
}

TEST_F(GeneratorTest, StateIsSavedAndRestored) {
  Generator g(3);
  rand(Dims{7}, {}, nullptr, &g);
  const RandomState saved = g.state();
  const auto first = values(randn(Dims{100}, {}, nullptr, &g));
  g.set_state(saved);
  EXPECT_EQ(values(randn(Dims{100}, {}, nullptr, &g)), first);
  g.manual_seed(4);
  EXPECT_NE(values(randn(Dims{100}, {}, nullptr, &g)), first);
}

TEST_F(GeneratorTest, AThreadUsesAGeneratorOfItsOwnForAWhile) {
  const RandomState before = default_generator().state();
  Ref<Generator> mine = make_ref<Generator>(5);
  EXPECT_FALSE(use_generator(mine));
  EXPECT_EQ(&default_generator(), mine.get());
  const auto drawn = values(rand(Dims{3}));
  RandomState elsewhere{};
  std::thread([&] { elsewhere = default_generator().state(); }).join();
  EXPECT_EQ(elsewhere.seed, before.seed);
  EXPECT_EQ(use_generator(nullptr).get(), mine.get());
  EXPECT_EQ(default_generator().state().offset, before.offset);
  Generator again(5);
  EXPECT_EQ(values(rand(Dims{3}, {}, nullptr, &again)), drawn);
}

TEST_F(GeneratorTest, NumbersDoNotDependOnThreads) {
  const int before = num_threads();
  std::vector<std::vector<float>> drawn;
  for (int threads : {1, 2, 3}) {
    set_num_threads(threads);
    Generator g(9);
    drawn.push_back(values(randn(Dims{100003}, {}, nullptr, &g)));
  }
  set_num_threads(before);
  EXPECT_EQ(drawn[0], drawn[1]);
  EXPECT_EQ(drawn[0], drawn[2]);
}

TEST_F(GeneratorTest, UniformNumbersStayInTheirRange) {
  Generator g(1);
  double total = 0;
  for (float v : values(uniform_(empty(Dims{10000}), -2, 3, &g))) {
    ASSERT_GE(v, -2);
    ASSERT_LT(v, 3);
    total += v;
  }
  EXPECT_NEAR(total / 10000, 0.5, 0.05);
  EXPECT_THROW(uniform_(empty(Dims{3}), 2, 1, &g), ValueError);
}

TEST_F(GeneratorTest, NormalNumbersHaveTheirMoments) {
  Generator g(1);
  double sum = 0, squares = 0;
  for (float v : values(randn(Dims{40000}, {}, nullptr, &g))) sum += v, squares += double(v) * v;
  EXPECT_NEAR(sum / 40000, 0, 0.02);
  EXPECT_NEAR(squares / 40000, 1, 0.03);
}

TEST_F(GeneratorTest, BernoulliAndIntegers) {
  Generator g(1);
  double ones_drawn = 0;
  for (float v : values(bernoulli_(empty(Dims{10000}), 0.25, &g))) ones_drawn += v;
  EXPECT_NEAR(ones_drawn / 10000, 0.25, 0.02);
  std::vector<int> seen(5);
  for (int64_t v : values<int64_t>(randint(-2, 3, Dims{5000}, {}, nullptr, &g))) ++seen.at(size_t(v + 2));
  for (int n : seen) EXPECT_NEAR(n, 1000, 150);
  EXPECT_THROW(randint(3, 3, Dims{2}, {}, nullptr, &g), ValueError);
}

}  // namespace
}  // namespace pyburn
