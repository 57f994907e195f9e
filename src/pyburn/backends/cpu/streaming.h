// Vectorised copies, and when and how results bypass the caches; see streaming-inl.h.
#pragma once
#include <cstdint>

namespace pyburn::cpu {

// Results of at least this many bytes exceed the caches for the next operation. Smaller results should stay cached: one addition of 1M
// floats (4 MB) takes 0.41 instead of 0.47 ms with non-temporal stores, but a chain of seven takes 3.6 instead of 2.6 ms.
inline constexpr int64_t kStreamed = 32 << 20;

// Copies with non-temporal stores. hwy::FlushStream() afterwards makes the result visible to other threads.
void write_around_caches(const void* from, void* to, int64_t bytes);

// y[i] = x[n - 1 - i].
void copy_reversed(const uint32_t* x, uint32_t* y, int64_t n);

// y[k * t + c] = x[c * f + k] for k, c < 16: transposes whole cache lines in registers. nullptr if registers are too short.
using SquareTranspose = void (*)(const uint32_t* x, int64_t f, uint32_t* y, int64_t t, bool streamed);
SquareTranspose square_transpose();

}  // namespace pyburn::cpu
