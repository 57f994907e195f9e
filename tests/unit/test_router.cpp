// router(few, ndarray): a backend with few kernels gets the rest from another one.
#include <set>

#include "device_fixture.h"
#include "pyburn/decorators/router/router.h"
#include "pyburn/ops/optimise.h"
#include "pyburn/support/log.h"

namespace pyburn::testing {
namespace {

// The CPU, with the kernels of three operations.
class FewKernels final : public Backend {
 public:
  void execute(OpRef op, Inputs in, Outputs out) override {
    ran.insert(std::string(op.info->name()));
    cpu::cpu_backend().execute(op, in, out);
  }
  KernelSupport support(const OpInfo& op, DType) const override {
    return op.name() == "cast" || op.name() == "add" || op.name() == "exp" ? KernelSupport::native : KernelSupport::none;
  }
  Ref<Storage> allocate(DType dtype, int64_t elements) override { return cpu::cpu_backend().allocate(dtype, elements); }
  void upload(const HostArray& from, const TensorHandle& to) override { cpu::cpu_backend().upload(from, to); }
  void download(const TensorHandle& from, const HostArray& to) override { cpu::cpu_backend().download(from, to); }
  std::string name() const override { return "few"; }
  std::set<std::string> ran;
};

struct Routed : ::testing::Test {
  Routed() {
    cpu();
    few = new FewKernels;
    device = &device_of(Ref<Backend>(new Router(Ref<Backend>(few), Ref<Backend>(&cpu::cpu_backend()))));
  }
  template <class Program>
  void expect_equal(Program program) {
    const Tensors here = program(cpu()), there = program(*device);
    for (int64_t i = 0; i < here.size(); ++i) {
      expect_same(there[i], here[i]);
      EXPECT_EQ(&there[i].device(), device);
    }
  }
  FewKernels* few;
  Device* device;
};

TEST_F(Routed, RunsWhereItIsSupported) {
  expect_equal([](Device& d) -> Tensors {
    const Tensor x = numbers(d, {2, 3});
    return {exp(x) + x, sum(x, Dims{1}), nonzero(gt(x, 0)), zeros(Dims{2}, {}, &d), transpose(x, 0, 1) * 2};
  });
  // The copy for the fallback is in plain order: the product may add in another order.
  const Tensor here = numbers(cpu(), {2, 3}), there = numbers(*device, {2, 3});
  expect_close(matmul(there, transpose(there, 0, 1)), matmul(here, transpose(here, 0, 1)));
  EXPECT_EQ(few->ran.count("exp") + few->ran.count("add"), 2u);
  EXPECT_EQ(few->ran.count("sum"), 0u);
}

TEST_F(Routed, DecomposesBeforeItCopies) {
  expect_equal([](Device& d) -> Tensors { return {reshape(numbers(d, {2, 3}), Dims{6})}; });
  const Tensor x = numbers(*device, {2, 3});
  expect_close(softmax(x, 1), softmax(numbers(cpu(), {2, 3}), 1));
  EXPECT_EQ(few->ran.count("exp"), 1u);
}

TEST_F(Routed, WritesInPlace) {
  expect_equal([](Device& d) -> Tensors {
    const Tensor x = numbers(d, {4, 6}), y = cast(x, DType::float64);
    mul_into(x, x, 2.0);
    const Tensor part = slice(transpose(x, 0, 1), 0, 1, 6, 2);
    mul_into(part, part, slice(transpose(x, 0, 1), 0, 0, 5, 2));
    mul_into(y, x, x);
    const Tensor p = numbers(d, {4}, 3), b = zeros(Dims{4}, {}, &d);
    run_update(SgdStep{.lr = 0.1, .momentum = 0.9}, {p}, {numbers(d, {4}, 4)}, std::vector<pyburn::Tensors>{{b}});
    return {x, part, y, p, b};
  });
}

TEST_F(Routed, LogsEachOperationOnce) {
  static int messages;
  messages = 0;
  set_log_sink([](const std::string& m) { messages += m.find("[tanh]") != m.npos; });
  const Tensor x = numbers(*device, {3});
  tanh(x), tanh(x);
  set_log_sink(nullptr);
  EXPECT_EQ(messages, 1);
}

}  // namespace
}  // namespace pyburn::testing
