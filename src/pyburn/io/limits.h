// Limits on what a file may ask for, listed in docs/limits.md. A file that exceeds one raises a FormatError that names the limit.
#pragma once
#include <cstddef>
#include <cstdint>

namespace pyburn::io {

// One byte of deflate never becomes more than this many bytes: a larger claim is damage, whatever it says.
constexpr uint64_t kDeflateFactor = 1032;

// A pickle may refer to an object many times. What is copied for each reference (arguments of calls, names of tensors) is at most this many
// times the size of the file, and a constant that small files with long names need.
constexpr uint64_t kUnfoldingFactor = 16;
constexpr uint64_t kUnfoldingFree = 1 << 16;

constexpr int kDeepestTensor = 100;  // containers of tensors inside each other

}  // namespace pyburn::io
