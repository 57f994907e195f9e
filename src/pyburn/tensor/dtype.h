// Element types and PyTorch's promotion between them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace pyburn {

enum class DType : uint8_t {
  float64,
  float32,
  float16,
  bfloat16,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  boolean,
};
inline constexpr int kDTypes = 13;

inline constexpr int8_t kDTypeBytes[kDTypes] = {8, 4, 2, 2, 1, 2, 4, 8, 1, 2, 4, 8, 1};
constexpr int64_t size_of(DType t) { return kDTypeBytes[int(t)]; }
std::string_view name_of(DType);  // "float32", "bool"
std::string to_text(DType);
DType dtype_from_name(std::string_view name);  // accepts PyTorch's aliases; DTypeError otherwise

inline bool is_floating(DType t) { return t <= DType::bfloat16; }
inline bool is_signed_integer(DType t) { return t >= DType::int8 && t <= DType::int64; }
inline bool is_unsigned_integer(DType t) { return t >= DType::uint8 && t <= DType::uint64; }
inline bool is_integral(DType t) { return t >= DType::int8; }  // bool counts, as in PyTorch

DType promote(DType a, DType b);
// May a result of dtype `from` be written into a tensor of dtype `to`? Never float into int, nor number into bool.
bool can_cast(DType from, DType to);

DType default_dtype();
void set_default_dtype(DType);  // DTypeError unless floating

}  // namespace pyburn
