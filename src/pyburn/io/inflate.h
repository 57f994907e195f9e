// Decompresses deflate data (RFC 1951).
#pragma once
#include <cstddef>
#include <span>
#include <vector>

namespace pyburn::io {

// Returns exactly `size` bytes and consumes all of `packed`. Raises FormatError otherwise, before allocating more than the input could
// fill.
std::vector<std::byte> inflate(std::span<const std::byte> packed, size_t size);

}  // namespace pyburn::io
