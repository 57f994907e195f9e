// Small tensors of known values.
#pragma once
#include "pyburn/onnx/value.h"
#include "pyburn/runtime/transfer.h"

namespace pyburn::onnx {

inline TensorHandle integers_on(Device& device, std::span<const int64_t> values) {
  return from_host(device, {const_cast<int64_t*>(values.data()), {Shape{int64_t(values.size())}, DType::int64}});
}
inline Value host_integers(std::span<const int64_t> values) { return Value::on_host(integers_on(host_device(), values)); }
inline Value host_integer(int64_t value) { return Value::on_host(from_host(host_device(), {&value, {Shape(), DType::int64}})); }
inline TensorHandle reals_on(Device& device, std::vector<float> values, const Shape& shape) {
  return from_host(device, {values.data(), {shape, DType::float32}});
}

}  // namespace pyburn::onnx
