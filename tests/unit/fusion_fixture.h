// Fusion devices and tensors for their tests.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/decorators/fusion/fusion.h"
#include "pyburn/ops/functions.h"
#include "pyburn/ops/register.h"

namespace pyburn {

inline Ref<Backend> cpu_ref() {
  register_operations(OpTable::global());
  return Ref<Backend>(&cpu::cpu_backend());
}
inline Device& plain() { return device_of(cpu_ref()); }

// A fusion device of its own, so that counters and limits of one test do not meet another's.
struct FusionDevice {
  explicit FusionDevice(int64_t small_limit, Ref<Backend> inner = cpu_ref())
      : fusion(new Fusion(inner)), device(&device_of(Ref<Backend>(fusion))) {
    fusion->set_small_limit(small_limit);
  }
  Fusion* fusion;
  Device* device;
};

inline Tensor upload(Device& device, const Shape& shape, const std::vector<double>& values, DType dtype = DType::float32) {
  Tensor x = make_tensor(device, DType::float64, contiguous_layout(shape), device.backend().allocate(DType::float64, shape.numel()));
  device.backend().upload({const_cast<double*>(values.data()), x.meta()}, x);
  return dtype == DType::float64 ? x : cast(x, dtype);
}

inline std::vector<double> download(const TensorHandle& x) {
  const Tensor d = cast(x, DType::float64);
  std::vector<double> values(size_t(d.numel()));
  d.device().backend().download(d, {values.data(), d.meta()});
  return values;
}

inline std::vector<double> numbers(int64_t n, uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::vector<double> v(static_cast<size_t>(n));
  for (double& x : v) x = double(int(random() % 2001)) / 500.0 - 2.0;
  return v;
}

inline void expect_same(const std::vector<double>& a, const std::vector<double>& b, const std::string& where = "") {
  ASSERT_EQ(a.size(), b.size()) << where;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    ASSERT_NEAR(a[i], b[i], 1e-6 * std::max(1.0, std::abs(a[i]))) << where << " at element " << i;
  }
}

}  // namespace pyburn
