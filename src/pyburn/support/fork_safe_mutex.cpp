#include "pyburn/support/fork_safe_mutex.h"

#include <pthread.h>

#include <chrono>
#include <thread>

#include "pyburn/support/patient_lock.h"

namespace pyburn {

using Clock = std::chrono::steady_clock;
constexpr auto kPatience = std::chrono::seconds(10);     // for an operation that another thread is in the middle of
constexpr auto kHeld = std::chrono::milliseconds(20);    // after which Python's lock is given up for a moment
constexpr auto kRetry = std::chrono::microseconds(100);  // between two attempts

class ForkLocks {
 public:
  static ForkLocks& all() {
    static auto* locks = [] {
      auto* fresh = new ForkLocks;  // never freed: mutexes die late
      pthread_atfork([] { all().prepare(); }, [] { all().after(false); }, [] { all().after(true); });
      return fresh;
    }();
    return *locks;
  }
  void add(ForkLock& lock) {
    const std::lock_guard guard(mutex_);
    lock.next_ = first_;
    if (first_) first_->previous_ = &lock;
    first_ = &lock;
  }
  void remove(ForkLock& lock) {
    const std::lock_guard guard(mutex_);
    (lock.previous_ ? lock.previous_->next_ : first_) = lock.next_;
    if (lock.next_) lock.next_->previous_ = lock.previous_;
  }

 private:
  // Takes all, or none and starts again: nothing is held while waiting, so no order of locking elsewhere can lead to a deadlock. First with
  // Python's lock, since threads that have finished an operation stop there; now and then without it, since the holder may need it.
  void prepare() {
    const auto begin = Clock::now();
    for (auto held_since = begin;;) {
      mutex_.lock();
      const bool late = Clock::now() - begin > kPatience;
      if (take_all(late)) return;
      mutex_.unlock();
      if (Clock::now() - held_since < kHeld) {
        std::this_thread::sleep_for(kRetry);
      } else {
        while_waiting([](void*) { std::this_thread::sleep_for(kRetry); }, nullptr);
        held_since = Clock::now();
      }
    }
  }
  // `late`: a child with a queue that is half done is better than no child.
  bool take_all(bool late) {
    for (ForkLock* lock = first_; lock; lock = lock->next_) {
      lock->taken_ = lock->try_lock_for_fork();
      if (lock->taken_ || late) continue;
      for (ForkLock* back = first_; back != lock; back = back->next_) give_back(*back);
      return false;
    }
    return true;
  }
  void after(bool in_child) {
    for (ForkLock* lock = first_; lock; lock = lock->next_) {
      if (in_child) lock->renew_in_child(), lock->taken_ = false;
      else give_back(*lock);
    }
    mutex_.unlock();
  }
  static void give_back(ForkLock& lock) {
    if (lock.taken_) lock.unlock_after_fork();
    lock.taken_ = false;
  }

  std::mutex mutex_;  // guards the list; held across fork() by the thread that forks
  ForkLock* first_ = nullptr;
};

void ForkLock::enter_list() { ForkLocks::all().add(*this); }
void ForkLock::leave_list() { ForkLocks::all().remove(*this); }

}  // namespace pyburn
