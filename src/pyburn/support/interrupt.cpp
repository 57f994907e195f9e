#include "pyburn/support/interrupt.h"

#include <chrono>

namespace pyburn {

void (*poll_interrupt)() = nullptr;

thread_local constinit const std::atomic<int>* detail::work_cancelled = nullptr;

void check_interrupt() {
  if (detail::work_cancelled) {
    if (detail::work_cancelled->load(std::memory_order_relaxed)) throw WorkCancelled();
    return;
  }
  if (!poll_interrupt) return;
  using Clock = std::chrono::steady_clock;
  static thread_local constinit Clock::time_point next{};
  const Clock::time_point now = Clock::now();
  if (now < next) return;
  next = now + std::chrono::milliseconds(200);
  poll_interrupt();
}

}  // namespace pyburn
