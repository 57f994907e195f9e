#include "pyburn/support/late_error.h"

#include "pyburn/support/fork_safe_mutex.h"

namespace pyburn {
namespace {

ForkSafeMutex& error_mutex() {             // one for all: errors are rare
  static auto* mutex = new ForkSafeMutex;  // storages may die late
  return *mutex;
}

}  // namespace

std::exception_ptr LateError::get() const {
  if (!is_set()) return nullptr;
  std::lock_guard lock(error_mutex());
  return error_;
}

void LateError::set(std::exception_ptr error) {
  if (!error && !is_set()) return;
  std::lock_guard lock(error_mutex());
  std::swap(error_, error);  // the old error is destroyed with the argument, outside the lock: its destructor may be foreign code
  set_.store(error_ != nullptr, std::memory_order_release);
}

}  // namespace pyburn
