// Mutexes that survive fork(). A child has only the forking thread, so a mutex held by another thread of the parent would stay locked
// forever, with an incomplete update. fork() therefore acquires all of these mutexes first, and both processes release them.
#pragma once
#include <atomic>
#include <mutex>
#include <new>
#include <shared_mutex>

namespace pyburn {

// An entry of the list of mutexes that fork() acquires. The derived class adds itself when its construction is complete, and removes itself
// before any part is destroyed, since another thread may fork at any time.
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
  virtual void renew_in_child() noexcept = 0;  // no other thread can hold it there
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
  // Mutexes that the forking thread holds stay held in both processes. Relaxed: only the thread itself writes its own address.
  bool mine() const { return owner_.load(std::memory_order_relaxed) == this_thread(); }
  bool try_lock_for_fork() noexcept override { return mine() || (mutex_.try_lock() && (for_fork_ = true)); }
  void unlock_after_fork() noexcept override {
    if (for_fork_) for_fork_ = false, mutex_.unlock();
  }
  // Always a new mutex: glibc identifies the writer of a shared mutex by its thread id, which differs in the child.
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
