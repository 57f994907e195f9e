#include "pyburn/support/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "pyburn/support/error.h"
#include "pyburn/support/interrupt.h"

namespace pyburn {
namespace {

constexpr int kMaxThreads = 256;
thread_local constinit int regions_entered = 0;         // by this thread
constexpr auto kSpin = std::chrono::microseconds(100);  // a time, not a count: a pause lasts 40 to 140 cycles
// A worker that has run for this long yields its core between chunks. Otherwise, if another thread waits for the core, the worker would
// soon be preempted, probably inside a chunk, and the caller would have to wait for that chunk.
constexpr auto kOffer = std::chrono::milliseconds(1);
using Clock = std::chrono::steady_clock;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Sleep while `word` is `seen`, and wake up to n threads that do.
#ifdef __linux__
void sleep_on(std::atomic<uint32_t>& word, uint32_t seen) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}
void wake(std::atomic<uint32_t>& word, int n) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, n, nullptr, nullptr, 0);
}
#else  // all of them: the language knows one or all
void sleep_on(std::atomic<uint32_t>& word, uint32_t seen) { word.wait(seen); }
void wake(std::atomic<uint32_t>& word, int) { word.notify_all(); }
#endif

void name_this_thread() {
#ifdef __APPLE__
  pthread_setname_np("pyburn");
#else
  pthread_setname_np(pthread_self(), "pyburn");
#endif
}

int usable_processors() {
#ifdef __linux__
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
  return int(std::thread::hardware_concurrency());
}

int cgroup_limit() {  // whole CPUs that the quota allows, or a large number
  long quota = 0, period = 0;
  char word[32];
  if (FILE* f = std::fopen("/sys/fs/cgroup/cpu.max", "r")) {
    const int read = std::fscanf(f, "%31s %ld", word, &period);
    std::fclose(f);
    if (read == 2 && word[0] != 'm') quota = std::atol(word);
  }
  return quota > 0 && period > 0 ? int(std::max(1L, (quota + period - 1) / period)) : kMaxThreads;
}

// The outermost number of OMP_NUM_THREADS ("4" or "4,2"), or a large number. Malformed text is ignored, as OpenMP does.
int openmp_limit() {
  const char* text = std::getenv("OMP_NUM_THREADS");
  if (!text) return kMaxThreads;
  int outermost = 0;
  for (;; ++text) {
    char* end = nullptr;
    errno = 0;
    const long n = std::strtol(text, &end, 10);
    if (end == text || n < 1 || errno == ERANGE) return kMaxThreads;
    if (outermost == 0) outermost = int(std::min<long>(n, kMaxThreads));
    for (text = end; *text == ' ' || *text == '\t'; ++text) {
    }
    if (*text == '\0') return outermost;
    if (*text != ',') return kMaxThreads;
  }
}

// A region of work. It lives on the caller's stack; `inside` says how many workers may still look at it. Each thread has a share of the
// chunks and claims from it first, then from those of the others: a region that is run again finds what it read and wrote in the caches
// of the same cores.
struct Job {
  static constexpr int kMostShares = 16;
  struct alignas(64) Share {
    std::atomic<int64_t> next;
    int64_t end;
  };
  detail::ChunkFn fn;
  void* body;
  int64_t n, chunk;
  int shares;
  Share share[kMostShares];
  std::atomic<int> error_set{0};
  std::exception_ptr error;

  Job(detail::ChunkFn f, void* b, int64_t items, int64_t per_chunk, int threads)
      : fn(f), body(b), n(items), chunk(per_chunk), shares(std::min(threads, kMostShares)) {
    const int64_t chunks = (n + chunk - 1) / chunk;
    for (int i = 0; i < shares; ++i) {
      share[i].next.store(chunks * i / shares * chunk, std::memory_order_relaxed);
      share[i].end = std::min(n, chunks * (i + 1) / shares * chunk);
    }
  }
  // False when it stops because may_go_on(), asked before each chunk, says no.
  template <class MayGoOn>
  bool work(int thread, MayGoOn may_go_on) {
    ++regions_entered;
    bool goes_on = true;
    for (int i = 0; i < shares && goes_on; ++i) {
      Share& from = share[(thread + i) % shares];
      for (int64_t begin; (goes_on = may_go_on()) && (begin = from.next.fetch_add(chunk, std::memory_order_relaxed)) < from.end;) {
        try {
          fn(body, begin, std::min(from.end, begin + chunk));
          check_interrupt();
        } catch (...) {
          cancel(std::current_exception());
        }
      }
    }
    --regions_entered;
    return goes_on;
  }
  // The first error is rethrown to the caller; chunks that have not started are skipped.
  void cancel(std::exception_ptr e) {
    if (!error_set.exchange(1)) error = std::move(e);
    for (int k = 0; k < shares; ++k) share[k].next.store(share[k].end, std::memory_order_relaxed);
  }
  void work_to_the_end() {
    work(0, [] { return true; });
  }
};

class Pool {
 public:
  // False when another thread uses the pool: the caller then works alone.
  bool run(Job& job, int threads) {
    if (busy_.exchange(true, std::memory_order_acquire)) return false;
    start_workers(threads - 1);
    wanted_.store(threads - 1, std::memory_order_relaxed);
    job_.store(&job, std::memory_order_release);
    generation_.fetch_add(1, std::memory_order_seq_cst);
    if (sleeping_.load(std::memory_order_seq_cst) > 0) wake(generation_, threads - 1);
    job.work_to_the_end();
    job_.store(nullptr, std::memory_order_seq_cst);
    for (int64_t spins = 0; inside_.load(std::memory_order_seq_cst) != 0; ++spins) {
      if (spins < 1000) {
        pause();
        continue;
      }
      sched_yield();
      try {
        check_interrupt();
      } catch (...) {
        job.cancel(std::current_exception());  // the workers leave their chunks at their next check
      }
    }
    busy_.store(false, std::memory_order_release);
    return true;
  }

  // In a forked child the threads are gone: start over.
  void forget_threads() {
    started_ = 0;
    sleeping_ = 0;
    inside_ = 0;
    job_ = nullptr;
    busy_ = false;
  }

 private:
  // Where the system gives no more threads, those that are there do the work.
  void start_workers(int n) {
    try {
      for (; started_ < n; ++started_) std::thread([this, id = started_.load()] { worker(id); }).detach();
    } catch (const std::system_error&) {
    }
  }

  void worker(int id) {
    name_this_thread();
    uint32_t seen = 0;
    bool unfinished = false;
    for (auto running_since = Clock::now();;) {
      auto now = Clock::now();
      if (now - running_since > kOffer) {
        sched_yield();
        running_since = now = Clock::now();
      }
      for (int i = 1; !unfinished && generation_.load(std::memory_order_acquire) == seen; ++i) {
        pause();
        if (i % 64 == 0 && Clock::now() - now > kSpin) {
          sleeping_.fetch_add(1, std::memory_order_seq_cst);
          sleep_on(generation_, seen);
          sleeping_.fetch_sub(1, std::memory_order_seq_cst);
          running_since = Clock::now();
        }
      }
      seen = generation_.load(std::memory_order_acquire);
      unfinished = false;
      if (id >= wanted_.load(std::memory_order_relaxed)) continue;
      inside_.fetch_add(1, std::memory_order_seq_cst);  // before the look at job_: the caller waits for us
      Job* job = job_.load(std::memory_order_seq_cst);
      detail::work_cancelled = job ? &job->error_set : nullptr;
      unfinished = job && !job->work(id + 1, [&] { return Clock::now() - running_since < kOffer; });
      inside_.fetch_sub(1, std::memory_order_seq_cst);
    }
  }

  std::atomic<uint32_t> generation_{0};
  std::atomic<int> sleeping_{0}, inside_{0}, started_{0}, wanted_{0};
  std::atomic<Job*> job_{nullptr};
  std::atomic<bool> busy_{false};
};

Pool& pool() {
  static Pool* p = [] {
    auto* fresh = new Pool;  // never freed: detached workers use it until the process ends
    pthread_atfork(nullptr, nullptr, [] { pool().forget_threads(); });
    return fresh;
  }();
  return *p;
}

std::atomic<int> threads{0};

}  // namespace

int default_num_threads() {
  if (const char* text = std::getenv("PYBURN_NUM_THREADS"); text && *text) {
    char* end = nullptr;
    const long n = std::strtol(text, &end, 10);
    require<ValueError>(!*end && n >= 1 && n <= kMaxThreads, "[PYBURN_NUM_THREADS] expected 1 to {} threads: got {}", kMaxThreads, text);
    return int(n);
  }
  return std::clamp(std::min({usable_processors(), cgroup_limit(), openmp_limit()}), 1, kMaxThreads);
}

int num_threads() {
  int n = threads.load(std::memory_order_relaxed);
  if (n == 0) threads = n = default_num_threads();
  return n;
}

bool in_parallel_for() { return regions_entered > 0; }

void set_num_threads(int n) {
  require<ValueError>(n >= 1 && n <= kMaxThreads, "[set_num_threads] expected 1 to {} threads: got {}", kMaxThreads, n);
  threads = n;
}

void detail::parallel_chunks(int64_t n, int64_t chunk, ChunkFn fn, void* body) {
  chunk = std::max<int64_t>(chunk, 1);
  const int k = int(std::min<int64_t>(num_threads(), (n + chunk - 1) / chunk));
  Job job(fn, body, n, chunk, k);
  if (k <= 1 || !pool().run(job, k)) job.work_to_the_end();
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace pyburn
