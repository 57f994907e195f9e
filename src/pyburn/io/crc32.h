// The checksum of zip files and of bundles.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace pyburn::io {

// The checksum of bytes that follow those with the checksum `before`.
uint32_t crc32(std::span<const std::byte> bytes, uint32_t before = 0);

}  // namespace pyburn::io
