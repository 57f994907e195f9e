// Ctrl-C during long work. Loops that may take longer than about 0.1 s call check_interrupt() regularly.
#pragma once
#include <atomic>
#include <cstdint>

namespace pyburn {

// Throws if the user interrupts this thread. Set by the bindings; null in programs without them.
extern void (*poll_interrupt)();

// Polls at most five times a second (a poll may wait for Python's lock) and rethrows what it throws; each call reads a clock. On a worker
// of the thread pool: throws WorkCancelled after the region's work has failed elsewhere.
void check_interrupt();

// check_interrupt() for loops with short steps: called once per this much work, in operations of about a nanosecond.
class InterruptTicker {
 public:
  void work(int64_t operations) {
    if ((left_ -= operations) > 0) return;
    left_ = kPeriod;
    check_interrupt();
  }

 private:
  static constexpr int64_t kPeriod = 1 << 24;
  int64_t left_ = kPeriod;
};

struct WorkCancelled {};  // caught by the thread pool, which reports the first error

namespace detail {
// For the thread pool: checked by worker threads instead of polling. Null on other threads.
extern thread_local constinit const std::atomic<int>* work_cancelled;
}  // namespace detail

}  // namespace pyburn
