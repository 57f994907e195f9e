// Three ways to copy: runs that are plain on both sides; blocks where the rows of one side are the columns of the other;
// and elements one by one.
#include "pyburn/backends/cpu/strided_copy.h"

#include <hwy/cache_control.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "pyburn/backends/cpu/dispatch_dtype.h"
#include "pyburn/backends/cpu/streaming.h"
#include "pyburn/backends/cpu/tiles.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn::cpu {
namespace {

constexpr int kFrom = 0, kTo = 1;

// Iterates over the offsets of some dimensions of a loop.
class Walk {
 public:
  Walk(const Loop& loop, const SmallVector<int, 8>& axes, int64_t begin) : loop_(loop), axes_(axes), index_(axes.size(), 0) {
    for (int64_t i = axes.size() - 1; i >= 0; --i) {
      const int64_t n = loop.shape[axes[i]];
      index_[i] = begin % n;
      begin /= n;
      from += index_[i] * loop.strides[kFrom][axes[i]];
      to += index_[i] * loop.strides[kTo][axes[i]];
    }
  }
  void next() {
    for (int64_t i = axes_.size() - 1; i >= 0; --i) {
      const int axis = axes_[i];
      const int64_t n = loop_.shape[axis], f = loop_.strides[kFrom][axis], t = loop_.strides[kTo][axis];
      from += f;
      to += t;
      if (++index_[i] < n) return;
      from -= f * n;
      to -= t * n;
      index_[i] = 0;
    }
  }
  int64_t from = 0, to = 0;

 private:
  const Loop& loop_;
  const SmallVector<int, 8>& axes_;
  Dims index_;
};

template <class T>
struct Copy {
  const T* from;
  T* to;
  Loop loop;

  static constexpr int64_t kTile = 4096 / int64_t(sizeof(T));

  int last() const { return int(loop.shape.size()) - 1; }
  int64_t stride(int side, int axis) const { return loop.strides[side][axis]; }
  SmallVector<int, 8> axes_without(int a, int b) const {
    SmallVector<int, 8> axes;
    for (int i = 0; i <= last(); ++i)
      if (i != a && i != b) axes.push_back(i);
    return axes;
  }

  void run() {
    if (loop.shape.empty()) {
      *to = *from;
      return;
    }
    if (const int row = axis_to_exchange(); row >= 0) exchange(row);
    else in_rows(axis_of_rows());
  }

  // The innermost axis; where that has a few elements only, such as the colours of an image, that of `from`.
  int axis_of_rows() const {
    int axis = last();
    if (loop.inner() < 8)
      for (int i = 0; i < last(); ++i)
        if (stride(kFrom, i) == 1 && loop.shape[i] > loop.shape[axis]) axis = i;
    return axis;
  }

  // Does the walk along `outer`, then `along`, follow the memory order of `to`?
  bool writes_in_order(const SmallVector<int, 8>& outer, int along) const {
    int64_t next = loop.shape[along];
    bool in_order = stride(kTo, along) == 1;
    for (int64_t i = outer.size() - 1; i >= 0; next *= loop.shape[outer[i--]]) in_order &= stride(kTo, outer[i]) == next;
    return in_order;
  }

  static void copy_row(const T* x, int64_t f, T* y, int64_t t, int64_t count) {
    if (f == 1 && t == 1 && count * int64_t(sizeof(T)) >= 32) std::memcpy(y, x, size_t(count) * sizeof(T));  // long enough for a call
    else if (f == 0 && t == 1) std::fill_n(y, count, *x);
    else if (f == -1 && t == 1 && sizeof(T) == 4)
      copy_reversed(reinterpret_cast<const uint32_t*>(x - count + 1), reinterpret_cast<uint32_t*>(y), count);
    else if (f == -1 && t == 1) std::reverse_copy(x - count + 1, x + 1, y);
    else
      for (int64_t i = 0; i < count; ++i) y[i * t] = x[i * f];
  }

  // Row by row along one dimension; a chunk may begin and end inside a row. Results larger than the caches use non-temporal stores:
  // contiguous rows directly, others through a tile.
  void in_rows(int along) const {
    const int64_t inner = loop.shape[along], f = stride(kFrom, along), t = stride(kTo, along);
    const SmallVector<int, 8> outer = axes_without(along, along);
    int64_t n = inner;
    for (int axis : outer) n *= loop.shape[axis];
    const bool large = n * int64_t(sizeof(T)) >= kStreamed, long_rows = f == 1 && t == 1 && inner * int64_t(sizeof(T)) >= 1024;
    const bool streamed = large && (long_rows || writes_in_order(outer, along)), by_tile = streamed && !long_rows;
    parallel_for(n, 4 * kGrain / int64_t(sizeof(T)), [&](int64_t begin, int64_t end) {
      Walk row(loop, outer, begin / inner);
      alignas(64) T tile[kTile];
      int64_t at = begin % inner, in_tile = 0;
      while (begin < end) {
        const int64_t count = std::min({inner - at, end - begin, by_tile ? kTile - in_tile : inner});
        const T* x = from + row.from + at * f;
        T* y = to + row.to + at * t;
        if (by_tile) copy_row(x, f, tile + in_tile, 1, count);
        else if (streamed) write_around_caches(x, y, count * int64_t(sizeof(T)));
        else copy_row(x, f, y, t, count);
        begin += count, at += count, in_tile += count;
        if (by_tile && (in_tile == kTile || begin == end)) {
          write_around_caches(tile, to + begin - in_tile, in_tile * int64_t(sizeof(T)));
          in_tile = 0;
        }
        if (at == inner) at = 0, row.next();
      }
      if (streamed) hwy::FlushStream();
    });
  }

  // --- where the innermost axis of `to` is not that of `from`: blocks of a cache line in both directions ---

  static constexpr int64_t kLine = 64 / int64_t(sizeof(T));

  int axis_to_exchange() const {
    if (stride(kTo, last()) != 1 || stride(kFrom, last()) == 1 || loop.inner() < kLine / 2) return -1;
    for (int i = 0; i < last(); ++i)
      if (stride(kFrom, i) == 1 && loop.shape[i] >= kLine / 2) return i;
    return -1;
  }

  // Large results bypass the cache: lines of `to` are far from each other and would push each other out. The blocks of a
  // strip then follow the lines of `from`, else those of `to`.
  bool is_streamed(int64_t n) const {
    bool whole_lines = reinterpret_cast<uintptr_t>(to) % 64 == 0;
    for (int i = 0; i < last(); ++i) whole_lines &= stride(kTo, i) % kLine == 0;
    return whole_lines && n * int64_t(sizeof(T)) >= kStreamed / 4;
  }

  void exchange(int row) const {
    const SmallVector<int, 8> outer = axes_without(row, last());
    const int64_t rows = loop.shape[row], columns = loop.inner(), f = stride(kFrom, last()), t = stride(kTo, row);
    int64_t matrices = 1;
    for (int axis : outer) matrices *= loop.shape[axis];
    const bool streamed = is_streamed(matrices * rows * columns);
    const int64_t across = streamed ? columns : rows, along = streamed ? rows : columns;
    const int64_t span = streamed ? kLine : 4 * kLine;  // in the caches, squares of several lines: both sides find them there again
    const int64_t strips = (across + span - 1) / span;
    const SquareTranspose by_registers = sizeof(T) == 4 ? square_transpose() : nullptr;
    parallel_for(matrices * strips, std::max<int64_t>(1, kGrain / (span * along)), [&](int64_t begin, int64_t end) {
      Walk matrix(loop, outer, begin / strips);
      auto block = [&](int64_t column, int64_t i) {
        const T* x = from + matrix.from + column * f + i;
        T* y = to + matrix.to + i * t + column;
        const int64_t width = std::min(kLine, columns - column), height = std::min(kLine, rows - i);
        if (width < kLine || height < kLine) {
          for (int64_t k = 0; k < height; ++k)
            for (int64_t c = 0; c < width; ++c) y[k * t + c] = x[c * f + k];
        } else if (by_registers) {
          by_registers(reinterpret_cast<const uint32_t*>(x), f, reinterpret_cast<uint32_t*>(y), t, streamed);
        } else {
          exchange_block(x, f, y, t, streamed);
        }
      };
      for (int64_t strip = begin; strip < end; ++strip) {
        const int64_t first = strip % strips * span, last = std::min(across, first + span);
        if (strip > begin && first == 0) matrix.next();
        for (int64_t square = 0; square < along; square += span)
          for (int64_t a = first; a < last; a += kLine)
            for (int64_t b = square; b < std::min(along, square + span); b += kLine) streamed ? block(a, b) : block(b, a);
      }
      if (streamed) hwy::FlushStream();
    });
  }

  // y[k][c] = x[c][k] for a line of elements both ways: small squares in registers, then whole lines to memory.
  static void exchange_block(const T* x, int64_t f, T* y, int64_t t, bool streamed) {
    alignas(64) T block[kLine][kLine];
    for (int64_t c = 0; c < kLine; c += kSide)
      for (int64_t k = 0; k < kLine; k += kSide) {
        Lanes square[kSide];
        for (int64_t i = 0; i < kSide; ++i) std::memcpy(&square[i], x + (c + i) * f + k, 16);
        transpose(square);
        for (int64_t i = 0; i < kSide; ++i) std::memcpy(&block[k + i][c], &square[i], 16);
      }
    for (int64_t k = 0; k < kLine; ++k)
      streamed ? write_around_caches(block[k], y + k * t, 64) : (void)std::memcpy(y + k * t, block[k], 64);
  }

  typedef T Lanes __attribute__((vector_size(16)));
  static constexpr int kSide = 16 / int(sizeof(T));

  template <int... I>
  static Lanes zip_low(Lanes a, Lanes b, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(a, b, (I / 2 + I % 2 * kSide)...);
  }
  template <int... I>
  static Lanes zip_high(Lanes a, Lanes b, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(a, b, (kSide / 2 + I / 2 + I % 2 * kSide)...);
  }
  // Row i is swapped with row i + half, element by element; after log2(side) rounds rows have become columns.
  static void transpose(Lanes (&rows)[kSide]) {
    constexpr auto lanes = std::make_integer_sequence<int, kSide>();
    for (int round = 1; round < kSide; round *= 2) {
      Lanes next[kSide];
      for (int i = 0; i < kSide / 2; ++i) {
        next[2 * i] = zip_low(rows[i], rows[i + kSide / 2], lanes);
        next[2 * i + 1] = zip_high(rows[i], rows[i + kSide / 2], lanes);
      }
      for (int i = 0; i < kSide; ++i) rows[i] = next[i];
    }
  }
};

}  // namespace

void copy_strided(int64_t element_size, const Shape& shape, const StridedPlace& from, const StridedPlace& to) {
  if (shape.numel() == 0 || (from.data == to.data && from.strides == to.strides)) return;
  const Layout source{shape, from.strides, 0}, target{shape, to.strides, 0};
  const Layout* both[] = {&source, &target};
  Loop loop = collapse(both);
  with_element_size(element_size, [&]<class T>(T*) {
    Copy<T>{static_cast<const T*>(from.data), static_cast<T*>(to.data), std::move(loop)}.run();
  });
}

}  // namespace pyburn::cpu
