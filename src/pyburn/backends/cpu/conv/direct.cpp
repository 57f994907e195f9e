#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/conv/direct.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "pyburn/backends/cpu/conv/direct.h"
#include "pyburn/backends/cpu/conv/strip-inl.h"
#include "pyburn/backends/cpu/conv/tile-inl.h"
#include "pyburn/backends/cpu/functions_of.h"
#include "pyburn/backends/cpu/scratch_buffer.h"
#include "pyburn/support/cache_size.h"
#include "pyburn/support/thread_pool.h"

#ifndef PYBURN_DIRECT_TYPES
#define PYBURN_DIRECT_TYPES
namespace pyburn::cpu {

template <class T>
struct DirectFunctions {
  void (*pack)(const ConvPlan&, bool gradient, const T* w, T* packed);
  void (*convolve)(const ConvPlan&, Images<const T> x, const T* w, const T* b, Images<T> y, ImageFinish);
  void (*weight)(const ConvGeometry&, Images<const T> x, Images<const T> dy, T* dw);
  int64_t panel;  // results that are computed together
};

}  // namespace pyburn::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

// Of the source at a time, and of a panel of weights: both, and the results, share L2.
int64_t strip_bytes() { return l2_cache_bytes() * 3 / 8; }
int64_t weight_bytes() { return l2_cache_bytes() * 5 / 16; }
constexpr int64_t kTasks = 8;           // with fewer strips, channels are distributed as well, then smaller strips
constexpr int64_t kTaskWork = 1 << 18;  // multiply-adds that are worth a task

int64_t rounded_up(int64_t n, int64_t unit) { return divided_up(n, unit) * unit; }

// --- weights as panels: [group][panel of results][tap, phase by phase][source][result] ---

template <class T>
void pack_weights_of(const ConvPlan& plan, bool input_gradient, const T* weight, T* packed) {
  const int64_t taps = plan.taps(), panels = divided_up(plan.results, kPanel<T>);
  std::vector<int64_t> place(size_t(taps), 0);  // where each tap goes
  int64_t next = 0;
  for (const auto& phase : plan.phases)
    for (const ConvPlan::Tap& tap : phase) place[size_t(tap.index)] = next++;
  // Rows of the weight tensor: one per output, channels x taps long.
  const int64_t row = (input_gradient ? plan.results : plan.sources) * taps;
  const int64_t rows = input_gradient ? plan.sources : plan.results;
  parallel_for(plan.groups * panels, std::max<int64_t>(1, (1 << 15) / (taps * plan.sources * kPanel<T>)), [&](int64_t begin, int64_t end) {
    constexpr int64_t kChannels = 16;
    ScratchBuffer<T> block(std::max(kChannels, kPanel<T>) * taps * kPanel<T>);
    for (int64_t item = begin; item < end; ++item) {
      const int64_t group = item / panels, panel = item % panels, columns = std::min(kPanel<T>, plan.results - panel * kPanel<T>);
      const int64_t width = rounded_up(columns, kVector<T>);
      const T* from = weight + group * rows * row;
      T* to = packed + (group * panels + panel) * taps * plan.sources * kPanel<T>;
      auto target = [&](int64_t tap, int64_t source) { return to + (place[size_t(tap)] * plan.sources + source) * width; };
      if (columns != kPanel<T>) std::fill_n(to, taps * plan.sources * kPanel<T>, T(0));  // also what is never read: it goes into files
      if (input_gradient) {  // results are channels: taps are adjacent, then channels
        for (int64_t source = 0; source < plan.sources; ++source) {
          transpose(columns, taps, from + source * row + panel * kPanel<T> * taps, taps, block.data(), kPanel<T>);
          for (int64_t tap = 0; tap < taps; ++tap) std::copy_n(block.data() + tap * kPanel<T>, columns, target(tap, source));
        }
        continue;
      }
      for (int64_t c0 = 0; c0 < plan.sources;
           c0 += kChannels) {  // results are rows: a block of them transposed, then its rows put in order
        const int64_t channels = std::min(kChannels, plan.sources - c0);
        transpose(columns, channels * taps, from + panel * kPanel<T> * row + c0 * taps, row, block.data(), kPanel<T>);
        for (int64_t c = 0; c < channels; ++c)
          for (int64_t tap = 0; tap < taps; ++tap) std::copy_n(block.data() + (c * taps + tap) * kPanel<T>, columns, target(tap, c0 + c));
      }
    }
  });
}

// --- forward, and the gradient of the input ---

// One pixel of a strip: where its window starts in the source, where its result goes.
struct Pixel {
  int64_t source, result;
};

template <class T>
struct Strip {
  const ConvPlan& plan;
  int64_t rows;  // of results at a time
  ConvAxis::Range columns;

  explicit Strip(const ConvPlan& p) : plan(p), rows(1), columns(p.x.reach(0, p.x.result)) {
    const int64_t row_bytes = width() * p.sources * int64_t(sizeof(T));
    while (rows < p.y.result) {
      const auto reach = p.y.reach(0, rows + 1);
      if ((reach.last - reach.first) * row_bytes > strip_bytes()) break;
      ++rows;
    }
    const int64_t tasks = p.images * p.groups * divided_up(p.results, kPanel<T>);  // with a whole image in a strip
    const int64_t strips = std::max(divided_up(p.y.result, rows), divided_up(kTasks, tasks));
    rows = divided_up(p.y.result, std::min(p.y.result, strips));
  }
  int64_t width() const { return columns.last - columns.first; }
  int64_t count() const { return divided_up(plan.y.result, rows); }
  int64_t most_source_rows() const {
    const auto reach = plan.y.reach(0, rows);
    return reach.last - reach.first + 1;  // a strip of a gradient may begin in any phase
  }

  // The pixels of results [row, row_end), phase by phase.
  void find_pixels(int64_t row, int64_t row_end, std::vector<std::vector<Pixel>>& pixels) const {
    const int64_t first = plan.y.reach(row, row_end).first;
    pixels.resize(plan.phases.size());
    for (auto& list : pixels) list.clear();
    for (int64_t i = row; i < row_end; ++i)
      for (int64_t j = 0; j < plan.x.result; ++j)
        pixels[size_t(plan.y.phase(i) * plan.x.phases() + plan.x.phase(j))].push_back(
            {((plan.y.base(i) - first) * width() + plan.x.base(j) - columns.first) * plan.sources, (i - row) * plan.x.result + j});
  }

  // The taps of a phase as stretches of the strip; neighbours become one. B is filled in by the caller's panel.
  std::vector<Stretch<T>> stretches(const std::vector<ConvPlan::Tap>& taps, const T* panel, int64_t panel_width) const {
    std::vector<Stretch<T>> found;
    for (const ConvPlan::Tap& tap : taps) {
      const int64_t at = (tap.y * width() + tap.x) * plan.sources, depth = plan.sources;
      const bool joins = !found.empty() && found.back().a + found.back().depth == at &&
                         (found.back().depth + depth) * panel_width * int64_t(sizeof(T)) <= weight_bytes();
      if (joins) found.back().depth += depth;
      else found.push_back({at, panel, depth, panel_width});
      panel += depth * panel_width;
    }
    return found;
  }
};

template <class T>
void run_tiles(const std::vector<Pixel>& pixels, const std::vector<Stretch<T>>& stretches, const T* source, T* result, int64_t result_step,
    int64_t columns, const T* bias) {
  for (size_t s = 0; s == 0 || s < stretches.size();) {  // slices of the weights that fit
    size_t end = s;
    int64_t bytes = 0;
    while (
        end < stretches.size() && (end == s || bytes + stretches[end].depth * stretches[end].b_row * int64_t(sizeof(T)) <= weight_bytes()))
      bytes += stretches[end].depth * stretches[end].b_row * int64_t(sizeof(T)), ++end;
    const Start start = s > 0 ? Start::result : bias ? Start::row : Start::zero;
    for (size_t i = 0; i < pixels.size(); i += kTileRows) {
      const int64_t rows = std::min<int64_t>(kTileRows, int64_t(pixels.size() - i));
      const T* a[kTileRows];
      T* c[kTileRows];
      for (int64_t r = 0; r < rows; ++r) {
        a[r] = source + pixels[i + size_t(r)].source;
        c[r] = result + pixels[i + size_t(r)].result * result_step;
      }
      stretch_tile_for<T>(rows, columns)(stretches.data() + s, int64_t(end - s), a, c, columns, start, bias);
    }
    if (end == stretches.size()) break;
    s = end;
  }
}

template <class T>
void convolve_of(const ConvPlan& plan, Images<const T> source, const T* packed, const T* bias, Images<T> result, ImageFinish finish) {
  const Strip<T> strip(plan);
  const int64_t panels = divided_up(plan.results, kPanel<T>), strips = plan.images * plan.groups * strip.count();
  const int64_t panel_parts = std::min(panels, divided_up(kTasks, strips)), width = plan.x.result;
  const bool channels_last = result.channel == 1 && result.row == width * result.column;
  const int64_t work = strip.rows * width * plan.taps() * plan.sources * plan.results / (panel_parts * int64_t(plan.phases.size()));
  parallel_for(strips * panel_parts, std::max<int64_t>(1, kTaskWork / std::max<int64_t>(1, work)), [&](int64_t begin, int64_t end) {
    ScratchBuffer<T> copy(strip.most_source_rows() * strip.width() * plan.sources + kPanel<T>);
    ScratchBuffer<T> tile(channels_last ? 0 : strip.rows * width * kPanel<T>);
    HWY_ALIGN T start[kPanel<T>];
    std::vector<std::vector<Pixel>> pixels;
    for (int64_t task = begin; task < end; ++task) {
      const int64_t part = task % panel_parts, at = task / panel_parts;
      const int64_t row = at % strip.count() * strip.rows, row_end = std::min(plan.y.result, row + strip.rows);
      const int64_t group = at / strip.count() % plan.groups, image = at / strip.count() / plan.groups;
      const auto reach = plan.y.reach(row, row_end);
      Images<const T> from = source;
      from.data += image * source.image + group * plan.sources * source.channel;
      copy_strip(from, plan.sources, reach, strip.columns, plan.y.source, plan.x.source, copy.data());
      strip.find_pixels(row, row_end, pixels);
      for (int64_t panel = panels * part / panel_parts; panel < panels * (part + 1) / panel_parts; ++panel) {
        const int64_t columns = std::min(kPanel<T>, plan.results - panel * kPanel<T>), panel_width = rounded_up(columns, kVector<T>);
        const T* weights = packed + (group * panels + panel) * plan.taps() * plan.sources * kPanel<T>;
        const int64_t channel = group * plan.results + panel * kPanel<T>;
        if (bias) {
          std::copy_n(bias + channel, columns, start);
          std::fill(start + columns, start + panel_width, T(0));
        }
        T* plain = result.data + image * result.image + channel * result.channel + row * result.row;
        for (size_t phase = 0; phase < plan.phases.size(); ++phase) {
          const auto stretches = strip.stretches(plan.phases[phase], weights, panel_width);
          run_tiles(pixels[phase], stretches, copy.data(), channels_last ? plain : tile.data(), channels_last ? result.column : kPanel<T>,
              columns, bias ? start : nullptr);
          weights += int64_t(plan.phases[phase].size()) * plan.sources * panel_width;
        }
        if (channels_last) continue;
        transpose((row_end - row) * width, columns, tile.data(), kPanel<T>, plain, result.channel);
        finish(image, channel, columns, row * width, (row_end - row) * width);
      }
      if (!channels_last) continue;
      const int64_t first = panels * part / panel_parts * kPanel<T>, last = panels * (part + 1) / panel_parts * kPanel<T>;
      finish(image, group * plan.results + first, std::min(plan.results, last) - first, row * width, (row_end - row) * width);
    }
  });
}

// --- the gradient of the weights: outputs x (columns of a kernel row x channels), summed over pixels ---

template <class T>
void convolve_weight_of(const ConvGeometry& g, Images<const T> x, Images<const T> dy, T* dw) {
  const int64_t taps = g.taps(), out = g.x.out;
  // Channels are shared out in whole panels; where they are few, so are the strips of the images, and the parts are added up in the end.
  const int64_t step = g.channels >= 2 * kPanel<T> ? rounded_up(divided_up(g.channels, kTasks), kPanel<T>) : g.channels;
  const int64_t blocks = divided_up(g.channels, step);
  const ConvAxis::Range columns{-g.x.padding, g.x.position(out - 1, g.x.kernel - 1) + 1};
  const int64_t width = columns.last - columns.first;
  const bool joined = g.x.dilation == 1;  // the taps of a kernel row are neighbours
  int64_t rows = 1;                       // of dy at a time
  while (rows < g.y.out && ((rows * g.y.stride + (g.y.kernel - 1) * g.y.dilation + 1) * width * step * int64_t(sizeof(T))) <= strip_bytes())
    ++rows;
  const int64_t wanted = std::max<int64_t>(1, kTasks / (g.groups * blocks));
  if (wanted > g.batch) rows = std::min(rows, divided_up(g.y.out, divided_up(wanted, g.batch)));
  const int64_t strips = divided_up(g.y.out, rows), parts = std::min(wanted, g.batch * strips);
  const int64_t size = g.outputs * taps * step;  // of one block of one group
  ScratchBuffer<T> sums(parts * g.groups * blocks * size);
  parallel_for(parts * g.groups * blocks, 1, [&](int64_t begin, int64_t end) {
    ScratchBuffer<T> copy(((rows - 1) * g.y.stride + (g.y.kernel - 1) * g.y.dilation + 1) * width * step + kPanel<T>);
    std::vector<Stretch<T>> stretches;
    for (int64_t task = begin; task < end; ++task) {
      const int64_t part = task / (g.groups * blocks), group = task / blocks % g.groups;
      const int64_t channel = task % blocks * step, channels = std::min(step, g.channels - channel);
      T* sum = sums.data() + task * size;  // [output][kernel row][kernel column][channel]
      bool first = true;
      const int64_t item_end = g.batch * strips * (part + 1) / parts;
      for (int64_t item = g.batch * strips * part / parts; item < item_end; ++item, first = false) {
        const int64_t image = item / strips, row = item % strips * rows, row_end = std::min(g.y.out, row + rows);
        Images<const T> from = x;
        from.data += image * x.image + (group * g.channels + channel) * x.channel;
        copy_strip(
            from, channels, {g.y.position(row, 0), g.y.position(row_end - 1, g.y.kernel - 1) + 1}, columns, g.y.in, g.x.in, copy.data());
        const T* gradient = dy.data + image * dy.image + group * g.outputs * dy.channel;
        for (int64_t i = 0; i < g.y.kernel; ++i)
          for (int64_t j = 0; j < g.x.kernel; j += joined ? g.x.kernel : 1) {
            const int64_t total = joined ? g.x.kernel * channels : channels;
            for (int64_t k = 0; k < total; k += kPanel<T>) {
              stretches.clear();
              for (int64_t y = row; y < row_end; ++y)
                stretches.push_back(
                    {y * dy.row, copy.data() + (((y - row) * g.y.stride + i * g.y.dilation) * width + j * g.x.dilation) * channels + k, out,
                        g.x.stride * channels});
              const int64_t panel = std::min(kPanel<T>, total - k);
              for (int64_t o = 0; o < g.outputs; o += kTileRows) {
                const int64_t tile_rows = std::min<int64_t>(kTileRows, g.outputs - o);
                const T* a[kTileRows];
                T* c[kTileRows];
                for (int64_t r = 0; r < tile_rows; ++r) {
                  a[r] = gradient + (o + r) * dy.channel;
                  c[r] = sum + ((o + r) * taps + i * g.x.kernel + j) * channels + k;
                }
                stretch_tile_for<T>(tile_rows, panel)(stretches.data(), int64_t(stretches.size()), a, c, panel,
                    first ? Start::zero : Start::result, static_cast<const T*>(nullptr));
              }
            }
          }
      }
    }
  });
  parallel_for(g.groups * g.outputs, std::max<int64_t>(1, (1 << 15) / (taps * g.channels)), [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o)
      for (int64_t block = 0; block < blocks; ++block) {
        const int64_t group = o / g.outputs, channel = block * step, channels = std::min(step, g.channels - channel);
        auto sum = [&](int64_t part) {
          return sums.data() + ((part * g.groups + group) * blocks + block) * size + o % g.outputs * taps * channels;
        };
        for (int64_t part = 1; part < parts; ++part)
          for (int64_t i = 0; i < taps * channels; ++i) sum(0)[i] += sum(part)[i];
        transpose(taps, channels, sum(0), channels, dw + o * g.columns() + channel * taps, taps);
      }
  });
}

template <class T>
DirectFunctions<T> functions_for() {
  return {pack_weights_of<T>, convolve_of<T>, convolve_weight_of<T>, kPanel<T>};
}
FunctionsOf<DirectFunctions, float, double> make_functions() { return {functions_for<float>(), functions_for<double>()}; }

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {

namespace {
PYBURN_FUNCTIONS(DirectFunctions)
}  // namespace

int64_t packed_weights_size(const ConvPlan& plan, int64_t element_size) {
  const int64_t panel = functions<float>().panel * int64_t(sizeof(float)) / element_size;
  return plan.groups * ((plan.results + panel - 1) / panel) * panel * plan.taps() * plan.sources;
}

template <class T>
void pack_weights(const ConvPlan& plan, bool gradient, const T* w, T* packed) {
  functions<T>().pack(plan, gradient, w, packed);
}
template void pack_weights(const ConvPlan&, bool, const float*, float*);
template void pack_weights(const ConvPlan&, bool, const double*, double*);
template <class T>
void convolve(const ConvPlan& plan, Images<const T> x, const T* w, const T* b, Images<T> y, ImageFinish finish) {
  functions<T>().convolve(plan, x, w, b, y, finish);
}
template void convolve(const ConvPlan&, Images<const float>, const float*, const float*, Images<float>, ImageFinish);
template void convolve(const ConvPlan&, Images<const double>, const double*, const double*, Images<double>, ImageFinish);
template <class T>
void convolve_weight(const ConvGeometry& g, Images<const T> x, Images<const T> dy, T* dw) {
  functions<T>().weight(g, x, dy, dw);
}
template void convolve_weight(const ConvGeometry&, Images<const float>, Images<const float>, float*);
template void convolve_weight(const ConvGeometry&, Images<const double>, Images<const double>, double*);

}  // namespace pyburn::cpu
#endif
