#include "pyburn/tensor/dtype.h"

#include <array>
#include <atomic>
#include <iterator>

#include "pyburn/support/error.h"
#include "pyburn/support/fault.h"

namespace pyburn {
namespace {

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

enum DLPackCode : uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBFloat = 4, kBool = 6 };

}  // namespace

// In the order of the enumeration, which is also the order on the wire: new rows are added at the end.
constexpr DTypeInfo detail::dtype_rows[] = {
    {"float64", DTypeCategory::floating, 64, DType::float64, "d", kFloat},
    {"float32", DTypeCategory::floating, 32, DType::float32, "f", kFloat},
    {"float16", DTypeCategory::floating, 16, DType::float32, "e", kFloat},
    {"bfloat16", DTypeCategory::floating, 16, DType::float32, nullptr, kBFloat},
    {"int8", DTypeCategory::signed_integer, 8, DType::int32, "b", kInt},
    {"int16", DTypeCategory::signed_integer, 16, DType::int32, "h", kInt},
    {"int32", DTypeCategory::signed_integer, 32, DType::int32, "i", kInt},
    {"int64", DTypeCategory::signed_integer, 64, DType::int64, "q", kInt},
    {"uint8", DTypeCategory::unsigned_integer, 8, DType::int32, "B", kUInt},
    {"uint16", DTypeCategory::unsigned_integer, 16, DType::int32, "H", kUInt},
    {"uint32", DTypeCategory::unsigned_integer, 32, DType::int64, "I", kUInt},
    {"uint64", DTypeCategory::unsigned_integer, 64, DType::uint64, "Q", kUInt},
    {"bool", DTypeCategory::boolean, 8, DType::int32, "?", kBool},
};
namespace {
constexpr int kRows = int(std::size(detail::dtype_rows));
static_assert(kRows == int(DType::boolean) + 1 && kRows <= kMaxDTypes, "one row per dtype");
}  // namespace

std::span<const DType> all_dtypes() {
  static constexpr auto kAll = [] {
    std::array<DType, kRows> all{};
    for (int i = 0; i < kRows; ++i) all[size_t(i)] = DType(i);
    return all;
  }();
  return kAll;
}
std::string to_text(DType t) { return std::string(name_of(t)); }

int64_t bytes_of(DType t, int64_t elements) {
  const int64_t bits = dtype_info(t).bits;
  int64_t bytes = 0;  // of groups of eight elements, which fill whole bytes; then of the rest
  const bool fits = elements >= 0 && !__builtin_mul_overflow(elements / 8, bits, &bytes) &&
                    !__builtin_add_overflow(bytes, (elements % 8 * bits + 7) / 8, &bytes);
  require<ValueError>(fits || planted_fault == Fault::unchecked_sizes, "too many elements: got {} of {}", elements, t);
  return bytes;
}

std::optional<DType> find_dtype(std::string_view name) {
  for (DType t : all_dtypes())
    if (name_of(t) == name) return t;
  return {};
}

DType dtype_from_name(std::string_view name) {
  if (const std::optional<DType> t = find_dtype(name)) return *t;
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
