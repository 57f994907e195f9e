// A thread pool with work claiming. The caller takes part; chunks are claimed from a counter, so a busy core slows the work down but never
// blocks it.
#pragma once
#include <cstdint>
#include <type_traits>

namespace pyburn {

int num_threads();
void set_num_threads(int n);  // ValueError below 1
int default_num_threads();    // PYBURN_NUM_THREADS, else the minimum of affinity mask, cgroup quota and OMP_NUM_THREADS

// Is the caller already inside a parallel region? Nested work runs on its own thread and need not be divided.
bool in_parallel_for();

namespace detail {
using ChunkFn = void (*)(void* body, int64_t begin, int64_t end);
void parallel_chunks(int64_t n, int64_t chunk, ChunkFn fn, void* body);
}  // namespace detail

// Calls body(begin, end) over [0, n) in chunks of at least `grain` items, on several threads if that is faster. The chunks do not depend on
// the number of threads. Exceptions of the body reach the caller.
template <class Body>
void parallel_for(int64_t n, int64_t grain, Body&& body) {
  if (n <= 0) return;
  if (n <= grain) return body(int64_t(0), n);
  detail::parallel_chunks(
      n, grain, [](void* b, int64_t begin, int64_t end) { (*static_cast<std::remove_reference_t<Body>*>(b))(begin, end); }, &body);
}

}  // namespace pyburn
