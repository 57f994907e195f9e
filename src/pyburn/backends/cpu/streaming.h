// Copies by vectors, and when and how results bypass the caches; see streaming-inl.h.
#pragma once
#include <cstdint>

namespace pyburn::cpu {

// Results of this many bytes are more than the caches hold for the operation that reads them next. Smaller ones are better off there: an
// addition of 1M floats (4 MB) alone takes 0.41 instead of 0.47 ms past the caches, but a chain of seven 3.6 instead of 2.6 ms.
inline constexpr int64_t kStreamed = 32 << 20;

// to = from, past the caches. hwy::FlushStream() afterwards makes it visible to other threads.
void write_around_caches(const void* from, void* to, int64_t bytes);

// y[i] = x[n - 1 - i].
void copy_reversed(const uint32_t* x, uint32_t* y, int64_t n);

// y[k * t + c] = x[c * f + k] for k, c < 16: a line of the cache both ways, in registers. nullptr where registers are too short.
using SquareTranspose = void (*)(const uint32_t* x, int64_t f, uint32_t* y, int64_t t, bool streamed);
SquareTranspose square_transpose();

}  // namespace pyburn::cpu
