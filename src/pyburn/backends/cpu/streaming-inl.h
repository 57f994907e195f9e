// Non-temporal stores for results that exceed the caches: memory need not be read before it is overwritten. Compiled for each instruction
// set: include after foreach_target.h.
#if defined(PYBURN_STREAMING_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PYBURN_STREAMING_INL_H
#undef PYBURN_STREAMING_INL_H
#else
#define PYBURN_STREAMING_INL_H
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "pyburn/backends/cpu/scratch_buffer.h"
#include "pyburn/backends/cpu/streaming.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Writes whole cache lines if a register is as long as a line: partial lines would have to wait for each other.
HWY_INLINE void stream_bytes(const void* from, void* to, int64_t bytes) {
  const hn::ScalableTag<uint8_t> d;
  constexpr int64_t step = HWY_LANES(uint8_t);
  const uint8_t* x = static_cast<const uint8_t*>(from);
  uint8_t* y = static_cast<uint8_t*>(to);
  int64_t i = -reinterpret_cast<uintptr_t>(y) % size_t(step);  // up to the first whole line
  if (i >= bytes) i = 0;
  else if (i) std::memcpy(y, x, size_t(i));
  for (; bytes - i >= step; i += step) hn::Stream(hn::LoadU(d, x + i), d, y + i);
  for (; i < bytes; ++i) y[i] = x[i];
}

// Rows of a contiguous result that are computed one by one: in place, or in a buffer that is then written with non-temporal stores.
template <class T>
class RowWriter {
 public:
  RowWriter(T* rows, int64_t count, int64_t length) : rows_(rows), length_(length), streamed_(count * bytes() >= kStreamed) {}
  // Calls make(row, to) for these rows.
  template <class Make>
  void write(int64_t begin, int64_t end, Make make) const {
    if (!streamed_) {
      for (int64_t row = begin; row < end; ++row) make(row, rows_ + row * length_);
      return;
    }
    ScratchBuffer<T> line(length_);
    for (int64_t row = begin; row < end; ++row) {
      make(row, line.data());
      stream_bytes(line.data(), rows_ + row * length_, bytes());
    }
    hwy::FlushStream();
  }

 private:
  int64_t bytes() const { return length_ * int64_t(sizeof(T)); }
  T* rows_;
  int64_t length_;
  bool streamed_;
};

}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
