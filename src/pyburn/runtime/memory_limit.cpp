#include <unistd.h>
#ifdef __linux__
#include <sys/sysinfo.h>
#endif

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "pyburn/runtime/allocator.h"
#include "pyburn/support/error.h"

namespace pyburn {
namespace {

constexpr int64_t kUnknown = int64_t(1) << 46;

// Memory and swap. The system may promise more, and end the process when it is written to.
int64_t machine_memory() {
#ifdef __linux__
  struct sysinfo info {};
  return sysinfo(&info) == 0 ? int64_t(info.totalram + info.totalswap) * int64_t(info.mem_unit) : kUnknown;
#else  // where swap grows as it is needed
  const int64_t pages = sysconf(_SC_PHYS_PAGES);
  return pages > 0 ? pages * int64_t(sysconf(_SC_PAGESIZE)) : kUnknown;
#endif
}

int64_t container_memory() {  // the quota of the cgroup
  long long bytes = 0;
  int read = 0;
  if (FILE* f = std::fopen("/sys/fs/cgroup/memory.max", "r")) {
    read = std::fscanf(f, "%lld", &bytes);  // "max": no quota
    std::fclose(f);
  }
  return read == 1 && bytes > 0 ? bytes : kUnknown;
}

// PYBURN_MEMORY_LIMIT: "2000000000", "512M", "4G".
int64_t chosen_memory() {
  const char* text = std::getenv("PYBURN_MEMORY_LIMIT");
  if (!text || !*text) return kUnknown;
  char* end = nullptr;
  const double number = std::strtod(text, &end);
  constexpr std::string_view units = "KMGT";
  const size_t unit = *end ? units.find(*end) : std::string_view::npos;
  const double bytes = unit == std::string_view::npos ? number : number * double(int64_t(1) << (10 * (unit + 1)));
  const bool complete = !*end || (unit != std::string_view::npos && !end[1]);
  require<ValueError>(end != text && complete && bytes >= 1 && bytes <= double(kUnknown),
      "[PYBURN_MEMORY_LIMIT] expected a number of bytes such as 500M or 4G: got {}", text);
  return int64_t(bytes);
}

}  // namespace

int64_t host_memory_limit() {
  static const int64_t bytes = std::min({machine_memory(), container_memory(), chosen_memory()});
  return bytes;
}

}  // namespace pyburn
