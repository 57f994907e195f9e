#include "pyburn/support/interruptible.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "pyburn/support/interrupt.h"
#include "pyburn/support/patient_lock.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn {
namespace {

struct Call {
  std::function<void()> work;
  std::atomic<int> cancelled{0};
  std::exception_ptr error;
  bool done = false;
  std::mutex mutex;
  std::condition_variable finished;

  void run() {
    detail::work_cancelled = &cancelled;
    try {
      work();
    } catch (...) {
      error = std::current_exception();
    }
    detail::work_cancelled = nullptr;
    work = nullptr;  // what it owned
    const std::lock_guard lock(mutex);
    done = true;
    finished.notify_one();
  }
  bool wait_a_while() {
    std::unique_lock lock(mutex);
    return finished.wait_for(lock, std::chrono::milliseconds(200), [&] { return done; });
  }
};

// As many threads as there have been calls at a time; they wait for the next one.
class Carriers {
 public:
  // False where no carrier is idle and the system gives no more threads.
  bool submit(std::shared_ptr<Call> call) {
    const std::lock_guard lock(mutex_);
    try {
      if (waiting_ <= calls_.size()) std::thread([this] { carry(); }).detach();
    } catch (const std::system_error&) {
      return false;
    }
    calls_.push_back(std::move(call));
    more_.notify_one();
    return true;
  }

 private:
  void carry() {
    for (;;) {
      std::shared_ptr<Call> call;
      {
        std::unique_lock lock(mutex_);
        ++waiting_;
        more_.wait(lock, [&] { return !calls_.empty(); });
        --waiting_;
        call = std::move(calls_.front());
        calls_.pop_front();
      }
      call->run();
    }
  }

  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<std::shared_ptr<Call>> calls_;
  size_t waiting_ = 0;
};

std::atomic<Carriers*> carriers{nullptr};  // never freed: detached threads use them until the process ends

Carriers& all_carriers() {
  static const bool once = [] {
    carriers = new Carriers;
    pthread_atfork(nullptr, nullptr, [] { carriers = new Carriers; });  // a forked child has none of the threads
    return true;
  }();
  (void)once;
  return *carriers.load();
}

}  // namespace

void run_interruptible(std::function<void()> work) {
  if (!poll_interrupt || detail::work_cancelled || in_parallel_for()) return work();
  const auto call = std::make_shared<Call>();
  call->work = std::move(work);
  if (!all_carriers().submit(call)) return call->work();
  struct Wait {
    Call& call;
    bool done = false;
  } wait{*call};
  for (;;) {
    while_waiting([](void* on) { static_cast<Wait*>(on)->done = static_cast<Wait*>(on)->call.wait_a_while(); }, &wait);
    if (wait.done) break;
    try {
      poll_interrupt();
    } catch (...) {
      call->cancelled = 1;
      throw;
    }
  }
  if (call->error) std::rethrow_exception(call->error);
}

}  // namespace pyburn
