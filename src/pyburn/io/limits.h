// Limits on the resources that a file may request, listed in docs/limits.md. Exceeding one raises a FormatError that names it.
#pragma once
#include <cstddef>
#include <cstdint>

namespace pyburn::io {

// The maximum expansion of one byte of deflate data: a larger claim means that the file is damaged.
constexpr uint64_t kDeflateFactor = 1032;

// A pickle may refer to an object many times. Copies made for such references (arguments of calls, names of tensors) are limited to this
// multiple of the file size, plus a constant for small files with long names.
constexpr uint64_t kUnfoldingFactor = 16;
constexpr uint64_t kUnfoldingFree = 1 << 16;

constexpr int kDeepestTensor = 100;  // nesting depth of containers

}  // namespace pyburn::io
