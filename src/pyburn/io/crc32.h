// The checksum of zip files, and of ours.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace pyburn::io {

// Of some bytes, or of more bytes after those that gave `before`.
uint32_t crc32(std::span<const std::byte> bytes, uint32_t before = 0);

}  // namespace pyburn::io
