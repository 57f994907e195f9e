// Element types and PyTorch's promotion between them.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
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

enum class DTypeCategory : uint8_t { floating, signed_integer, unsigned_integer, boolean };

// The properties of a dtype: one row of the table in dtype.cpp. A new dtype is a new row; code queries the row instead of comparing dtypes.
struct DTypeInfo {
  std::string_view name;
  DTypeCategory category;
  uint8_t bits;               // of one element; elements of fewer than 8 bits are packed into bytes
  DType compute;              // the dtype in which element-wise kernels compute: float16 as float32, int8 as int32
  const char* buffer_format;  // the format character of Python's buffer protocol (PEP 3118); null: none
  uint8_t dlpack_code;        // the type code in DLPack
};
namespace detail {
extern const DTypeInfo dtype_rows[];  // defined in the library, so that plugins need not be recompiled for a new row
}
inline const DTypeInfo& dtype_info(DType t) { return detail::dtype_rows[int(t)]; }
std::span<const DType> all_dtypes();
inline constexpr int kMaxDTypes = 64;  // a DTypeSet is one word

inline int64_t size_of(DType t) { return dtype_info(t).bits / 8; }  // bytes of one element, for dtypes of whole bytes
// Bytes of that many elements. ValueError on overflow.
int64_t bytes_of(DType, int64_t elements);
inline std::string_view name_of(DType t) { return dtype_info(t).name; }  // "float32", "bool"
std::string to_text(DType);
DType dtype_from_name(std::string_view name);            // accepts PyTorch's aliases; DTypeError otherwise
std::optional<DType> find_dtype(std::string_view name);  // by its exact name

inline bool is_floating(DType t) { return dtype_info(t).category == DTypeCategory::floating; }
inline bool is_signed_integer(DType t) { return dtype_info(t).category == DTypeCategory::signed_integer; }
inline bool is_unsigned_integer(DType t) { return dtype_info(t).category == DTypeCategory::unsigned_integer; }
inline bool is_integral(DType t) {  // bool counts, as in PyTorch
  return is_signed_integer(t) || is_unsigned_integer(t) || dtype_info(t).category == DTypeCategory::boolean;
}

// A set of dtypes: those that a backend can store.
class DTypeSet {
 public:
  static constexpr DTypeSet all() { return DTypeSet(~uint64_t(0)); }
  constexpr explicit DTypeSet(uint64_t bits) : bits_(bits) {}
  constexpr uint64_t bits() const { return bits_; }
  constexpr bool contains(DType t) const { return bits_ >> int(t) & 1; }
  constexpr DTypeSet without(DType t) const { return DTypeSet(bits_ & ~(uint64_t(1) << int(t))); }

 private:
  uint64_t bits_;
};

DType promote(DType a, DType b);
// Can a result of dtype `from` be written to a tensor of dtype `to`? Never floating to integer, nor a number to bool.
bool can_cast(DType from, DType to);

DType default_dtype();
void set_default_dtype(DType);  // DTypeError unless floating point

}  // namespace pyburn
