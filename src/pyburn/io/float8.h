// 8-bit floating-point formats, which files may contain but tensors do not support. They are loaded as bfloat16, which represents all their
// values exactly.
#pragma once
#include <optional>
#include <string_view>

#include "pyburn/io/shared_bytes.h"

namespace pyburn::io {

enum class Float8 : uint8_t { e4m3fn, e5m2, e4m3fnuz, e5m2fnuz, e8m0fnu };

std::optional<Float8> float8_from_torch(std::string_view name);        // "torch.float8_e4m3fn"
std::optional<Float8> float8_from_safetensors(std::string_view name);  // "F8_E4M3"

SharedBytes as_bfloat16(const SharedBytes& bytes, Float8 kind);  // exact, twice the size

}  // namespace pyburn::io
