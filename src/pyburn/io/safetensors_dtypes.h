// The dtype names of safetensors.
#pragma once
#include <optional>
#include <string_view>
#include <utility>

#include "pyburn/tensor/dtype.h"

namespace pyburn::io {

inline constexpr std::pair<DType, std::string_view> kSafetensorsNames[] = {
    {DType::float64, "F64"},
    {DType::float32, "F32"},
    {DType::float16, "F16"},
    {DType::bfloat16, "BF16"},
    {DType::int8, "I8"},
    {DType::int16, "I16"},
    {DType::int32, "I32"},
    {DType::int64, "I64"},
    {DType::uint8, "U8"},
    {DType::uint16, "U16"},
    {DType::uint32, "U32"},
    {DType::uint64, "U64"},
    {DType::boolean, "BOOL"},
};

inline std::optional<DType> dtype_from_safetensors(std::string_view name) {
  for (const auto& [dtype, known] : kSafetensorsNames)
    if (known == name) return dtype;
  return std::nullopt;
}

inline std::string_view safetensors_name(DType dtype) {
  for (const auto& [known, name] : kSafetensorsNames)
    if (known == dtype) return name;
  return {};
}

}  // namespace pyburn::io
