#include "pyburn/runtime/allocator.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "pyburn/runtime/ordinary_pages.h"
#include "pyburn/support/address_sanitizer.h"
#include "pyburn/support/error.h"
#include "pyburn/support/fork_safe_mutex.h"

namespace pyburn {

namespace {

thread_local constinit bool ordinary_pages = false;

constexpr int64_t kSmall = 4096;  // up to here: this thread's bins, no lock
constexpr int64_t kSmallStep = 64;
constexpr int64_t kHuge = int64_t(2) << 20;  // from here: mapped, aligned to a huge page
constexpr int kSmallBins = kSmall / kSmallStep, kLargeBins = 4 * 50;
constexpr uint32_t kSmallCap = 256;  // blocks kept per bin and thread

std::atomic<int64_t> in_use{0}, reserved{0}, peak{0};

// Four sizes per power of two: at most 25 % is wasted.
int64_t rounded(int64_t bytes) {
  if (bytes <= kSmall) return (bytes + kSmallStep - 1) / kSmallStep * kSmallStep;
  const int64_t step = int64_t(std::bit_floor(uint64_t(bytes - 1))) / 4;
  return (bytes + step - 1) / step * step;
}
int large_bin(int64_t size) {
  const int log = std::bit_width(uint64_t(size)) - 1;
  return log * 4 + int((size >> (log - 2)) & 3);
}

void* system_allocate(int64_t size) {
  void* p;
  if (size >= kHuge) {
    p = mmap(nullptr, size_t(size + kHuge), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return nullptr;
    const auto start = reinterpret_cast<uintptr_t>(p), aligned = (start + kHuge - 1) / kHuge * kHuge;
    if (aligned != start) munmap(p, aligned - start);
    if (const auto tail = start + kHuge - aligned) munmap(reinterpret_cast<void*>(aligned + uintptr_t(size)), tail);
    p = reinterpret_cast<void*>(aligned);
#ifdef MADV_HUGEPAGE
    if (!OrdinaryPages::wanted()) madvise(p, size_t(size), MADV_HUGEPAGE);
#endif
  } else {
    p = std::aligned_alloc(64, size_t(size));
    if (!p) return nullptr;
  }
  reserved.fetch_add(size, std::memory_order_relaxed);
  return p;
}

void system_free(void* p, int64_t size) {
  allow_memory(p, size_t(size));  // the system may map something else there
  reserved.fetch_sub(size, std::memory_order_relaxed);
  size >= kHuge ? (void)munmap(p, size_t(size)) : std::free(p);
}

struct Block {
  Block* next;
};

struct SmallBins {  // plain data: outlives every destructor of the thread
  Block* head[kSmallBins];
  uint32_t count[kSmallBins];
  int64_t unreported;  // bytes in use that in_use does not know of yet
  bool guarded, closed;
};
thread_local constinit SmallBins small{};

void empty_small_bins() {
  for (int i = 0; i < kSmallBins; ++i) {
    while (Block* b = small.head[i]) {
      small.head[i] = b->next;
      system_free(b, (i + 1) * kSmallStep);
    }
    small.count[i] = 0;
  }
}

void note_use(int64_t bytes) {
  const int64_t now = in_use.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  int64_t seen = peak.load(std::memory_order_relaxed);
  while (now > seen && !peak.compare_exchange_weak(seen, now, std::memory_order_relaxed)) {
  }
}
void report_small() {
  note_use(small.unreported);
  small.unreported = 0;
}
// Small blocks are reported in sums: a locked instruction per block would be felt. The statistics miss this much per thread.
constexpr int64_t kReported = 64 << 10;
void note_small(int64_t bytes) {
  small.unreported += bytes;
  if (small.unreported >= kReported || small.unreported <= -kReported || small.closed) [[unlikely]]
    report_small();
}

struct SmallGuard {
  ~SmallGuard() {
    small.closed = true;
    report_small();
    empty_small_bins();
  }
};
void guard_this_thread() {
  if (small.guarded) return;
  thread_local SmallGuard guard;
  (void)guard;
  small.guarded = true;
}

struct LargeBins {
  ForkSafeMutex mutex;
  std::array<Block*, kLargeBins> head{};
  int64_t cached = 0;

  // Everything in `taken` is given back outside the lock.
  void empty() {
    std::vector<std::pair<Block*, int64_t>> taken;
    {
      std::lock_guard lock(mutex);
      for (int i = 0; i < kLargeBins; ++i) {
        const int64_t size = (int64_t(1) << (i / 4)) + (int64_t(i % 4) << (i / 4)) / 4;
        for (Block* b = head[i]; b; b = b->next) taken.emplace_back(b, size);
        head[i] = nullptr;
      }
      cached = 0;
    }
    for (auto [b, size] : taken) system_free(b, size);
  }
};
LargeBins& large() {
  static auto* bins = new LargeBins;
  return *bins;
}

int64_t cache_limit() { return host_memory_limit() / 2; }

// PYBURN_POISON: the initial contents of blocks, to detect reads of uninitialised memory: "nan" shows in results, "subnormal" in run times
// (such numbers are a hundred times slower). 0: unchanged contents.
uint32_t poison_from_environment() {
  const char* text = std::getenv("PYBURN_POISON");
  const std::string_view kind = text ? text : "";
  return kind == "nan" ? 0xffffffffu : kind == "subnormal" ? 0x00000100u : 0;
}
const uint32_t poison = poison_from_environment();

void check_limit(int64_t bytes, int64_t held) {
  require<OutOfMemoryError>(bytes <= host_memory_limit() - held,
      "memory limit of {} bytes exceeded: got a request for {} bytes with {} in use", host_memory_limit(), bytes, held);
}

void* allocate(int64_t bytes) {
  void* p = nullptr;
  if (bytes <= kSmall) {
    const int64_t size = rounded(bytes > 0 ? bytes : 1), bin = size / kSmallStep - 1;
    note_small(size);
    if (Block* b = small.head[bin]) {
      small.head[bin] = b->next;
      --small.count[bin];
      return b;
    }
    guard_this_thread();
    p = system_allocate(size);
    require<OutOfMemoryError>(p, "cannot allocate host memory: got a request for {} bytes", bytes);
    return p;
  }
  check_limit(bytes, 0);
  const int64_t size = rounded(bytes);
  {
    std::lock_guard lock(large().mutex);
    Block*& head = large().head[large_bin(size)];
    if (Block* b = head) {
      head = b->next;
      large().cached -= size;
      p = b;
    }
  }
  if (!p && size > host_memory_limit() - reserved.load(std::memory_order_relaxed)) {
    empty_host_cache();
    check_limit(bytes, reserved.load(std::memory_order_relaxed));
  }
  if (!p) p = system_allocate(size);
  if (!p) {
    empty_host_cache();
    p = system_allocate(size);
  }
  require<OutOfMemoryError>(p, "cannot allocate host memory: got a request for {} bytes", bytes);
  note_use(size);
  return p;
}

}  // namespace

OrdinaryPages::OrdinaryPages() : before_(std::exchange(ordinary_pages, true)) {}
OrdinaryPages::~OrdinaryPages() { ordinary_pages = before_; }
bool OrdinaryPages::wanted() { return ordinary_pages; }

void* host_allocate(int64_t bytes) {
  void* p = allocate(bytes);
  const int64_t size = rounded(bytes > 0 ? bytes : 1);
  allow_memory(p, size_t(size));
  if (poison) [[unlikely]]
    std::fill_n(static_cast<uint32_t*>(p), size / int64_t(sizeof poison), poison);
  forbid_memory(static_cast<char*>(p) + bytes, size_t(size - bytes));
  return p;
}

void host_free(void* p, int64_t bytes) noexcept {
  if (!p) return;
  const int64_t size = rounded(bytes > 0 ? bytes : 1);
  auto* block = static_cast<Block*>(p);
  allow_memory(block, sizeof *block);
  forbid_memory(block + 1, size_t(size) - sizeof *block);
  if (size <= kSmall) {
    note_small(-size);
    const int64_t bin = size / kSmallStep - 1;
    if (small.closed || small.count[bin] >= kSmallCap) return system_free(p, size);
    guard_this_thread();
    block->next = small.head[bin];
    small.head[bin] = block;
    ++small.count[bin];
    return;
  }
  in_use.fetch_sub(size, std::memory_order_relaxed);
  {
    std::lock_guard lock(large().mutex);
    if (large().cached + size <= cache_limit()) {
      Block*& head = large().head[large_bin(size)];
      block->next = head;
      head = block;
      large().cached += size;
      return;
    }
  }
  system_free(p, size);
}

MemoryStatistics host_memory() {
  report_small();
  return {in_use, reserved, peak};
}

void empty_host_cache() {
  empty_small_bins();
  large().empty();
}

}  // namespace pyburn
