#include "pyburn/support/cache_size.h"

#include <algorithm>
#include <fstream>
#include <string>

#ifdef __APPLE__
#include <sys/sysctl.h>
#else
#include <unistd.h>
#endif

namespace pyburn {
namespace {

// Of the first core, 0 if unknown. The kernel reports the L3 of a core; the C library may add up those of all cores.
int64_t asked_of_the_system(int level) {
#ifdef __APPLE__
  int64_t bytes = 0;
  size_t size = sizeof bytes;
  return level == 2 && sysctlbyname("hw.perflevel0.l2cachesize", &bytes, &size, nullptr, 0) == 0 ? bytes : 0;
#else
  std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(level) + "/size");  // "1024K"
  int64_t number = 0;
  char unit = ' ';
  if (file >> number) {
    file >> unit;
    return number * (unit == 'K' ? 1 << 10 : unit == 'M' ? 1 << 20 : 1);
  }
#ifdef _SC_LEVEL2_CACHE_SIZE
  if (const long bytes = level == 2 ? sysconf(_SC_LEVEL2_CACHE_SIZE) : 0; bytes > 0) return bytes;
#endif
  return 0;
#endif
}

}  // namespace

int64_t l2_cache_bytes() {
  static const int64_t bytes = [] {
    const int64_t found = asked_of_the_system(2);
    return found > 0 ? std::clamp<int64_t>(found, 256 << 10, 4 << 20) : 1 << 20;
  }();
  return bytes;
}

int64_t l3_cache_bytes() {
  static const int64_t bytes = [] {
    const int64_t found = asked_of_the_system(3);
    return found > 0 ? std::max<int64_t>(found, 4 << 20) : 32 << 20;
  }();
  return bytes;
}

}  // namespace pyburn
