// The GPU backend from C++, without Python. Skipped where there is no library or no adapter.
#include <gtest/gtest.h>

#include "pyburn/backends/wgpu/wgpu_backend.h"
#include "pyburn/ops/functions.h"
#include "pyburn/ops/operators.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/start.h"

namespace pyburn {
namespace {

class Wgpu : public testing::Test {
 protected:
  void SetUp() override {
    start();
    try {
      gpu = &device("wgpu");
    } catch (const DeviceError& e) {
      GTEST_SKIP() << "THE GPU BACKEND IS NOT TESTED: " << e.what();
    }
  }
  std::vector<float> read(const TensorHandle& x) {
    std::vector<float> out(size_t(x.numel()));
    to_host(x, {out.data(), x.meta()});
    return out;
  }
  Device* gpu = nullptr;
};

TEST_F(Wgpu, ComputesWithoutPython) {
  const float values[] = {1, 2, 3, 4, 5, 6};
  const TensorHandle x = from_host(*gpu, {const_cast<float*>(values), {Shape{2, 3}, DType::float32}});
  EXPECT_EQ(read(x * 2.0 + 1.0), (std::vector<float>{3, 5, 7, 9, 11, 13}));
  EXPECT_EQ(read(fn::matmul(x, fn::transpose(x, 0, 1))), (std::vector<float>{14, 32, 32, 77}));
  EXPECT_EQ(read(fn::sum(x, Dims{0})), (std::vector<float>{5, 7, 9}));
}

TEST_F(Wgpu, CompilesAShaderOncePerStructure) {
  const TensorHandle x = fn::ones(Dims{100}, DType::float32, gpu, false);
  read(x * 3.0);
  const WgpuCounters before = *wgpu_counters(*gpu);
  for (int64_t n : {10, 20, 50}) read(fn::slice(x, 0, 0, n) * double(n));
  const WgpuCounters after = *wgpu_counters(*gpu);
  EXPECT_EQ(after.pipelines, before.pipelines);  // sizes, offsets and numbers are no structure
  EXPECT_EQ(after.dispatches, before.dispatches + 3);
}

TEST_F(Wgpu, UploadsDoNotOvertakeQueuedWork) {
  // Buffers are recycled at once: the upload of the second tensor takes the buffer that the queued product still reads.
  for (int round = 0; round < 20; ++round) {
    std::vector<float> first(1000, float(round)), second(1000, -1);
    TensorHandle x = from_host(*gpu, {first.data(), {Shape{1000}, DType::float32}});
    const TensorHandle y = x + 1.0;
    x = {};
    const TensorHandle z = from_host(*gpu, {second.data(), {Shape{1000}, DType::float32}});
    EXPECT_EQ(read(y)[999], float(round + 1));
    EXPECT_EQ(read(z)[0], -1);
  }
}

TEST_F(Wgpu, ListsItsAdapters) {
  ASSERT_FALSE(wgpu_adapters().empty());
  EXPECT_FALSE(wgpu_adapters()[0].name.empty());
  EXPECT_FALSE(wgpu_counters(device("cpu")).has_value());
}

}  // namespace
}  // namespace pyburn
