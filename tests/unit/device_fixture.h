// What the C++ tests share: the CPU, and tensors made from and compared with numbers.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/ops/copy.h"
#include "pyburn/ops/functions.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/start.h"

namespace pyburn::testing {

inline Device& cpu() {  // without autodiff
  start();
  return device("inner(ndarray)");
}

inline Tensor tensor(Device& device, const Dims& shape, std::vector<float> values) {
  return from_host(device, {values.data(), Meta{shape, DType::float32}});
}
// Numbers between -1 and 1 that look random and are the same on every device.
inline Tensor numbers(Device& device, const Dims& shape, int seed = 1) {
  std::vector<float> values(size_t(Shape(shape).numel()));
  uint32_t state = uint32_t(seed) * 2654435761u + 12345u;
  for (float& v : values) {
    state = state * 1664525u + 1013904223u;
    v = float(state >> 8) / float(1 << 23) - 1.0f;
  }
  return tensor(device, shape, std::move(values));
}

template <class T = float>
std::vector<T> values(const TensorHandle& t) {
  const std::vector<std::byte> bytes = host_bytes(t);
  std::vector<T> v(bytes.size() / sizeof(T));
  if (!v.empty()) std::memcpy(v.data(), bytes.data(), v.size() * sizeof(T));
  return v;
}

// The same shape, dtype and bits.
inline void expect_same(const TensorHandle& a, const TensorHandle& b) {
  EXPECT_EQ(to_text(a.shape()), to_text(b.shape()));
  EXPECT_EQ(to_text(a.dtype()), to_text(b.dtype()));
  EXPECT_TRUE(host_bytes(a) == host_bytes(b));
}
inline void expect_close(const TensorHandle& a, const TensorHandle& b, float tolerance = 1e-5f) {
  ASSERT_EQ(to_text(a.shape()), to_text(b.shape()));
  const std::vector<float> x = values(a), y = values(b);
  for (size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], y[i], tolerance) << "at " << i;
}

template <class E, class Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const E& e) {
    return e.what();
  } catch (const std::exception& e) {
    ADD_FAILURE() << "another error: " << e.what();
    return {};
  }
  ADD_FAILURE() << "no error";
  return {};
}

}  // namespace pyburn::testing
