// Unpacks deflated data (RFC 1951).
#pragma once
#include <cstddef>
#include <span>
#include <vector>

namespace pyburn::io {

// Exactly `size` bytes come out and all of `packed` is used; FormatError otherwise, also before memory is asked for that
// so little input cannot fill.
std::vector<std::byte> inflate(std::span<const std::byte> packed, size_t size);

}  // namespace pyburn::io
