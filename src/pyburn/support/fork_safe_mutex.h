// Mutexes that survive fork(). A child has only the thread that forked, so a mutex that another thread of the parent held would stay locked
// for ever, with half an update behind it. fork() therefore takes all of these mutexes first, and both sides give them back.
#pragma once
#include <atomic>
#include <mutex>
#include <new>
#include <shared_mutex>

namespace pyburn {

// What fork() takes: an entry of a list of the process. The class that derives from it enters itself when it is complete, and leaves before
// any part of it is destroyed, since another thread may fork at any moment.
class ForkLock {
 public:
  ForkLock() = default;
  ForkLock(const ForkLock&) = delete;
  ForkLock& operator=(const ForkLock&) = delete;

 protected:
  ~ForkLock() = default;
  void enter_list();
  void leave_list();

 private:
  friend class ForkLocks;
  virtual bool try_lock_for_fork() noexcept = 0;
  virtual void unlock_after_fork() noexcept = 0;
  virtual void renew_in_child() noexcept = 0;  // nobody but the forking thread can hold it there
  ForkLock *previous_ = nullptr, *next_ = nullptr;
  bool taken_ = false;
};

template <class Mutex>
class ForkSafe final : ForkLock {
 public:
  ForkSafe() { enter_list(); }
  ~ForkSafe() { leave_list(); }
  void lock() {
    mutex_.lock();
    owner_.store(this_thread(), std::memory_order_relaxed);
  }
  bool try_lock() {
    if (!mutex_.try_lock()) return false;
    owner_.store(this_thread(), std::memory_order_relaxed);
    return true;
  }
  void unlock() {
    owner_.store(nullptr, std::memory_order_relaxed);
    mutex_.unlock();
  }
  void lock_shared() { mutex_.lock_shared(); }
  void unlock_shared() { mutex_.unlock_shared(); }

 private:
  static const void* this_thread() {
    static thread_local constinit char here = 0;
    return &here;
  }
  // What the forking thread holds itself goes on being held, on both sides. Relaxed: only the thread itself writes its own address.
  bool mine() const { return owner_.load(std::memory_order_relaxed) == this_thread(); }
  bool try_lock_for_fork() noexcept override { return mine() || (mutex_.try_lock() && (for_fork_ = true)); }
  void unlock_after_fork() noexcept override {
    if (for_fork_) for_fork_ = false, mutex_.unlock();
  }
  // A new one in any case: glibc knows the writer of a shared mutex by its thread id, which is another one in the child.
  void renew_in_child() noexcept override {
    new (&mutex_) Mutex;
    for_fork_ = false;
    mine() ? mutex_.lock() : owner_.store(nullptr, std::memory_order_relaxed);
  }
  Mutex mutex_;
  std::atomic<const void*> owner_{nullptr};
  bool for_fork_ = false;  // guarded by mutex_
};

using ForkSafeMutex = ForkSafe<std::mutex>;
using ForkSafeSharedMutex = ForkSafe<std::shared_mutex>;

}  // namespace pyburn
