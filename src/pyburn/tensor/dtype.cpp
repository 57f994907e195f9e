#include "pyburn/tensor/dtype.h"

#include <atomic>

#include "pyburn/support/error.h"

namespace pyburn {
namespace {

constexpr std::string_view kNames[kDTypes] = {
    "float64",
    "float32",
    "float16",
    "bfloat16",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
};
constexpr std::pair<std::string_view, DType> kAliases[] = {
    {"double", DType::float64},
    {"float", DType::float32},
    {"half", DType::float16},
    {"short", DType::int16},
    {"int", DType::int32},
    {"long", DType::int64},
    {"boolean", DType::boolean},
};

std::atomic<DType> the_default{DType::float32};

}  // namespace

std::string_view name_of(DType t) { return kNames[int(t)]; }
std::string to_text(DType t) { return std::string(name_of(t)); }

DType dtype_from_name(std::string_view name) {
  for (int i = 0; i < kDTypes; ++i)
    if (kNames[i] == name) return DType(i);
  for (auto [alias, dtype] : kAliases)
    if (alias == name) return dtype;
  fail<DTypeError>("unknown dtype: got '{}'", name);
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::boolean) return b;
  if (b == DType::boolean) return a;
  if (is_floating(a) || is_floating(b)) {
    if (!is_floating(a)) return b;
    if (!is_floating(b)) return a;
    // float16 and bfloat16 have no common half: float32.
    if (size_of(a) == size_of(b)) return DType::float32;
    return size_of(a) > size_of(b) ? a : b;
  }
  if (is_signed_integer(a) == is_signed_integer(b)) return size_of(a) > size_of(b) ? a : b;
  const DType s = is_signed_integer(a) ? a : b, u = is_signed_integer(a) ? b : a;
  require<DTypeError>(u == DType::uint8, "no common dtype: got {} and {}", a, b);  // as PyTorch: only uint8 mixes
  return size_of(s) > 1 ? s : DType::int16;
}

bool can_cast(DType from, DType to) {
  if (is_floating(from) && !is_floating(to)) return false;
  return !(to == DType::boolean && from != DType::boolean);
}

DType default_dtype() { return the_default.load(std::memory_order_relaxed); }
void set_default_dtype(DType t) {
  require<DTypeError>(is_floating(t), "the default dtype must be floating: got {}", t);
  the_default = t;
}

}  // namespace pyburn
