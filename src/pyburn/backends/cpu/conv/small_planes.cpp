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

void convolve(
    const ConvGeometry& g, Images<const float> source, const float* packed, const float* bias, Images<float> result, ImageFinish finish) {
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
