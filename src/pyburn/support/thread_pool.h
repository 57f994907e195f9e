// One pool of claiming threads. The caller takes part; chunks are claimed from a counter, so a busy core only slows
// the work down, never blocks it.
#pragma once
#include <cstdint>
#include <type_traits>

namespace pyburn {

int num_threads();
void set_num_threads(int n);  // ValueError below 1
int default_num_threads();    // PYBURN_NUM_THREADS, else the least of affinity mask, cgroup quota and OMP_NUM_THREADS

// Is the caller inside of a region of work already? What it starts then runs on its own thread, and need not be cut up.
bool in_parallel_for();

namespace detail {
using ChunkFn = void (*)(void* body, int64_t begin, int64_t end);
void parallel_chunks(int64_t n, int64_t chunk, ChunkFn fn, void* body);
}  // namespace detail

// Calls body(begin, end) over [0, n) in chunks of at least `grain` items, on several threads when that pays. The
// chunks do not depend on the number of threads. An exception of the body reaches the caller.
template <class Body>
void parallel_for(int64_t n, int64_t grain, Body&& body) {
  if (n <= 0) return;
  if (n <= grain) return body(int64_t(0), n);
  detail::parallel_chunks(
      n, grain, [](void* b, int64_t begin, int64_t end) { (*static_cast<std::remove_reference_t<Body>*>(b))(begin, end); }, &body);
}

}  // namespace pyburn
