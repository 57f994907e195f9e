// Memory that mirrors a file.
#pragma once
#include <cstddef>
#include <span>

namespace pyburn {

// Gives back the memory of the whole pages inside of `part`, of a private mapping without writes: the system reads them again
// where they are touched. Written pages would lose what was written.
void release_file_pages(std::span<const std::byte> part) noexcept;

}  // namespace pyburn
