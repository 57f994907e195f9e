// WGSL that shaders share: conversions, 64-bit integers, and functions that are missing in WGSL or left open by it.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "pyburn/tensor/dtype.h"

namespace pyburn::wgpu {

struct LibraryPart {
  const char* name;
  const char* code;  // uses only parts above it
};
std::span<const LibraryPart> math_parts();  // functions of floats; after the others

// The functions that this code uses, and those that they use.
std::string library_for(std::string_view code);
// name_add, name_max and name_min of a tensor that several threads change.
std::string shared_accessors(const std::string& name, DType, const std::string& buffer);

}  // namespace pyburn::wgpu
