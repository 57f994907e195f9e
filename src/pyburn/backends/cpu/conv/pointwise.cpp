#include "pyburn/backends/cpu/conv/pointwise.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/conv/pointwise.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>
#include <vector>

#include "pyburn/backends/cpu/gemm/product_tile-inl.h"
#include "pyburn/backends/cpu/partial_vector-inl.h"
#include "pyburn/backends/cpu/scratch_buffer.h"
#include "pyburn/backends/cpu/streaming-inl.h"
#include "pyburn/support/cache_size.h"
#include "pyburn/support/thread_pool.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t kTasks = 8;                  // with fewer slices of pixels, rows of results are distributed as well
constexpr int64_t kTaskWork = 1 << 18;         // multiply-adds that are worth a task
constexpr int64_t kPixels = 256;               // at a time: long enough runs of memory
constexpr int64_t kDepth = 128;                // channels at a time, at most: a panel of pixels fits in L1
constexpr int64_t kBlockRows = 4 * kTileRows;  // of results, which meet a panel of pixels while it is there
constexpr int64_t kLanes = kVector<float>, kWidth = kPanel<float>;

// --- strided rows of pixels; read and written in whole vectors if there is room ---

// to[i] = from[i * step] for count elements; what follows them in `to`, up to a vector, is overwritten. `end`: of what may be read.
HWY_INLINE void read_row(const float* from, const float* end, int64_t step, int64_t count, float* to) {
  const hn::ScalableTag<float> d;
  int64_t i = 0;
  if (step == 1) {
    for (; i < count && from + i + kLanes <= end; i += kLanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
#if HWY_TARGET != HWY_SCALAR
  } else if (step == 2) {
    for (; i < count && from + 2 * (i + kLanes) <= end; i += kLanes)
      hn::StoreU(hn::ConcatEven(d, hn::LoadU(d, from + 2 * i + kLanes), hn::LoadU(d, from + 2 * i)), d, to + i);
#endif
  }
  for (; i < count; ++i) to[i] = from[i * step];
}

HWY_INLINE void zero_row(float* to, int64_t count) {
  const hn::ScalableTag<float> d;
  for (int64_t i = 0; i < count; i += kLanes) store_first(hn::Zero(d), d, to + i, count - i);
}

// to[i * step] = from[i], zero elsewhere; `width` elements. Whole vectors of `from` may be read.
HWY_INLINE void spread_row(const float* from, int64_t step, int64_t count, float* to, int64_t width) {
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  if (step == 2) {  // a number and a zero: a number of twice the width
    const hn::ScalableTag<float> d;
    const hn::Repartition<uint64_t, decltype(d)> pairs;
    const hn::Rebind<uint32_t, decltype(pairs)> halves;
    for (int64_t i = 0; 2 * i < width; i += kLanes / 2) {
      const auto bits = hn::LoadU(halves, reinterpret_cast<const uint32_t*>(from) + i);
      store_first(hn::BitCast(d, hn::PromoteTo(pairs, bits)), d, to + 2 * i, std::min(width, 2 * count) - 2 * i);
    }
    return zero_row(to + 2 * count, width - 2 * count);
  }
#endif
  zero_row(to, width);
  for (int64_t i = 0; i < count; ++i) to[i * step] = from[i];
}

HWY_INLINE void copy_row(const float* from, int64_t count, float* to) {
  const hn::ScalableTag<float> d;
  for (int64_t i = 0; i < count; i += kLanes) store_first(hn::LoadU(d, from + i), d, to + i, count - i);
}

// --- the product ---

// How the pixels of the product are arranged in planes of the source or the result: with a stride in each dimension.
struct Side {
  int64_t channels, height, width, step_y, step_x;
  int64_t plane() const { return height * width; }
  int64_t offset(int64_t image, int64_t y, int64_t x) const { return image * channels * plane() + y * step_y * width + x * step_x; }
};

// Neighbouring pixels of a slice: offsets on both sides, the first column in the slice, and their number.
struct Piece {
  int64_t source, result, column, count;
  bool last_column, last_row;  // do they end a row, are they in the last row of the image?
};

struct PointwiseProduct {
  int64_t images, groups, rows, depth;  // rows and depth: channels of result and source in a group
  int64_t height, width;                // pixels of an image
  Side source, result;
  const float *from, *weights, *bias;
  float* to;
  ImageFinish finish;

  int64_t pixels() const { return images * height * width; }
  bool dense() const { return result.step_y == 1 && result.step_x == 1; }  // a slice of a single row says nothing about these steps
  // Results that leave the last cache before they are read are written with non-temporal stores, from blocks of rows.
  bool streamed() const {
    return dense() && !finish && depth <= kDepth &&
           images * result.channels * result.plane() * int64_t(sizeof(float)) > l3_cache_bytes() / 2;
  }

  std::vector<Piece> pieces(int64_t begin, int64_t end) const {
    std::vector<Piece> found;
    for (int64_t q = begin; q < end;) {
      const int64_t x = q % width, y = q / width % height, image = q / width / height, count = std::min(width - x, end - q);
      found.push_back({source.offset(image, y, x), result.offset(image, y, x), q - begin, count, x + count == width, y + 1 == height});
      q += count;
    }
    return found;
  }

  // Sets the elements past the `columns` of a slice to zero, as far as tiles read: uninitialised memory may contain subnormal numbers,
  // which are a hundred times slower.
  void close_rows(int64_t columns, int64_t count, float* slice) const {
    for (int64_t k = 0; k < count; ++k, slice += row_size()) std::fill(slice + columns, slice + divided_up(columns, kLanes) * kLanes, 0.0f);
  }

  // `count` channels of the source, a row of pixels each.
  void pack(const std::vector<Piece>& list, const float* channel, int64_t count, float* slice) const {
    const float* end = from + images * source.channels * source.plane();
    for (int64_t k = 0; k < count; ++k, channel += source.plane(), slice += row_size())
      for (const Piece& p : list) read_row(channel + p.source, end, source.step_x, p.count, slice + p.column);
  }

  // Inlined, because compilers take a function that only fetches for one that does nothing.
  HWY_INLINE void prefetch(const std::vector<Piece>& list, const float* channel, int64_t begin, int64_t end) const {
    constexpr int64_t line = 64 / int64_t(sizeof(float));
    for (int64_t k = begin; k < end; ++k)
      for (const Piece& p : list) {
        const float* at = channel + k * source.plane() + p.source;
        for (int64_t i = 0; i < p.count * source.step_x; i += line) __builtin_prefetch(at + i, 0, 2);
      }
  }

  // Those whose results follow each other as one.
  static std::vector<Piece> joined(const std::vector<Piece>& list) {
    std::vector<Piece> found;
    for (const Piece& p : list) {
      if (!found.empty() && found.back().result + found.back().count == p.result) found.back().count += p.count;
      else found.push_back(p);
    }
    return found;
  }

  // Copies consecutive rows of results in `tile` to their destinations.
  void write(const std::vector<Piece>& list, int64_t count, const float* tile, float* channel) const {
    for (int64_t r = 0; r < count; ++r, tile += row_size(), channel += result.plane())
      for (const Piece& p : list) {
        float* target = channel + p.result;
        if (dense()) {
          if (streamed()) stream_bytes(tile + p.column, target, p.count * int64_t(sizeof(float)));
          else copy_row(tile + p.column, p.count, target);
          continue;
        }
        const int64_t x = p.result % result.width, y = p.result % result.plane() / result.width;
        const int64_t across = p.last_column ? result.width - x : p.count * result.step_x;
        const int64_t down = p.last_row ? result.height - y : result.step_y;
        spread_row(tile + p.column, result.step_x, p.count, target, across);
        for (int64_t i = 1; i < down; ++i) zero_row(target + i * result.width, across);
      }
  }

  // Channels [channel, channel + count) of these results, which are dense, are complete.
  void finish_rows(const std::vector<Piece>& list, int64_t channel, int64_t count) const {
    if (!finish) return;
    const int64_t image = result.channels * result.plane();
    for (const Piece& p : list) finish(p.result / image, channel, count, p.result % image, p.count);
  }

  // Rows [row, row_end) of the results of a slice of pixels. While it is multiplied, what `next` says is fetched from memory.
  void run(int64_t group, const std::vector<Piece>& list, const std::vector<Piece>& next, int64_t row, int64_t row_end, float* slice,
      float* tile) const {
    const int64_t columns = list.back().column + list.back().count;
    const std::vector<Piece> places = dense() ? joined(list) : list;
    const bool direct = dense() && places.size() == 1 && !streamed();
    const bool by_blocks = !direct && depth <= kDepth;  // a block of rows is done at once: it is put in its place from L1
    // Consecutive pixels are read in place by the first tile that uses them, which stores them as panels for the others.
    const bool in_place = list.size() == 1 && source.step_x == 1;
    const bool far = images * source.channels * source.plane() * int64_t(sizeof(float)) > l2_cache_bytes() / 2;  // to be fetched ahead
    const float* channel = from + group * depth * source.plane();
    float* target = to + (group * rows + row) * result.plane();
    float* c = direct ? target + list[0].result : tile;
    const int64_t c_row = direct ? result.plane() : row_size();
    if (!in_place) close_rows(columns, std::min(kDepth, depth), slice);
    for (int64_t k0 = 0; k0 < depth; k0 += kDepth) {
      const int64_t count = std::min(kDepth, depth - k0);
      if (!in_place) pack(list, channel + k0 * source.plane(), count, slice);
      const bool last = k0 + count == depth;
      const std::vector<Piece>& ahead = last ? next : list;
      const float* ahead_channel = last ? channel : channel + (k0 + count) * source.plane();
      const int64_t ahead_count = std::min(kDepth, last ? depth : depth - k0 - count);
      const float* a = weights + (group * rows + row) * depth + k0;
      const int64_t tiles = divided_up(row_end - row, kTileRows) * divided_up(columns, kWidth);
      int64_t done = 0;
      for (int64_t first = 0; first < row_end - row; first += kBlockRows) {
        const int64_t last = std::min(row_end - row, first + kBlockRows);
        float* block = by_blocks ? tile : c + first * c_row;
        if (bias && k0 == 0)
          for (int64_t r = first; r < last; ++r) std::fill_n(block + (r - first) * c_row, columns, bias[group * rows + row + r]);
        for (int64_t j = 0; j < columns; j += kWidth) {
          const int64_t here = std::min(kWidth, columns - j), most = rows_of_tile(int(divided_up(here, kLanes)));
          for (int64_t i = first; i < last; i += most, ++done) {
            if (far) prefetch(ahead, ahead_channel, ahead_count * done / tiles, ahead_count * (done + 1) / tiles);
            const int64_t tile_rows = std::min(most, last - i);
            float *at = block + (i - first) * c_row + j, *panel = in_place ? slice + j * count : slice + j;
            const float* start = bias || k0 > 0 ? at : nullptr;
            if (in_place && i == 0) {
              tile_function<float, LeftOrder::rows, RightPlace::in_place>(tile_rows, here)({count, a, depth,
                  channel + k0 * source.plane() + list[0].source + j, source.plane(), panel, start, c_row, at, c_row, here});
            } else {
              const int64_t b_row = in_place ? divided_up(here, kLanes) * kLanes : row_size();
              tile_function<float, LeftOrder::rows, RightPlace::packed>(tile_rows, here)(
                  {count, a + i * depth, depth, panel, b_row, nullptr, start, c_row, at, c_row, here});
            }
          }
        }
        if (by_blocks) write(places, last - first, tile, target + first * result.plane());
        if (k0 + count == depth && (direct || by_blocks)) finish_rows(places, group * rows + row + first, last - first);
      }
    }
    if (direct || by_blocks) return;
    write(places, row_end - row, tile, target);
    finish_rows(places, group * rows + row, row_end - row);
  }

  // Smaller if results are read again for each part of the channels, and with strides: then an image has more slices.
  int64_t pixels_at_once() const { return std::min(depth > kDepth || source.step_x > 1 ? kPixels / 2 : kPixels, pixels()); }
  // Of a slice: an odd number of cache lines, because rows that are a power of two apart drive each other out of L1.
  int64_t row_size() const {
    constexpr int64_t line = 64 / int64_t(sizeof(float));
    return (divided_up(std::max(pixels_at_once(), kLanes), line) | 1) * line;
  }

  void run_all() const {
    const int64_t step = pixels_at_once(), slices = divided_up(pixels(), step), all = groups * slices, tiles = divided_up(rows, kTileRows);
    const int64_t parts = std::min(tiles, divided_up(kTasks, all)), part_rows = divided_up(tiles, parts) * kTileRows;
    const int64_t most_rows = std::min(part_rows, rows), work = step * depth * most_rows;
    parallel_for(parts * all, std::max<int64_t>(1, 4 * kTaskWork / work), [&](int64_t begin, int64_t end) {
      ScratchBuffer<float> slice(row_size() * std::min(kDepth, depth) + kLanes), tile(most_rows * row_size() + kLanes);
      const auto pieces_of = [&](int64_t task) {
        const int64_t q = task % slices * step;
        return task < parts * all ? pieces(q, std::min(pixels(), q + step)) : std::vector<Piece>();
      };
      std::vector<Piece> list = pieces_of(begin);
      for (int64_t task = begin; task < end; ++task) {
        const int64_t row = task / all * part_rows, row_end = std::min(rows, row + part_rows), group = task / slices % groups;
        std::vector<Piece> next = pieces_of(task + 1);
        if (row < row_end) run(group, list, next, row, row_end, slice.data(), tile.data());
        list = std::move(next);
      }
      if (streamed()) hwy::FlushStream();
    });
  }
};

// Without steps an image is one long row.
PointwiseProduct product_of(const ConvGeometry& g, const float* weights, const float* bias, ImageFinish finish) {
  const bool steps = g.y.stride > 1 || g.x.stride > 1;
  PointwiseProduct p{};
  p.images = g.batch, p.groups = g.groups, p.weights = weights, p.bias = bias, p.finish = finish;
  p.height = steps ? g.y.out : 1, p.width = steps ? g.x.out : g.pixels();
  return p;
}
Side dense_side(const ConvGeometry& g, int64_t channels) { return {g.groups * channels, g.y.out, g.x.out, 1, 1}; }
Side stepped_side(const ConvGeometry& g, int64_t channels) { return {g.groups * channels, g.y.in, g.x.in, g.y.stride, g.x.stride}; }

void forward(const ConvGeometry& g, const float* x, const float* w, const float* bias, float* y, ImageFinish finish) {
  PointwiseProduct p = product_of(g, w, bias, finish);
  p.rows = g.outputs, p.depth = g.channels, p.from = x, p.to = y;
  p.source = stepped_side(g, g.channels), p.result = dense_side(g, g.outputs);
  p.run_all();
}
void input_gradient(const ConvGeometry& g, const float* dy, const float* w, float* dx, ImageFinish finish) {
  PointwiseProduct p = product_of(g, w, nullptr, finish);
  p.rows = g.channels, p.depth = g.outputs, p.from = dy, p.to = dx;
  p.source = dense_side(g, g.outputs), p.result = stepped_side(g, g.channels);
  p.run_all();
}

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {

HWY_EXPORT(forward);
HWY_EXPORT(input_gradient);

void convolve_pointwise(const ConvGeometry& g, const float* x, const float* w, const float* b, float* y, ImageFinish finish) {
  HWY_DYNAMIC_DISPATCH(forward)(g, x, w, b, y, finish);
}
void convolve_pointwise_input(const ConvGeometry& g, const float* dy, const float* w, float* dx, ImageFinish finish) {
  HWY_DYNAMIC_DISPATCH(input_gradient)(g, dy, w, dx, finish);
}

}  // namespace pyburn::cpu
#endif
