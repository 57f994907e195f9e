#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/conv/winograd.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <atomic>

#include "pyburn/backends/cpu/conv/strip-inl.h"
#include "pyburn/backends/cpu/conv/winograd.h"
#include "pyburn/backends/cpu/gemm/product_tile-inl.h"
#include "pyburn/backends/cpu/scratch_buffer.h"
#include "pyburn/support/thread_pool.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr int64_t kLanes = kVector<float>, kWidth = kPanel<float>;
constexpr int64_t kTile = 4, kWindow = 6, kPoints = kWindow * kWindow;  // a tile of results sees a window of the source
constexpr int64_t kBlock = 48;                                          // most tiles at a time: weights are read once for all of them
constexpr int64_t kTasks = 8;                                           // with fewer blocks, panels are distributed as well

// --- the three transforms, each applied along both axes ---

// How six elements of the source (step apart) look in the transformed space.
HWY_INLINE void transform_source(const V* d, int step, V* out, int out_step) {
  const D tag;
  const V two = hn::Set(tag, 2.0f), four = hn::Set(tag, 4.0f), five = hn::Set(tag, 5.0f);
  const V d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step], d4 = d[4 * step], d5 = d[5 * step];
  const V even4 = hn::NegMulAdd(four, d2, d4), odd4 = hn::NegMulAdd(four, d1, d3);  // d4 - 4 d2, d3 - 4 d1
  const V even = hn::Sub(d4, d2), odd = hn::Mul(two, hn::Sub(d3, d1));
  out[0] = hn::MulAdd(four, d0, hn::NegMulAdd(five, d2, d4));
  out[out_step] = hn::Add(even4, odd4);
  out[2 * out_step] = hn::Sub(even4, odd4);
  out[3 * out_step] = hn::Add(even, odd);
  out[4 * out_step] = hn::Sub(even, odd);
  out[5 * out_step] = hn::MulAdd(four, d1, hn::NegMulAdd(five, d3, d5));
}

HWY_INLINE void transform_result(const V* m, int step, V* out, int out_step) {
  const D tag;
  const V two = hn::Set(tag, 2.0f), four = hn::Set(tag, 4.0f), eight = hn::Set(tag, 8.0f);
  const V sum = hn::Add(m[step], m[2 * step]), difference = hn::Sub(m[step], m[2 * step]);
  const V far_sum = hn::Add(m[3 * step], m[4 * step]), far_difference = hn::Sub(m[3 * step], m[4 * step]);
  out[0] = hn::Add(hn::Add(m[0], sum), far_sum);
  out[out_step] = hn::MulAdd(two, far_difference, difference);
  out[2 * out_step] = hn::MulAdd(four, far_sum, sum);
  out[3 * out_step] = hn::Add(hn::MulAdd(eight, far_difference, difference), m[5 * step]);
}

HWY_INLINE void transform_weight(const V* g, int step, V* out, int out_step) {
  const D tag;
  const V quarter = hn::Set(tag, 0.25f), sixth = hn::Set(tag, 1.0f / 6), twelfth = hn::Set(tag, 1.0f / 12), small = hn::Set(tag, 1.0f / 24);
  const V ends = hn::Add(g[0], g[2 * step]), near = hn::Mul(sixth, ends), middle = hn::Mul(sixth, g[step]);
  const V far = hn::MulAdd(small, g[0], hn::Mul(sixth, g[2 * step])), far_middle = hn::Mul(twelfth, g[step]);
  out[0] = hn::Mul(quarter, g[0]);
  out[out_step] = hn::Neg(hn::Add(near, middle));
  out[2 * out_step] = hn::Sub(middle, near);
  out[3 * out_step] = hn::Add(far, far_middle);
  out[4 * out_step] = hn::Sub(far, far_middle);
  out[5 * out_step] = g[2 * step];
}

// --- weights: [group][panel][point][source][result of the panel] ---

void pack_weights_of(const ConvPlan& plan, bool input_gradient, const float* weight, float* packed) {
  const D tag;
  const int64_t panels = divided_up(plan.results, kWidth), taps = plan.taps();
  ScratchBuffer<float> direct(packed_weights_size(plan, sizeof(float)));
  pack_weights(plan, input_gradient, weight, direct.data());
  parallel_for(plan.groups * panels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t columns = std::min(kWidth, plan.results - item % panels * kWidth), width = divided_up(columns, kLanes) * kLanes;
      const float* from = direct.data() + item * taps * plan.sources * kWidth;
      float* to = packed + item * kPoints * plan.sources * kWidth;
      std::fill_n(to + kPoints * plan.sources * width, kPoints * plan.sources * (kWidth - width), 0.0f);  // never read, but goes into files
      for (int64_t i = 0; i < plan.sources * width; i += kLanes) {
        V g[9], rows[18], u[kPoints];
        for (int64_t tap = 0; tap < 9; ++tap) g[tap] = hn::LoadU(tag, from + tap * plan.sources * width + i);
        for (int column = 0; column < 3; ++column) transform_weight(g + column, 3, rows + column, 3);  // rows: 6 x 3
        for (int row = 0; row < 6; ++row) transform_weight(rows + 3 * row, 1, u + 6 * row, 1);
        for (int64_t point = 0; point < kPoints; ++point) hn::StoreU(u[point], tag, to + point * plan.sources * width + i);
      }
    }
  });
}

// --- the convolution ---

// Tiles [first, last) of a block that is computed at a time.
struct Block {
  int64_t first, last;
  int64_t tiles() const { return last - first; }
};

struct Tiles {
  const ConvPlan& plan;
  int64_t down, across, padded_height, padded_width;  // tiles of an image, and the source around it

  explicit Tiles(const ConvPlan& p)
      : plan(p),
        down(divided_up(p.y.result, kTile)),
        across(divided_up(p.x.result, kTile)),
        padded_height(down * kTile + 2),
        padded_width(across * kTile + 2) {}
  int64_t count() const { return plan.images * down * across; }
  int64_t row(int64_t tile) const { return tile / across % down * kTile; }
  int64_t column(int64_t tile) const { return tile % across * kTile; }
  int64_t image(int64_t tile) const { return tile / (down * across); }
  int64_t padded_size() const { return padded_height * padded_width * plan.sources; }

  // body(image, pixel, count) for the runs of results that a block consists of: rows of tiles, or the parts of them.
  template <class Body>
  void for_complete(Block block, Body body) const {
    const int64_t width = plan.x.result;
    for (int64_t tile = block.first; tile < block.last;) {
      const int64_t left = block.last - tile, begin = row(tile) * width + column(tile);
      const int64_t rest = across - tile % across;  // of the row of tiles
      if (tile % across == 0 && left >= across) {   // whole rows of tiles of one image
        const int64_t rows = std::min(left / across, down - tile / across % down);
        const int64_t end = std::min(plan.y.result, row(tile) + rows * kTile) * width;
        body(image(tile), begin, end - begin);
        tile += rows * across;
        continue;
      }
      const int64_t count = std::min(left, rest), columns = std::min(width - column(tile), count * kTile);
      for (int64_t y = 0; y < std::min(kTile, plan.y.result - row(tile)); ++y) body(image(tile), begin + y * width, columns);
      tile += count;
    }
  }
};

// Divides the tiles into blocks of equal size; more blocks if there would be too few tasks. Independent of the number of threads.
struct Blocks {
  int64_t tiles, size, count;
  Blocks(int64_t tiles, int64_t panels, int64_t whole) : tiles(tiles) {  // whole: tiles that stay together if they fit
    const int64_t least = divided_up(tiles, kBlock), wanted = divided_up(kTasks, panels);
    size = divided_up(divided_up(tiles, std::max(least, std::min(wanted, tiles / (kBlock / 2)))), kTileRows) * kTileRows;
    if (whole <= size) size = size / whole * whole;
    count = divided_up(tiles, size);
  }
  Block operator[](int64_t i) const { return {i * size, std::min(tiles, (i + 1) * size)}; }
};

// transformed[point][tile of the block][channel] of tiles [first, last); rows are `row_size` long.
void transform_sources(
    const Tiles& t, const float* padded, Block block, int64_t first, int64_t last, int64_t row_size, float* transformed) {
  const D tag;
  const int64_t channels = t.plan.sources, plane = block.tiles() * row_size;
  for (int64_t tile = first; tile < last; ++tile) {
    const float* window = padded + t.image(tile) * t.padded_size() + (t.row(tile) * t.padded_width + t.column(tile)) * channels;
    float* to = transformed + (tile - block.first) * row_size;
    for (int64_t c = 0; c < channels; c += kLanes) {  // the last vector may read the next pixel: what it makes is not used
      V d[kPoints], rows[kPoints], v[kPoints];
      for (int64_t y = 0; y < kWindow; ++y)
        for (int64_t x = 0; x < kWindow; ++x) d[y * kWindow + x] = hn::LoadU(tag, window + (y * t.padded_width + x) * channels + c);
      for (int column = 0; column < kWindow; ++column) transform_source(d + column, kWindow, rows + column, kWindow);
      for (int row = 0; row < kWindow; ++row) transform_source(rows + kWindow * row, 1, v + kWindow * row, 1);
      for (int64_t point = 0; point < kPoints; ++point) hn::StoreU(v[point], tag, to + point * plane + c);
    }
  }
}

// The results of a panel of channels from products[point][tile][kWidth]. Neighbouring tiles are written together: whole lines of memory.
void write_results(const Tiles& t, const float* products, Block tiles, int64_t columns, const float* bias, Images<float> result) {
  const D tag;
  const int64_t plane = tiles.tiles() * kWidth, width = divided_up(columns, kLanes) * kLanes;
  constexpr int64_t kTogether = 4, kRow = kTogether * kTile * kWidth;
  HWY_ALIGN float block[kTile * kRow];  // [row][column][channel]
  for (int64_t first = tiles.first, count; first < tiles.last; first += count) {
    count = std::min({kTogether, tiles.last - first, t.across - first % t.across});
    for (int64_t i = 0; i < count; ++i) {
      const float* from = products + (first + i - tiles.first) * kWidth;
      for (int64_t c = 0; c < width; c += kLanes) {
        V m[kPoints], rows[kTile * kWindow], y[kTile * kTile];
        for (int64_t point = 0; point < kPoints; ++point) m[point] = hn::LoadU(tag, from + point * plane + c);
        for (int column = 0; column < kWindow; ++column) transform_result(m + column, kWindow, rows + column, kWindow);
        for (int row = 0; row < kTile; ++row) transform_result(rows + kWindow * row, 1, y + kTile * row, 1);
        const V start = bias ? hn::LoadU(tag, bias + c) : hn::Zero(tag);
        for (int64_t row = 0; row < kTile; ++row)
          for (int64_t x = 0; x < kTile; ++x)
            hn::Store(hn::Add(y[row * kTile + x], start), tag, block + row * kRow + (i * kTile + x) * kWidth + c);
      }
    }
    const int64_t row = t.row(first), column = t.column(first);
    const int64_t across = std::min(count * kTile, t.plan.x.result - column);
    float* to = result.data + t.image(first) * result.image + row * result.row + column * result.column;
    for (int64_t y = 0; y < std::min(kTile, t.plan.y.result - row); ++y, to += result.row) {
      const float* line = block + y * kRow;
      if (result.channel == 1)
        for (int64_t x = 0; x < across; ++x) std::copy_n(line + x * kWidth, columns, to + x * result.column);
      else transpose(across, columns, line, kWidth, to, result.channel);
    }
  }
}

void convolve_of(
    const ConvPlan& plan, Images<const float> source, const float* packed, const float* bias, Images<float> result, ImageFinish finish) {
  const Tiles t(plan);
  const int64_t panels = divided_up(plan.results, kWidth), row_size = divided_up(plan.sources, kLanes) * kLanes;
  const Blocks blocks(t.count(), panels, finish ? t.across : 1);
  const int64_t top = plan.y.reach(0, 1).first, left = plan.x.reach(0, 1).first;  // of the first window
  ScratchBuffer<float> padded(plan.images * t.padded_size() + kLanes);
  for (int64_t group = 0; group < plan.groups; ++group) {
    parallel_for(
        plan.images * t.padded_height, std::max<int64_t>(1, (1 << 15) / (t.padded_width * plan.sources)), [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t image = i / t.padded_height, row = i % t.padded_height + top;
            Images<const float> from = source;
            from.data += image * source.image + group * plan.sources * source.channel;
            copy_strip(from, plan.sources, {row, row + 1}, {left, left + t.padded_width}, plan.y.source, plan.x.source,
                padded.data() + i * t.padded_width * plan.sources);
          }
        });
    // The results of one panel of channels of a block, whose sources are transformed.
    const auto run_panel = [&](Block block, int64_t panel, const float* transformed, float* products) {
      const int64_t columns = std::min(kWidth, plan.results - panel * kWidth), width = divided_up(columns, kLanes) * kLanes;
      const float* weights = packed + (group * panels + panel) * kPoints * plan.sources * kWidth;
      for (int64_t point = 0; point < kPoints; ++point, weights += plan.sources * width)
        for (int64_t i = 0; i < block.tiles(); i += kTileRows) {
          const int64_t rows = std::min<int64_t>(kTileRows, block.tiles() - i), at = point * block.tiles() + i;
          tile_function<float, LeftOrder::rows, RightPlace::packed>(rows, width)({plan.sources, transformed + at * row_size, row_size,
              weights, width, nullptr, nullptr, 0, products + at * kWidth, kWidth, width});
        }
      const int64_t channel = group * plan.results + panel * kWidth;
      HWY_ALIGN float start[kWidth] = {};
      if (bias) std::copy_n(bias + channel, columns, start);
      Images<float> to = result;
      to.data += channel * result.channel;
      write_results(t, products, block, columns, bias ? start : nullptr, to);
      if (finish)
        t.for_complete(block, [&](int64_t image, int64_t pixel, int64_t count) { finish(image, channel, columns, pixel, count); });
    };
    const int64_t transformed_size = kPoints * blocks.size * row_size, products_size = kPoints * blocks.size * kWidth;
    if (blocks.count >= kTasks) {
      parallel_for(blocks.count, 1, [&](int64_t begin, int64_t end) {
        ScratchBuffer<float> transformed(transformed_size), products(products_size);
        for (int64_t i = begin; i < end; ++i) {
          transform_sources(t, padded.data(), blocks[i], blocks[i].first, blocks[i].last, row_size, transformed.data());
          for (int64_t panel = 0; panel < panels; ++panel) run_panel(blocks[i], panel, transformed.data(), products.data());
        }
      });
      continue;
    }
    ScratchBuffer<float> transformed(blocks.count * transformed_size);
    parallel_for(t.count(), std::max<int64_t>(1, (1 << 12) / plan.sources), [&](int64_t begin, int64_t end) {
      for (int64_t tile = begin; tile < end; ++tile) {
        const int64_t i = tile / blocks.size;
        transform_sources(t, padded.data(), blocks[i], tile, tile + 1, row_size, transformed.data() + i * transformed_size);
      }
    });
    parallel_for(blocks.count * panels, 1, [&](int64_t begin, int64_t end) {
      ScratchBuffer<float> products(products_size);
      for (int64_t item = begin; item < end; ++item)
        run_panel(blocks[item / panels], item % panels, transformed.data() + item / panels * transformed_size, products.data());
    });
  }
}

int64_t panel_width() { return kWidth; }

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {

HWY_EXPORT(pack_weights_of);
HWY_EXPORT(convolve_of);
HWY_EXPORT(panel_width);

namespace {
std::atomic<bool> allowed{true};
}

bool fast_convolution() { return allowed.load(std::memory_order_relaxed); }
void set_fast_convolution(bool on) { allowed.store(on, std::memory_order_relaxed); }

bool suits_winograd(const ConvPlan& p) {
  const bool fits = p.y.kernel == 3 && p.x.kernel == 3 && p.y.stride == 1 && p.x.stride == 1 && p.y.dilation == 1 && p.x.dilation == 1;
  const int64_t tiles = p.images * ((p.y.result + 3) / 4) * ((p.x.result + 3) / 4);
  // Few channels leave little to save; for few tiles the transformed weights, four times as large, are read too seldom.
  return fits && fast_convolution() && p.sources >= 16 && p.results >= 32 && tiles >= 16 && p.y.result >= 6 && p.x.result >= 6;
}

int64_t winograd_weights_size(const ConvPlan& plan) {
  const int64_t width = HWY_DYNAMIC_DISPATCH(panel_width)();
  return plan.groups * ((plan.results + width - 1) / width) * width * 36 * plan.sources;
}
void pack_winograd_weights(const ConvPlan& plan, bool input_gradient, const float* weight, float* packed) {
  HWY_DYNAMIC_DISPATCH(pack_weights_of)(plan, input_gradient, weight, packed);
}
void convolve_winograd(
    const ConvPlan& plan, Images<const float> source, const float* packed, const float* bias, Images<float> result, ImageFinish finish) {
  HWY_DYNAMIC_DISPATCH(convolve_of)(plan, source, packed, bias, result, finish);
}

}  // namespace pyburn::cpu
#endif
