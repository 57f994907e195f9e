// The fusion decorator gives the values of the backend inside, with fewer kernels and less memory.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <thread>

#include "fusion_fixture.h"
#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/ops/copy.h"
#include "pyburn/ops/fused.h"
#include "pyburn/start.h"
#include "pyburn/support/fault.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn {
namespace {

Tensor chain(const TensorHandle& x, const TensorHandle& y) { return relu(tanh(exp(x * y + 0.5) * -0.1 + x) * y) - 1.5; }

TEST(Fusion, ChainIsOneKernel) {
  const FusionDevice f(Fusion::kSmallLimit);
  const auto a = numbers(10000), b = numbers(10000, 2);
  const Tensor x = upload(*f.device, {100, 100}, a), y = upload(*f.device, {100, 100}, b);
  f.fusion->flush();
  f.fusion->reset_statistics();
  const Tensor z = chain(x, y);
  EXPECT_EQ(f.fusion->statistics().kernels, 0);
  f.fusion->flush();
  EXPECT_EQ(f.fusion->statistics().kernels, 1);
  EXPECT_EQ(f.fusion->statistics().fused_kernels, 1);
  EXPECT_EQ(f.fusion->statistics().fused_nodes, 9);
  expect_same(download(z), download(chain(upload(plain(), {100, 100}, a), upload(plain(), {100, 100}, b))));
}

TEST(Fusion, ReductionEndsTheKernel) {
  const FusionDevice f(0);
  for (const auto& [shape, dim] :
      {std::pair<Shape, OptionalDims>{{50, 300}, Dims{1}}, {{50, 300}, {}}, {{6, 50, 7}, Dims{1, 2}}, {{3, 100000}, Dims{1}}}) {
    const auto a = numbers(shape.numel());
    for (auto reduce : {+[](const TensorHandle&x, const OptionalDims&d) { return sum(x, d); },
             +[](const TensorHandle&x, const OptionalDims&d) { return mean(x, d, true); },
             +[](const TensorHandle&x, const OptionalDims&d) { return amax(x, d, true); },
             +[](const TensorHandle&x, const OptionalDims&d) { return amin(x, d); }}) {
      const Tensor x = upload(*f.device, shape, a);
      f.fusion->flush();
      f.fusion->reset_statistics();
      const Tensor y = reduce(exp(x * 0.5) - 1, dim);
      f.fusion->flush();
      EXPECT_EQ(f.fusion->statistics().kernels, 1);
      expect_same(download(y), download(reduce(exp(upload(plain(), shape, a) * 0.5) - 1, dim)));
    }
  }
}

TEST(Fusion, ReductionDoesNotDependOnThreads) {
  const FusionDevice f(0);
  const Tensor x = upload(*f.device, {1000003}, numbers(1000003), DType::float64);
  const int before = num_threads();
  std::vector<double> results;
  for (int n : {1, 2, 4}) {
    set_num_threads(n);
    results.push_back(download(sum(exp(x) * 1.1))[0]);
  }
  set_num_threads(before);
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(Fusion, DTypesRoundAsWithoutFusion) {
  for (DType t : {DType::float64, DType::float32, DType::float16, DType::bfloat16, DType::int8, DType::int16, DType::int32, DType::int64,
           DType::uint8, DType::uint16, DType::uint32, DType::uint64, DType::boolean}) {
    auto program = [&](Device& d) {
      const Tensor x = upload(d, {7, 90}, numbers(630), t), y = upload(d, {7, 90}, numbers(630, 3), t);
      const Tensor z = (x + y) * x + y;
      const Tensor hit = gt(z, x);
      const Tensor mixed = where(hit, z, y) + cast(hit, DType::float32) * 1.7;
      const Tensor narrowed = cast(mixed * 100, DType::int8) + cast(z, DType::uint8);
      std::vector<double> all;
      for (const Tensor& r : {z, hit, mixed, narrowed, sum(mixed, Dims{1}), amax(z, Dims{1})})
        for (double v : download(r)) all.push_back(v);
      return all;
    };
    expect_same(program(*FusionDevice(0).device), program(plain()), to_text(t));
  }
}

TEST(Fusion, BroadcastsViewsAndStridedOutputs) {
  auto program = [](Device& d) {
    const Tensor x = upload(d, {40, 30}, numbers(1200)), row = upload(d, {30}, numbers(30, 2)), column = upload(d, {40, 1}, numbers(40, 3)),
                 one = upload(d, {}, {0.25}), out = upload(d, {80, 30}, numbers(2400, 4));
    const Tensor centred = (x - mean(x, Dims{1}, true)) * row + column * one;
    add_into(slice(out, 0, 1, 80, 2), tanh(centred), x);
    const Tensor turned = sigmoid(transpose(x, 0, 1) * 2) + unsqueeze(row, 1);
    std::vector<double> all;
    for (const Tensor& r : {centred, out, turned, Tensor(slice(turned, 1, 3, 30, 4)) * one})
      for (double v : download(r)) all.push_back(v);
    return all;
  };
  expect_same(program(*FusionDevice(0).device), program(plain()));
}

TEST(Fusion, DeadTemporariesAreNotStored) {
  const FusionDevice f(Fusion::kSmallLimit);
  const int64_t n = 1 << 20, bytes = n * 4;
  const Tensor x = upload(*f.device, {n}, numbers(n));
  f.fusion->flush();
  const int64_t before = f.fusion->memory().in_use;
  const Tensor y = chain(x, x);
  EXPECT_EQ(f.fusion->memory().in_use, before);  // nothing has run
  f.fusion->flush();
  EXPECT_EQ(f.fusion->memory().in_use, before + bytes);
  f.fusion->reset_statistics();
  { const Tensor nobody = chain(x, x); }
  f.fusion->flush();
  EXPECT_EQ(f.fusion->statistics().kernels, 0);
  const Tensor total = sum(chain(x, x));
  f.fusion->flush();
  EXPECT_LT(f.fusion->memory().in_use, before + bytes + 4096);
}

TEST(Fusion, SmallOperationsPassAndLargeQueuesRun) {
  const FusionDevice f(Fusion::kSmallLimit);
  const Tensor small = upload(*f.device, {8}, numbers(8));
  f.fusion->reset_statistics();
  download(small + 1);
  EXPECT_EQ(f.fusion->statistics().queued, 0);
  Tensor x = upload(*f.device, {10000}, numbers(10000));
  for (int i = 0; i < 300; ++i) x = x + 1;
  EXPECT_GE(f.fusion->statistics().flushes, 2);  // by length
  f.fusion->flush();
  f.fusion->reset_statistics();
  std::vector<Tensor> results;
  for (int i = 0; i < 6; ++i) {  // each leaves 16 MB that only the queue holds
    const Tensor big = full(Dims{4 << 20}, 1.0, DType::float32, f.device);
    results.push_back(big + 1);
  }
  EXPECT_GE(f.fusion->statistics().flushes, 1);
}

TEST(Fusion, PlansAreFoundAgainForOtherSizesAndNumbers) {
  const FusionDevice f(0);
  for (int64_t n : {10, 20, 5000}) {
    const Tensor x = upload(*f.device, {n}, numbers(n));
    f.fusion->flush();
    const Tensor y = exp(x * double(n)) + 1;
    f.fusion->flush();
  }
  const FusionStatistics s = f.fusion->statistics();
  EXPECT_EQ(s.plans_made, 2);
  EXPECT_EQ(s.plans_found, 4);
}

TEST(Fusion, WritesThroughOverlappingViews) {
  auto program = [](Device& d) {
    const Tensor base = upload(d, {12}, numbers(12));
    const Tensor low = slice(base, 0, 0, 8, 1), high = slice(base, 0, 4, 12, 1);
    const Tensor before = high * 1;
    mul_into(low, low, 2.0);
    const Tensor between = high + 1;
    add_into(high, high, low);
    sub_into(low, low, before);
    const Tensor after = base * 1;
    std::vector<double> all;
    for (const Tensor& r : {before, between, after, Tensor(low), Tensor(high)})
      for (double v : download(r)) all.push_back(v);
    return all;
  };
  const auto expected = program(plain());
  expect_same(program(*FusionDevice(0).device), expected);
  planted_fault = Fault::missing_flush;
  const auto wrong = program(*FusionDevice(0).device);
  planted_fault = Fault::none;
  EXPECT_NE(wrong, expected);
}

TEST(Fusion, OldValuesOfAWrittenTensor) {
  auto program = [](Device& d) {
    const Tensor x = upload(d, {600}, numbers(600)), y = upload(d, {600}, numbers(600, 2));
    download(x), download(y);
    const Tensor old = clone(x);
    copy_into(x, y);
    copy_into(y, old);
    const Tensor copy = clone(y);
    neg_into(y, y);
    const Tensor total = sum(copy);
    std::vector<double> all;
    for (const Tensor& r : {x, y, total})
      for (double v : download(r)) all.push_back(v);
    return all;
  };
  expect_same(program(*FusionDevice(0).device), program(plain()));
}

// Programs of random operations on tensors that alias each other; both devices get the same ones.
class RandomProgram {
 public:
  RandomProgram(Device& device, uint32_t seed, int64_t scale = 1) : device_(device), random_(seed), rows_(6 * scale), columns_(8 * scale) {
    for (const Shape& s : {Shape{rows_, columns_}, Shape{columns_}, Shape{rows_, 1}, Shape{columns_, rows_}, Shape{600 * scale}})
      add(upload(device_, s, numbers(s.numel(), random_()), float_type()));
    add(matrix(DType::int32));
    add(matrix(DType::boolean));
  }

  std::vector<double> run(int steps) {
    for (int i = 0; i < steps; ++i) step();
    std::vector<double> all;
    for (const Tensor& t : tensors_)
      for (double v : download(t)) all.push_back(v);
    return all;
  }

 private:
  int below(int n) { return int(random_() % uint32_t(std::max(n, 1))); }
  Tensor matrix(DType dtype) { return upload(device_, {rows_, columns_}, numbers(rows_ * columns_, random_()), dtype); }
  DType float_type() {
    return std::array{DType::float32, DType::float32, DType::float64, DType::float16, DType::bfloat16}[size_t(below(5))];
  }
  const Tensor& any() { return tensors_[size_t(below(int(tensors_.size())))]; }
  void add(Tensor t) {
    tensors_.push_back(std::move(t));
    if (tensors_.size() > 14) tensors_.erase(tensors_.begin() + below(int(tensors_.size())));
  }
  // An operand that broadcasts with x.
  Tensor partner(const Tensor& x) {
    for (int i = 0; i < 10; ++i) {
      const Tensor y = any();
      const Shape &a = x.shape(), &b = y.shape();
      bool fits = b.rank() <= a.rank();
      for (int k = 1; fits && k <= b.rank(); ++k) fits = b[b.rank() - k] == 1 || b[b.rank() - k] == a[a.rank() - k];
      if (fits) return y;
    }
    return x;
  }
  static Tensor tame(const Tensor& x) { return is_floating(x.dtype()) ? tanh(x) : x; }

  void step() {
    const Tensor x = any();
    try {
      switch (below(12)) {
        case 0:
          return add(unary(x));
        case 1:
        case 2:
          return add(binary(x, partner(x)));
        case 3:
          return add(cast(x, std::array{float_type(), DType::int32, DType::int8, DType::boolean, x.dtype()}[size_t(below(5))]));
        case 4:
          return add(where(gt(x, 0), x, partner(x)));
        case 5:
        case 6:
          return add(view(x));
        case 7:
        case 8:
        case 9:
          return write(x);
        case 10:
          return add(reduction(x));
        default:
          if (below(2)) download(x);
          else tensors_.erase(tensors_.begin() + below(int(tensors_.size())));
          if (tensors_.size() < 5) add(matrix(DType::float32));
      }
    } catch (const Error&) {  // an operation that is not defined for these operands raises the same on both devices
    }
  }
  Tensor unary(const Tensor& x) {
    switch (below(5)) {
      case 0:
        return neg(x);
      case 1:
        return abs(x);
      case 2:
        return sigmoid(x);
      case 3:
        return relu(x);
      default:
        return tame(x) * 1.5;
    }
  }
  Tensor binary(const Tensor& x, const Tensor& y) {
    switch (below(6)) {
      case 0:
        return x + y;
      case 1:
        return x - y;
      case 2:
        return tame(x) * y;
      case 3:
        return maximum(x, y);
      case 4:
        return le(x, y);
      default:
        return add_scaled(x, y);
    }
  }
  static Tensor add_scaled(const Tensor& x, const Tensor& y) { return pyburn::add(x, y, 2); }
  Tensor view(const Tensor& x) {
    const int64_t dim = x.rank() ? below(x.rank()) : 0, n = x.rank() ? x.shape()[dim] : 0;
    switch (below(6)) {
      case 0:
        return x.rank() >= 2 ? transpose(x, 0, 1) : x;
      case 1:
      case 2: {
        const int64_t start = below(int(n));
        return slice(x, dim, start, std::min<int64_t>(n, start + 1 + below(int(n))), 1 + below(2));
      }
      case 3:
        return select(x, dim, below(int(n)));
      case 4:
        return reshape(x, Dims{-1});
      default:
        return unsqueeze(x, below(x.rank() + 1));
    }
  }
  void write(const Tensor& x) {
    const Tensor y = partner(x);
    switch (below(6)) {
      case 0:
        return add_into(x, x, y);
      case 1:
        return mul_into(x, tame(x), 0.75);
      case 2:
        return copy_into(x, y);
      case 3:
        return sub_into(x, y, x);
      case 4:
        return maximum_into(x, x, y);
      default:
        return neg_into(x, x);
    }
  }
  Tensor reduction(const Tensor& x) {
    const Dims dim = x.rank() ? Dims{below(x.rank())} : Dims{};
    const bool keep = below(2);
    switch (below(4)) {
      case 0:
        return sum(tame(x), dim, keep);
      case 1:
        return mean(x * 0.5, dim, keep);
      case 2:
        return amax(x, dim, keep);
      default:
        return amin(tame(x), OptionalDims{}, keep);
    }
  }

  Device& device_;
  std::mt19937 random_;
  int64_t rows_, columns_;
  std::vector<Tensor> tensors_;
};

TEST(Fusion, RandomProgramsAgree) {
  const FusionDevice always(0), usual(Fusion::kSmallLimit), some(20);
  for (uint32_t seed = 0; seed < 1500; ++seed) {
    const auto expected = RandomProgram(plain(), seed).run(60);
    for (const FusionDevice* f : {&always, &usual, &some})
      expect_same(RandomProgram(*f->device, seed).run(60), expected,
          "seed " + std::to_string(seed) + ", limit " + std::to_string(f->fusion->small_limit()));
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(always.fusion->statistics().fused_kernels, 1000);
  EXPECT_GT(always.fusion->statistics().plans_found, 10);
}

TEST(Fusion, RandomProgramsOnLargeTensorsAgree) {
  const FusionDevice f(Fusion::kSmallLimit);
  for (uint32_t seed = 0; seed < 40; ++seed)
    expect_same(RandomProgram(*f.device, seed, 30).run(60), RandomProgram(plain(), seed, 30).run(60), "seed " + std::to_string(seed));
}

TEST(Fusion, RandomProgramsFindThePlantedFault) {
  planted_fault = Fault::missing_flush;
  int wrong = 0;
  for (uint32_t seed = 0; seed < 100; ++seed) {
    const FusionDevice f(0);
    wrong += RandomProgram(*f.device, seed).run(60) != RandomProgram(plain(), seed).run(60);
  }
  planted_fault = Fault::none;
  EXPECT_GT(wrong, 0);
}

TEST(Fusion, ThreadsShareADevice) {
  for (int64_t limit : {int64_t(0), int64_t(100)}) {
    const FusionDevice f(limit);
    const Tensor shared = upload(*f.device, {64}, numbers(64));
    std::vector<std::vector<double>> results(8);
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t < 8; ++t)
      threads.emplace_back([&, t] {
        for (int round = 0; round < 20; ++round) {
          results[t] = RandomProgram(*f.device, t).run(40);
          const Tensor mine = shared * double(t) + shared;
          for (double v : download(mine)) results[t].push_back(v);
        }
      });
    for (std::thread& t : threads) t.join();
    for (uint32_t t = 0; t < 8; ++t) {
      auto expected = RandomProgram(plain(), t).run(40);
      const Tensor s = upload(plain(), {64}, numbers(64));
      for (double v : download(s * double(t) + s)) expected.push_back(v);
      expect_same(results[t], expected);
    }
  }
}

// Behaves like the CPU, except that `log` fails.
class Failing final : public Backend {
 public:
  explicit Failing(bool fuses) : fuses_(fuses) {}
  void execute(OpRef op, Inputs in, Outputs out) override {
    require<OutOfMemoryError>(op.info->name() != "log", "there is no room: got {}", out[0].shape());
    if (op.info == &op::fused)
      for (const GraphNode& n : op.as<Fused>().body->nodes)
        require<OutOfMemoryError>(n.op.info().name() != "log", "there is no room in the kernel");
    cpu::cpu_backend().execute(op, in, out);
  }
  KernelSupport support(const OpInfo& op, DType key) const override {
    return &op == &op::fused && !fuses_ ? KernelSupport::none : cpu::cpu_backend().support(op, key);
  }
  Ref<Storage> allocate(DType dtype, int64_t elements) override { return cpu::cpu_backend().allocate(dtype, elements); }
  void upload(const HostArray& from, const TensorHandle& to) override { cpu::cpu_backend().upload(from, to); }
  void download(const TensorHandle& from, const HostArray& to) override { cpu::cpu_backend().download(from, to); }
  std::string name() const override { return "failing"; }

 private:
  bool fuses_;
};

TEST(Fusion, ErrorsStayWithTheStoragesTheySpoil) {
  for (bool fuses : {true, false}) {
    const FusionDevice f(0, Ref<Backend>(new Failing(fuses)));
    const Tensor x = upload(*f.device, {2, 4}, numbers(8)), other = reshape(x, Dims{8}) * 3;
    const Tensor bad = log(x), worse = bad + x, good = slice(other, 0, 2, 6, 1) + 1;
    f.fusion->flush();
    f.fusion->synchronize();
    try {
      download(bad);
      FAIL() << "expected an error";
    } catch (const OutOfMemoryError& e) {
      EXPECT_NE(std::string(e.what()).find("there is no room"), std::string::npos);
      EXPECT_EQ(e.what()[0], '[');
    }
    EXPECT_THROW(download(slice(bad, 0, 1, 2, 1)), OutOfMemoryError);  // views share it
    EXPECT_THROW(download(worse), OutOfMemoryError);
    EXPECT_THROW(download(worse + 1), OutOfMemoryError);  // operations pass it on
    expect_same(download(good), download(slice(upload(plain(), {8}, numbers(8)) * 3, 0, 2, 6, 1) + 1));
    const Tensor first = slice(bad, 0, 0, 1, 1);
    add_into(first, slice(x, 0, 0, 1, 1), 1.0);
    EXPECT_THROW(download(bad), OutOfMemoryError);  // the other half is still spoiled
    add_into(bad, x, x);                            // all of it is written
    expect_same(download(bad), download(x + x));
  }
}

TEST(Fusion, DynamicSizesAndForeignTensors) {
  const FusionDevice f(0);
  const Tensor x = upload(*f.device, {5}, {1, 0, 2, 0, 3});
  const Tensor where_ = nonzero(x * 2);
  EXPECT_EQ(where_.shape(), (Shape{3, 1}));
  expect_same(download(where_ + 1), {1, 3, 5});
  const Tensor foreign = make_tensor(*f.device, DType::float32, contiguous_layout({2}), cpu::cpu_backend().allocate(DType::float32, 2));
  EXPECT_THROW(foreign + 1, DeviceError);
  const Tensor adopted = make_tensor(
      *f.device, DType::float32, contiguous_layout({2}), f.fusion->adopt(cpu::cpu_backend().allocate(DType::float32, 2), DType::float32));
  mul_into(adopted, adopted, 0.0);
  expect_same(download(adopted + 1), {1, 1});
  EXPECT_THROW(add(x, upload(*f.device, {4}, numbers(4))), ShapeError);  // at the call, not at the flush
}

TEST(Fusion, GradientsAboveIt) {
  start();
  auto program = [](Device& d) {
    const Tensor x = upload(d, {40, 300}, numbers(12000)), w = upload(d, {300}, numbers(300, 2));
    x.set(Flag::requires_grad);
    w.set(Flag::requires_grad);
    Tensor h = tanh(x * w) + sigmoid(x);
    mul_into(slice(h, 1, 10, 200, 1), slice(h, 1, 10, 200, 1), 0.5);  // a write through a view, recorded
    const Tensor loss = sum(relu(h - mean(h, Dims{1}, true)) * w);
    autograd::backward(loss);
    std::vector<double> all = download(loss);
    for (const Tensor& t : {x, w})
      for (double v : download(autograd::grad_of(t))) all.push_back(v);
    return all;
  };
  expect_same(program(device("fusion(cpu)")), program(device("cpu")));
}

TEST(Fusion, IsADecorator) {
  register_fusion();
  for (const BackendEntry& e : backend_entries()) {
    if (e.name != "fusion") continue;
    EXPECT_TRUE(e.decorator);
    const Ref<Backend> inner[] = {cpu_ref()};
    const Ref<Backend> made = e.make(inner, "");
    EXPECT_EQ(made->name(), "fusion(ndarray)");
    EXPECT_NE(fusion_of(device_of(made)), nullptr);
    EXPECT_EQ(fusion_of(plain()), nullptr);
    EXPECT_FALSE(made->capabilities().host_memory);
    return;
  }
  FAIL() << "not registered";
}

}  // namespace
}  // namespace pyburn
