#include "pyburn/backends/cpu/conv/small_planes.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/conv/small_planes.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>

#include "pyburn/backends/cpu/gemm/pack-inl.h"
#include "pyburn/backends/cpu/gemm/product_tile-inl.h"
#include "pyburn/backends/cpu/scratch_buffer.h"
#include "pyburn/support/cache_size.h"
#include "pyburn/support/thread_pool.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t kTaskWork = 1 << 18;  // multiply-adds that are worth a task
constexpr int64_t kTasks = 8;           // with fewer panels, pixels are distributed as well
constexpr int64_t kPixels = 256;        // at a time: their results stay in the cache
constexpr int64_t kDepth = 128;         // channels at a time: a panel of weights stays in L1
constexpr int64_t kLanes = kVector<float>, kWidth = kPanel<float>;

int64_t group_size(const ConvGeometry& g) { return g.channels * divided_up(g.outputs, kLanes) * kLanes; }  // of packed weights

void pack(const ConvGeometry& g, const float* weight, float* packed) {
  for (int64_t group = 0; group < g.groups; ++group)
    pack_panels<float>(
        g.channels, g.outputs, {weight + group * g.outputs * g.channels, 1, g.channels}, kWidth, kLanes, packed + group * group_size(g));
}

// Pixels [pixel, pixel + pixels) of one image and one panel of channels.
struct PanelTask {
  const ConvGeometry& g;
  const float* source;  // first channel of the group, first pixel
  int64_t pixel_step, channel_step;
  const float* weights;  // of the panel
  const float* bias;
  int64_t columns;

  template <LeftOrder order>
  void run(int64_t pixels, float* c, int64_t c_row) const {
    const int64_t vectors = divided_up(columns, kLanes), width = vectors * kLanes, most = rows_of_tile(int(vectors));
    const int64_t tiles = divided_up(pixels, most);
    for (int64_t k0 = 0; k0 < g.channels; k0 += kDepth) {
      const float* start = k0 == 0 ? bias : c;
      const int64_t depth = std::min(kDepth, g.channels - k0), start_row = k0 == 0 ? 0 : c_row;
      for (int64_t tile = 0, i = 0; tile < tiles; ++tile) {
        const int64_t rows = pixels * (tile + 1) / tiles - i;
        tile_function<float, order, RightPlace::packed>(rows, columns)(
            {depth, source + i * pixel_step + k0 * channel_step, order == LeftOrder::rows ? pixel_step : channel_step, weights + k0 * width,
                width, nullptr, start ? start + i * start_row : nullptr, start_row, c + i * c_row, c_row, columns});
        i += rows;
      }
    }
  }
};

// The pixels of an image that results [pixel, pixel + count) meet where there are steps, side by side in `room`.
Images<const float> met_pixels(
    const ConvGeometry& g, const Images<const float>& source, int64_t image, int64_t pixel, int64_t count, float* room) {
  for (int64_t i = 0; i < count; ++i) {
    const int64_t y = (pixel + i) / g.x.out * g.y.stride, x = (pixel + i) % g.x.out * g.x.stride;
    const float* from = source.data + image * source.image + y * source.row + x * source.column;
    if (source.channel == 1) std::copy_n(from, g.channels, room + i * g.channels);
    else
      for (int64_t c = 0; c < g.channels; ++c) room[i * g.channels + c] = from[c * source.channel];
  }
  return {room, 0, 1, 0, g.channels};
}

// How convolve_pixels() cuts its work: `parts` of the pixels of an image, `groups` of `panels` panels of channels, and within a task
// `at_once` pixels, which are finished while they lie in L1.
struct PixelCut {
  int64_t images, pixels, parts, groups, panels, at_once;

  PixelCut(const ConvGeometry& g, bool as_one_image, bool finished)
      : images(as_one_image ? 1 : g.batch), pixels(as_one_image ? g.batch * g.pixels() : g.pixels()) {
    constexpr int64_t kFewest = 2 * kTileRows, kFinishedBytes = 24 * 1024;
    const int64_t size = int64_t(sizeof(float)), all = divided_up(g.outputs, kWidth);
    if (g.outputs * g.channels * size > l2_cache_bytes() / 4) {  // weights that come from afar meet many pixels
      parts = divided_up(pixels, kPixels), at_once = kPixels;
      groups = std::min(all, divided_up(kTasks, images * parts));
    } else {
      const int64_t worth = divided_up(pixels * g.channels * g.outputs, kTaskWork);
      parts = std::max(divided_up(pixels, kPixels), std::min({divided_up(kTasks, images), worth, divided_up(pixels, kFewest)}));
      at_once = finished ? std::max(kFewest, kFinishedBytes / (g.outputs * size) / kFewest * kFewest) : kPixels;
      groups = 1;
    }
    panels = divided_up(all, groups);
  }
};

// Channels of the result contiguous, one group.
void convolve_pixels(
    const ConvGeometry& g, Images<const float> source, const float* packed, const float* bias, Images<float> result, ImageFinish finish) {
  const bool as_one_image = g.pointwise() && source.image == g.pixels() * source.column && result.image == g.pixels() * result.column;
  const PixelCut cut(g, as_one_image, bool(finish));
  const int64_t pixels = cut.pixels, step = divided_up(pixels, cut.parts), at_once = std::min(cut.at_once, step);
  const int64_t work = step * g.channels * std::min(g.outputs, cut.panels * kWidth);
  parallel_for(cut.images * cut.parts * cut.groups, std::max<int64_t>(1, kTaskWork / work), [&](int64_t begin, int64_t end) {
    ScratchBuffer<float> met(g.pointwise() ? 0 : at_once * g.channels);
    for (int64_t task = begin; task < end; ++task) {
      const int64_t image = task / cut.groups / cut.parts, first = task % cut.groups * cut.panels * kWidth;
      const int64_t last = std::min(g.outputs, first + cut.panels * kWidth);
      const int64_t pixel = std::min(pixels, task / cut.groups % cut.parts * step), end_pixel = std::min(pixels, pixel + step);
      if (first >= last) continue;
      for (int64_t i = pixel; i < end_pixel; i += at_once) {
        const int64_t here = std::min(at_once, end_pixel - i);
        Images<const float> at = source;
        at.data += image * source.image + i * source.column;
        if (!g.pointwise()) at = met_pixels(g, source, image, i, here, met.data());
        float* to = result.data + image * result.image + i * result.column;
        for (int64_t channel = first; channel < last; channel += kWidth) {
          const int64_t columns = std::min(kWidth, last - channel);
          const PanelTask t{g, at.data, at.column, at.channel, packed + channel * g.channels, bias ? bias + channel : nullptr, columns};
          at.channel == 1 ? t.run<LeftOrder::rows>(here, to + channel, result.column)
                          : t.run<LeftOrder::columns>(here, to + channel, result.column);
        }
        finish(image, first, last - first, i, here);
      }
    }
  });
}

void convolve(
    const ConvGeometry& g, Images<const float> source, const float* packed, const float* bias, Images<float> result, ImageFinish finish) {
  if (result.channel == 1 && g.groups == 1) return convolve_pixels(g, source, packed, bias, result, finish);
  const int64_t pixels = g.pixels(), panels = divided_up(g.outputs, kWidth), whole = g.batch * g.groups * panels;
  const int64_t worth = divided_up(pixels * g.channels * std::min(kWidth, g.outputs), kTaskWork);
  const int64_t parts = std::max(divided_up(pixels, kPixels), std::min(divided_up(kTasks, whole), worth));
  const int64_t step = divided_up(pixels, parts), work = step * g.channels * std::min(kWidth, g.outputs);
  parallel_for(whole * parts, std::max<int64_t>(1, 4 * kTaskWork / work), [&](int64_t begin, int64_t end) {
    const bool channels_last = result.channel == 1;
    ScratchBuffer<float> tile(channels_last ? 0 : step * kWidth);
    for (int64_t task = begin; task < end; ++task) {
      const int64_t panel = task % panels, part = task / panels % parts, group = task / panels / parts % g.groups;
      const int64_t image = task / panels / parts / g.groups;
      const int64_t pixel = std::min(pixels, part * step), count = std::min(pixels, pixel + step) - pixel;
      const int64_t columns = std::min(kWidth, g.outputs - panel * kWidth), channel = group * g.outputs + panel * kWidth;
      if (count == 0) continue;
      const PanelTask t{g, source.data + image * source.image + group * g.channels * source.channel + pixel * source.column, source.column,
          source.channel, packed + group * group_size(g) + panel * g.channels * kWidth, bias ? bias + channel : nullptr, columns};
      float* to = result.data + image * result.image + channel * result.channel + pixel * result.column;
      float* c = channels_last ? to : tile.data();
      const int64_t c_row = channels_last ? result.column : kWidth;
      source.channel == 1 ? t.run<LeftOrder::rows>(count, c, c_row) : t.run<LeftOrder::columns>(count, c, c_row);
      if (!channels_last) transpose(count, columns, c, c_row, to, result.channel);
      finish(image, channel, columns, pixel, count);
    }
  });
}

int64_t weights_size(const ConvGeometry& g) { return g.groups * group_size(g); }

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {

HWY_EXPORT(weights_size);
HWY_EXPORT(pack);
HWY_EXPORT(convolve);

bool suits_small_planes(const ConvGeometry& g, bool channels_last) {
  constexpr int64_t kFewest = 12, kSmall = 200, kFewChannels = 64;  // few channels: the turning of the results would show
  if (g.pixels() < kFewest) return false;
  return channels_last || (g.pixels() <= kSmall && g.channels >= kFewChannels);
}
int64_t small_planes_weights_size(const ConvGeometry& g) { return HWY_DYNAMIC_DISPATCH(weights_size)(g); }
void pack_small_planes_weights(const ConvGeometry& g, const float* weight, float* packed) { HWY_DYNAMIC_DISPATCH(pack)(g, weight, packed); }
void convolve_small_planes(
    const ConvGeometry& g, Images<const float> source, const float* packed, const float* bias, Images<float> result, ImageFinish finish) {
  HWY_DYNAMIC_DISPATCH(convolve)(g, source, packed, bias, result, finish);
}

}  // namespace pyburn::cpu
#endif
