#include "pyburn/support/cache_size.h"

#include <algorithm>
#include <fstream>

#ifdef __APPLE__
#include <sys/sysctl.h>
#else
#include <unistd.h>
#endif

namespace pyburn {
namespace {

int64_t asked_of_the_system() {
#ifdef __APPLE__
  int64_t bytes = 0;
  size_t size = sizeof bytes;
  return sysctlbyname("hw.perflevel0.l2cachesize", &bytes, &size, nullptr, 0) == 0 ? bytes : 0;
#else
#ifdef _SC_LEVEL2_CACHE_SIZE
  if (const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE); bytes > 0) return bytes;
#endif
  // Where the C library does not know, on ARM mostly, the kernel may: "1024K".
  std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index2/size");
  int64_t number = 0;
  char unit = ' ';
  if (!(file >> number)) return 0;
  file >> unit;
  return number * (unit == 'K' ? 1 << 10 : unit == 'M' ? 1 << 20 : 1);
#endif
}

}  // namespace

int64_t l2_cache_bytes() {
  static const int64_t bytes = [] {
    const int64_t found = asked_of_the_system();
    return found > 0 ? std::clamp<int64_t>(found, 256 << 10, 4 << 20) : 1 << 20;
  }();
  return bytes;
}

}  // namespace pyburn
