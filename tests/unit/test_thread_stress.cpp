// Several threads use everything that threads share, at once, and every result is compared with the one of a single thread. `make tsan`
// runs it under ThreadSanitizer.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

#include "device_fixture.h"
#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/decorators/fusion/fusion.h"
#include "pyburn/inference/capture.h"
#include "pyburn/inference/session.h"
#include "pyburn/nn/nn.h"
#include "pyburn/optim/optimizer.h"
#include "pyburn/runtime/generator.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn::testing {
namespace {

constexpr int kThreads = 8, kRounds = 12;

// Calls work(thread, round) on all threads; the first exception is a failure.
void on_threads(const std::function<void(int, int)>& work, int count = kThreads, int rounds = kRounds) {
  std::vector<std::thread> threads;
  std::atomic<bool> go{false};
  for (int t = 0; t < count; ++t)
    threads.emplace_back([&, t] {
      while (!go) std::this_thread::yield();
      try {
        for (int round = 0; round < rounds; ++round) work(t, round);
      } catch (const std::exception& e) {
        ADD_FAILURE() << "thread " << t << ": " << e.what();
      }
    });
  go = true;
  for (std::thread& t : threads) t.join();
}

Tensor chain(const TensorHandle& x) { return tanh(x * 2.0 + 1.0) * x - 0.5; }

class ThreadStress : public ::testing::Test {
 protected:
  void SetUp() override { set_num_threads(4); }
  void TearDown() override { set_num_threads(default_num_threads()); }
  static Device& started() { return start(), device("cpu"); }
  Device& autodiff = started();
};

TEST_F(ThreadStress, FusionOfSharedTensors) {
  Device& fusion = device("inner(fusion(cpu))");
  for (int64_t size : {100, 20000}) {  // below and above what is queued
    const Tensor here = numbers(cpu(), {size}), shared = numbers(fusion, {size});
    const std::vector<float> expected = values(chain(here));
    on_threads([&](int, int) { EXPECT_EQ(values(chain(shared)), expected); });
  }
}

TEST_F(ThreadStress, FusionOfSharedResultsThatWait) {  // several threads ask for what is in the queue
  Device& fusion = device("inner(fusion(cpu))");
  const std::vector<float> expected = values(chain(numbers(cpu(), {20000})));
  for (int round = 0; round < kRounds; ++round) {
    const Tensor waiting = chain(numbers(fusion, {20000}));
    on_threads([&](int, int) { EXPECT_EQ(values(waiting), expected); }, 4, 1);
  }
}

TEST_F(ThreadStress, MemoryThatNobodyWroteIsAllocatedOnce) {
  Device& fusion = device("inner(fusion(cpu))");
  for (int round = 0; round < 5 * kRounds; ++round) {
    const DeviceScope scope(fusion);
    const Tensor unwritten = empty(Dims{100});
    on_threads([&](int, int) { EXPECT_EQ((unwritten * 0.0).numel(), 100); }, 4, 1);
  }
}

TEST_F(ThreadStress, GradientsOfSharedLeaves) {
  const Tensor weight = numbers(autodiff, {32, 32}), x = numbers(autodiff, {8, 32}, 2);
  autograd::set_requires_grad(weight, true);
  const auto gradient = [&] {
    const Grads g = autograd::grad({sum(chain(matmul(x, weight)))}, {weight}, {}, false, false, false);
    return values(g[0]);
  };
  const std::vector<float> expected = gradient();
  on_threads([&](int, int) { EXPECT_EQ(gradient(), expected); });
}

TEST_F(ThreadStress, BackwardPassesIntoOneLeafAddUp) {
  const Tensor weight = numbers(autodiff, {64});
  autograd::set_requires_grad(weight, true);
  on_threads([&](int, int) { autograd::backward(sum(weight * 2.0)); });
  for (float g : values(autograd::grad_of(weight))) ASSERT_EQ(g, 2.0f * kThreads * kRounds);
}

TEST_F(ThreadStress, ModelsShareWeightsAndWhatIsDerivedFromThem) {
  const auto model = nn::sequential(make_ref<nn::Conv2d>(nn::ConvConfig<2>{.in_channels = 8, .out_channels = 16, .kernel_size = {3}}),
      make_ref<nn::ReLU>(), make_ref<nn::Flatten>(), make_ref<nn::Linear>(16 * 6 * 6, 10));
  const Tensor x = numbers(autodiff, {2, 8, 8, 8});
  const std::vector<float> expected = values((*model)(x));
  on_threads([&](int, int) { EXPECT_EQ(values((*model)(x)), expected); });
}

TEST_F(ThreadStress, EachThreadTrainsAModel) {
  const auto train = [&] {
    const Ref<Generator> mine = make_ref<Generator>(7), before = use_generator(mine);
    const auto model = nn::sequential(make_ref<nn::Linear>(16, 16), make_ref<nn::Tanh>(), make_ref<nn::Linear>(16, 1));
    optim::Adam adam(model->parameters(), {.lr = 0.01});
    const Tensor x = randn(Dims{32, 16}), y = randn(Dims{32, 1});
    for (int step = 0; step < 3; ++step) {
      adam.zero_grad();
      const Tensor d = (*model)(x)-y;
      autograd::backward(sum(d * d));
      adam.step();
    }
    use_generator(before);
    return values((*model)(x));
  };
  const std::vector<float> expected = train();
  on_threads([&](int, int) { EXPECT_EQ(train(), expected); }, 4, 4);
}

TEST_F(ThreadStress, SessionsAndCaptures) {
  const Tensor weight = numbers(cpu(), {8, 8});
  const auto f = [&](const Tensors& in) -> Tensors { return {chain(matmul(in[0], weight))}; };
  const auto captured = [&] { return capture(cpu(), {{{Shape{-1, 8}, DType::float32}, "x"}}, f); };
  Session shared(captured(), cpu());
  std::vector<std::vector<float>> expected;
  for (int n = 1; n <= 12; ++n) expected.push_back(values(f({numbers(cpu(), {n, 8})})[0]));  // more sizes than a session remembers
  on_threads([&](int thread, int round) {
    const int n = 1 + (thread + round) % 12;
    const Tensors in{numbers(cpu(), {n, 8})};
    EXPECT_EQ(values(shared.run(in)[0]), expected[size_t(n - 1)]);
    if (round % 4 == 0) EXPECT_EQ(values(Session(captured(), cpu()).run(in)[0]), expected[size_t(n - 1)]);
  });
}

TEST_F(ThreadStress, DevicesAreMadeOnce) {
  const char* names[] = {"fusion(trace(cpu))", "trace(fusion(cpu))", "router(trace(cpu), cpu)", "fusion(router(cpu, trace(cpu)))"};
  std::atomic<Device*> made[std::size(names)] = {};
  on_threads([&](int thread, int round) {
    const size_t which = size_t(thread + round) % std::size(names);
    Device& d = device(names[which]);
    Device* first = nullptr;
    if (!made[which].compare_exchange_strong(first, &d)) EXPECT_EQ(first, &d);
    EXPECT_EQ(values(numbers(d, {3}) * 2.0).size(), 3u);
    EXPECT_THROW(device("fusion(no_such_backend)"), DeviceError);
  });
}

TEST_F(ThreadStress, AGeneratorGivesEachNumberOnce) {
  Generator shared(3);
  on_threads([&](int, int) { shared.reserve(4); });
  EXPECT_EQ(shared.state().offset, uint64_t(kThreads * kRounds));
}

TEST_F(ThreadStress, TensorsDieOnOtherThreads) {
  std::mutex mutex;
  std::vector<Tensor> left;
  on_threads([&](int thread, int round) {
    for (int64_t size : {3, 500, 5000, 600000}) {
      const Tensor leaf = full(Dims{size}, thread + round, DType::float32);
      autograd::set_requires_grad(leaf, true);
      const Tensor y = chain(leaf);  // with its history
      std::vector<Tensor> dead;
      const std::lock_guard lock(mutex);
      left.push_back(y);
      if (left.size() > 20) dead.swap(left);
    }
  });
  left.clear();
  EXPECT_GE(cpu().backend().memory().in_use, 0);
}

TEST_F(ThreadStress, TheNumberOfThreadsChangesMeanwhile) {
  const Tensor x = numbers(cpu(), {300, 301});
  const std::vector<float> expected = values(matmul(transpose(x, 0, 1), x)), sums = values(sum(x, Dims{0}));
  on_threads(
      [&](int thread, int round) {
        set_num_threads(1 + (thread + round) % 5);
        EXPECT_EQ(values(matmul(transpose(x, 0, 1), x)), expected);
        EXPECT_EQ(values(sum(x, Dims{0})), sums);
      },
      4);
}

#if defined(__SANITIZE_THREAD__)
// A child of a process with threads may make none under ThreadSanitizer.
#else
TEST_F(ThreadStress, ChildrenForkedMeanwhileCompute) {
  Device& fusion = device("inner(fusion(cpu))");
  const Tensor shared = numbers(fusion, {20000});
  const std::vector<float> expected = values(chain(shared));
  std::atomic<bool> stop{false};
  std::vector<std::thread> busy;
  for (int t = 0; t < 3; ++t)
    busy.emplace_back([&] {
      while (!stop) {
        values(chain(shared));
        default_generator().reserve(1);
        make_ref<Generator>(1)->reserve(1);
      }
    });
  for (int i = 0; i < 40; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);  // a lock that nobody gives back
      const bool right = values(chain(shared)) == expected && values(chain(numbers(device("fusion(trace(cpu))"), {20000}))) == expected;
      default_generator().reserve(1);
      _exit(right ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << "child " << i;
    if (status != 0) break;
  }
  stop = true;
  for (std::thread& t : busy) t.join();
}

TEST_F(ThreadStress, AForkInsideACriticalSectionGoesOnBothSides) {
  ForkSafeMutex mine;
  mine.lock();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    mine.unlock();
    _exit(mine.try_lock() ? 0 : 1);
  }
  mine.unlock();
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(mine.try_lock());
  mine.unlock();
}
#endif

}  // namespace
}  // namespace pyburn::testing
