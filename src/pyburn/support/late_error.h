// Storage for an error that occurred after the call that caused it.
#pragma once
#include <atomic>
#include <exception>

namespace pyburn {

class LateError {
 public:
  bool is_set() const { return set_.load(std::memory_order_acquire); }
  std::exception_ptr get() const;      // null unless set
  void set(std::exception_ptr error);  // null clears it

 private:
  std::atomic<bool> set_{false};
  std::exception_ptr error_;
};

}  // namespace pyburn
