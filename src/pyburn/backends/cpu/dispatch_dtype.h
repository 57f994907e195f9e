// Maps a run-time dtype to a C++ type: with_storage_type(dtype, []<class T>(T*) { ... }).
#pragma once
#include <limits>

#include "pyburn/tensor/dtype.h"
#include "pyburn/tensor/half.h"
#include "pyburn/tensor/scalar.h"

namespace pyburn::cpu {

// Maps Half and BFloat16 to float, other types to themselves.
template <class T>
auto float_of(T v) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) return float(v);
  else return v;
}

// Converts a number to an element.
template <class T>
T from_scalar(const Scalar& s) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) return T(s.to<float>());
  else return s.to<T>();
}

template <class F>
void with_storage_type(DType t, F&& f) {
  switch (t) {
    case DType::float64:
      return f(static_cast<double*>(nullptr));
    case DType::float32:
      return f(static_cast<float*>(nullptr));
    case DType::float16:
      return f(static_cast<Half*>(nullptr));
    case DType::bfloat16:
      return f(static_cast<BFloat16*>(nullptr));
    case DType::int8:
      return f(static_cast<int8_t*>(nullptr));
    case DType::int16:
      return f(static_cast<int16_t*>(nullptr));
    case DType::int32:
      return f(static_cast<int32_t*>(nullptr));
    case DType::int64:
      return f(static_cast<int64_t*>(nullptr));
    case DType::uint8:
      return f(static_cast<uint8_t*>(nullptr));
    case DType::uint16:
      return f(static_cast<uint16_t*>(nullptr));
    case DType::uint32:
      return f(static_cast<uint32_t*>(nullptr));
    case DType::uint64:
      return f(static_cast<uint64_t*>(nullptr));
    case DType::boolean:
      return f(static_cast<bool*>(nullptr));
  }
}

// For elements that are only moved: with_element_size(4, []<class T>(T*) { ... }).
template <class F>
void with_element_size(int64_t bytes, F&& f) {
  switch (bytes) {
    case 1:
      return f(static_cast<uint8_t*>(nullptr));
    case 2:
      return f(static_cast<uint16_t*>(nullptr));
    case 4:
      return f(static_cast<uint32_t*>(nullptr));
    default:
      return f(static_cast<uint64_t*>(nullptr));
  }
}

// The dtype of a tile type.
template <class T>
inline constexpr DType dtype_of = std::is_same_v<T, double>     ? DType::float64
                                  : std::is_same_v<T, float>    ? DType::float32
                                  : std::is_same_v<T, int32_t>  ? DType::int32
                                  : std::is_same_v<T, uint64_t> ? DType::uint64
                                                                : DType::int64;

// The tile types; see compute_dtype().
template <class F>
void with_compute_type(DType t, F&& f) {
  switch (t) {
    case DType::float64:
      return f(static_cast<double*>(nullptr));
    case DType::float32:
      return f(static_cast<float*>(nullptr));
    case DType::int32:
      return f(static_cast<int32_t*>(nullptr));
    case DType::uint64:
      return f(static_cast<uint64_t*>(nullptr));
    default:
      return f(static_cast<int64_t*>(nullptr));
  }
}

}  // namespace pyburn::cpu
