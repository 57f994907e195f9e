#include "pyburn/support/file_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace pyburn {

void release_file_pages(std::span<const std::byte> part) noexcept {
  static const auto page = uintptr_t(sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<uintptr_t>(part.data());
  const uintptr_t begin = (first + page - 1) / page * page, end = (first + part.size()) / page * page;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace pyburn
