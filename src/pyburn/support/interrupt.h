// Ctrl-C inside of long work. Loops that may take longer than about 0.1 s call check_interrupt() now and then.
#pragma once
#include <atomic>
#include <cstdint>

namespace pyburn {

// Throws when the user wants to interrupt this thread. Set by the bindings; null in programs without them.
extern void (*poll_interrupt)();

// Polls at most five times a second (a poll may wait for Python's lock) and throws what the poll throws; reads a clock per call. On a
// worker of the thread pool: throws WorkCancelled once the region's work has failed elsewhere.
void check_interrupt();

// check_interrupt() for loops with short steps: called once per so much work, counted in operations of about a nanosecond.
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

struct WorkCancelled {};  // caught by the thread pool, which reports the error that came first

namespace detail {
// For the thread pool: what a worker thread looks at in place of polling. Null on threads that are not its workers.
extern thread_local constinit const std::atomic<int>* work_cancelled;
}  // namespace detail

}  // namespace pyburn
