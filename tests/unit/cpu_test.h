// What the tests of CPU kernels share: the device, random tensors, and their values in order.
#pragma once
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/ops/functions.h"
#include "pyburn/ops/register.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn::cpu {

class CpuTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    register_operations(OpTable::global());
    before_ = &default_device();
    set_default_device(device_of(Ref<Backend>(&cpu_backend())));
  }
  static void TearDownTestSuite() { set_default_device(*before_); }  // other suites of the process want gradients
  ~CpuTest() override { set_num_threads(default_num_threads()); }

  static Tensor from_values(const Shape& shape, const std::vector<double>& v, DType dtype = DType::float32) {
    const TensorHandle t =
        make_tensor(default_device(), DType::float64, contiguous_layout(shape), cpu_backend().allocate(DType::float64, shape.numel()));
    std::copy(v.begin(), v.end(), t.data<double>());
    return cast(t, dtype);
  }
  Tensor random(const Shape& shape, DType dtype = DType::float32) {
    std::vector<double> v(size_t(shape.numel()));
    for (double& x : v) x = std::uniform_real_distribution<double>(-1, 1)(random_);
    return from_values(shape, v, dtype);
  }
  template <class T = double>
  static std::vector<T> values(const TensorHandle& x) {
    const Tensor y = contiguous(cast(x, sizeof(T) == 4 ? DType::float32 : DType::float64));
    return std::vector<T>(y.data<T>(), y.data<T>() + y.numel());
  }

 private:
  static inline Device* before_ = nullptr;
  std::mt19937 random_{7};
};

}  // namespace pyburn::cpu
