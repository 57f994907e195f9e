#include "pyburn/backends/cpu/conv/depthwise.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/conv/depthwise.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>
#include <cstdlib>
#include <type_traits>
#include <vector>

#include "pyburn/backends/cpu/conv/depthwise_nine-inl.h"
#include "pyburn/backends/cpu/conv/depthwise_pairs-inl.h"
#include "pyburn/backends/cpu/conv/depthwise_planes-inl.h"
#include "pyburn/backends/cpu/conv/depthwise_rows-inl.h"
#include "pyburn/backends/cpu/conv/planes-inl.h"
#include "pyburn/backends/cpu/functions_of.h"
#include "pyburn/backends/cpu/scratch_buffer.h"
#include "pyburn/support/thread_pool.h"

#ifndef PYBURN_DEPTHWISE_TYPES
#define PYBURN_DEPTHWISE_TYPES
namespace pyburn::cpu {

template <class T>
struct DepthwiseFunctions {
  void (*convolve)(const ConvPlan&, const T* x, const T* w, const T* b, T* y, ImageFinish);
  void (*weight)(const ConvGeometry&, const T* x, const T* dy, T* dw);
};

}  // namespace pyburn::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t kTaskWork = 1 << 18;  // multiply-adds that are worth a task
constexpr int64_t kSpreadRows = 32;     // results below each other in the gradient of steps of two

// Inlined, because compilers take a function that only fetches for one that does nothing.
template <int writes, class T>
HWY_INLINE void fetch_lines(const T* from, int64_t count) {
  for (int64_t i = 0; i < count; i += 64 / int64_t(sizeof(T))) __builtin_prefetch(from + i, writes, 3);
}

// --- forward, and the gradient of the input ---

template <class T>
class DepthwisePlan {
 public:
  explicit DepthwisePlan(const ConvPlan& p) : plan(p) {
    const Kernel kernel = best_kernel();
    run_block_ = kernel.run;
    rows_ = divided_up(p.y.result, divided_up(p.y.result, kernel.rows));
    const int64_t columns = divided_up(p.x.result, kVector<T>);
    ahead_ = divided_up(rows_ * p.y.stride * p.x.source, columns), ahead_result_ = divided_up(rows_ * p.x.result, columns);
    for (int64_t y = 0; y < p.y.phases(); ++y) lines_.push_back(lines_of_phase(y));
    for (size_t phase = 0; phase < p.phases.size(); ++phase) add_part(int64_t(phase) / p.x.phases(), int64_t(phase) % p.x.phases());
    in_order_ = std::is_sorted(order_.begin(), order_.end());
  }

  int64_t blocks() const { return divided_up(plan.y.result, rows_); }  // of rows of a plane
  int64_t begin(int64_t block) const { return std::min(plan.y.result, block * rows_) * plan.x.result; }
  int64_t block_work() const { return rows_ * plan.x.result * (plan.taps() / int64_t(plan.phases.size()) + 8); }

  // The weights of a channel in the order of the taps, in `room` where they are not in it.
  const T* ordered_weights(const T* weight, T* room) const {
    if (in_order_) return weight;
    for (size_t i = 0; i < order_.size(); ++i) room[i] = weight[order_[i]];
    return room;
  }
  void run(const Lines<T>& source, const T* weights, T start, int64_t block, T* result) const {
    (this->*run_block_)(source, weights, start, block * rows_, std::min(plan.y.result, (block + 1) * rows_), result);
  }

  const ConvPlan& plan;

 private:
  using RunBlock = void (DepthwisePlan::*)(const Lines<T>&, const T*, T, int64_t, int64_t, T*) const;

  // The rows of the source that results of a phase meet: from the base of the result on, and how many.
  struct PhaseLines {
    int64_t first, step, count;
  };
  PhaseLines lines_of_phase(int64_t phase) const {
    PhaseLines found{0, 1, 0};
    int64_t last = 0;
    for (int64_t tap = 0; tap < plan.y.kernel; ++tap) {
      if (!plan.y.meets(phase, tap)) continue;
      const int64_t at = plan.y.offset(phase, tap);
      if (found.count) found.step = std::abs(at - last);
      found.first = found.count ? std::min(found.first, at) : at;
      last = at, ++found.count;
    }
    return found;
  }

  void add_part(int64_t phase_y, int64_t phase_x) {
    const auto& taps = plan.phases[size_t(phase_y * plan.x.phases() + phase_x)];
    const PhaseLines& lines = lines_[size_t(phase_y)];
    const int64_t first = first_of_phase(plan.x, phase_x, 0), base = plan.x.base(first);
    Part part{int64_t(taps_.size()), int64_t(taps.size()), 0, 0, first, plan_count(plan.x, phase_x)};
    for (const ConvPlan::Tap& tap : taps) {
      taps_.push_back({(tap.y - lines.first) / lines.step, base + tap.x});
      order_.push_back(tap.index);
      part.low = &tap == &taps.front() ? base + tap.x : std::min(part.low, base + tap.x);
      part.high = &tap == &taps.front() ? base + tap.x : std::max(part.high, base + tap.x);
    }
    parts_.push_back(part);
  }

  struct Kernel {
    RunBlock run;
    int64_t rows = kColumnRows;  // at most, below each other
  };
  Kernel best_kernel() const {
    const PlanAxis &y = plan.y, &x = plan.x;
    if constexpr (std::is_same_v<T, float>) {  // doubles are rare: they go row by row
      const bool plain = y.stride == x.stride && y.dilation == 1, in_steps = x.stride == 2;
      const bool nine = plain && y.kernel == 3 && x.kernel == 3 && x.dilation == 1;
      if (plain && (x.stride == 1 || (in_steps && !x.transposed))) {
        if constexpr (kHasNine)
          if (nine) return {in_steps ? &DepthwisePlan::template run_nine<2> : &DepthwisePlan::template run_nine<1>, kNineRows};
        if (y.kernel == 3) return {in_steps ? &DepthwisePlan::template run_columns<3, 2> : &DepthwisePlan::template run_columns<3, 1>};
        if (y.kernel == 5) return {in_steps ? &DepthwisePlan::template run_columns<5, 2> : &DepthwisePlan::template run_columns<5, 1>};
        if (y.kernel == 7 && !in_steps) return {&DepthwisePlan::template run_columns<7, 1>};
      }
      if (nine && in_steps && x.transposed)
        return {x.padding % 2 ? &DepthwisePlan::template run_spread<true> : &DepthwisePlan::template run_spread<false>, kSpreadRows};
    }
    if (x.transposed || x.stride == 1) return {&DepthwisePlan::template run_rows<1>};
    return {x.stride == 2 ? &DepthwisePlan::template run_rows<2> : &DepthwisePlan::template run_rows<0>};
  }

  // Calls sum(column, offset in the source rows, offset of the results) for vectors of columns. Prefetches what the next block reads and
  // writes, a part with each vector.
  template <class Sum>
  HWY_INLINE void for_columns(const Lines<T>& source, int64_t row, int64_t row_end, int64_t ky, T* result, Sum sum) const {
    constexpr int64_t lanes = kVector<T>;
    const int64_t width = plan.x.result, stride = plan.x.stride;
    const T* next = source.plane + (plan.y.base(row_end) + lines_[0].first + ky - stride) * plan.x.source;
    const T* next_result = result + row_end * width;
    for (int64_t c = 0; c < width; c += lanes, next += ahead_, next_result += ahead_result_) {
      fetch_lines<0>(next, ahead_);
      fetch_lines<1>(next_result, ahead_result_);
      if (width >= lanes) c = std::min(c, width - lanes);  // whole vectors, which may begin before the last one ends
      sum(parts_[0].low + c * stride, result + row * width + c, width - c);
    }
  }

  // Results below each other share what they read.
  template <int ky, int stride>
  void run_columns(const Lines<T>& source, const T* weights, T start, int64_t row, int64_t row_end, T* result) const {
    const T* lines[(kColumnRows - 1) * stride + ky];
    const int64_t rows = row_end - row;
    source.find(plan.y.base(row) + lines_[0].first, 1, (rows - 1) * stride + ky, lines);
    const auto sum = sum_column_for<ky, stride, T>(rows);
    for_columns(source, row, row_end, ky, result, [&](int64_t at, T* to, int64_t columns) {
      sum(lines, at, plan.x.source, plan.x.kernel, plan.x.dilation, weights, start, to, plan.x.result, columns);
    });
  }
  template <int stride>
  void run_nine(const Lines<T>& source, const T* weights, T start, int64_t row, int64_t row_end, T* result) const {
    const auto sum = sum_nine_for<stride>(row_end - row);
    for_columns(source, row, row_end, 3, result, [&](int64_t at, T* to, int64_t columns) {
      sum(source, plan.y.base(row) + lines_[0].first, at, weights, start, to, plan.x.result, columns);
    });
  }

  // The gradient of a 3x3 kernel in steps of two.
  template <bool middle_first>
  void run_spread(const Lines<T>& source, const T* weights, T start, int64_t row, int64_t row_end, T* result) const {
    const T* lines[kSpreadRows / 2 + 2];
    T in_order[9];
    for (size_t i = 0; i < 9; ++i) in_order[order_[i]] = weights[i];
    const int64_t padding = plan.y.padding, first = (row + padding) / 2 - 1, last = (row_end - 1 + padding) / 2;
    source.find(first, 1, last - first + 1, lines);
    const int64_t at = middle_first ? (plan.x.padding - 1) / 2 : plan.x.padding / 2 - 1;
    spread_rows<middle_first>(lines, at, plan.x.source, padding, in_order, start, row, row_end, result, plan.x.result);
  }

  template <int stride>
  void run_rows(const Lines<T>& source, const T* weights, T start, int64_t row, int64_t row_end, T* result) const {
    const int64_t across = plan.x.phases(), step = plan.x.transposed ? 1 : plan.x.stride;
    std::vector<const T*> lines(size_t(plan.y.kernel));
    std::vector<RowPart<T>> parts;
    for (const Part& p : parts_) parts.push_back({taps_.data() + p.tap, weights + p.tap, p.count, p.low, p.high, p.first, p.total});
    for (int64_t i = row; i < row_end; ++i) {
      const int64_t phase = plan.y.phase(i);
      const PhaseLines& reach = lines_[size_t(phase)];
      source.find(plan.y.base(i) + reach.first, reach.step, reach.count, lines.data());
      T* to = result + i * plan.x.result;
      if (across == 1) sum_row<stride>(lines.data(), parts[size_t(phase)], step, plan.x.source, start, to);
      else sum_interleaved(lines.data(), parts.data() + phase * across, across, plan.x.source, start, to, plan.x.result);
    }
  }

  // See RowPart; tap: the first of its taps.
  struct Part {
    int64_t tap, count, low, high, first, total;
  };
  RunBlock run_block_;
  std::vector<PhaseLines> lines_;  // by phase of rows
  std::vector<Part> parts_;        // by phase of both axes
  std::vector<RowTap> taps_;
  std::vector<int64_t> order_;  // of the taps in the kernel
  bool in_order_;
  int64_t rows_;                  // of a block
  int64_t ahead_, ahead_result_;  // elements that are fetched at a time
};

// By a class of kernels for small planes, several of which are summed at a time.
template <class Planes>
void convolve_small(const ConvPlan& plan, const float* source, const float* weight, const float* bias, float* result, ImageFinish finish) {
  const Planes planes(plan);
  const int64_t from = plan.y.source * plan.x.source, to = plan.y.result * plan.x.result, taps = plan.taps();
  const int64_t most = finish ? std::max<int64_t>(4, kFinishedTogether / to / 4 * 4) : plan.groups;
  parallel_for(plan.images * plan.groups, std::max<int64_t>(1, kTaskWork / (to * (taps + 8))), [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end;) {  // those of an image at a time
      const int64_t channel = plane % plan.groups, count = std::min({end - plane, plan.groups - channel, most});
      planes.sum(source + plane * from, weight + channel * taps, bias ? bias + channel : nullptr, count, result + plane * to);
      finish.range(plane * to, count * to);
      plane += count;
    }
  });
}

template <class T>
void convolve_of(const ConvPlan& plan, const T* source, const T* weight, const T* bias, T* result, ImageFinish finish) {
  if constexpr (std::is_same_v<T, float>) {
    if (PairedPlanes<1>::suit(plan)) return convolve_small<PairedPlanes<1>>(plan, source, weight, bias, result, finish);
    if (PairedPlanes<2>::suit(plan)) return convolve_small<PairedPlanes<2>>(plan, source, weight, bias, result, finish);
    if (SmallPlanes::suit(plan)) return convolve_small<SmallPlanes>(plan, source, weight, bias, result, finish);
  }
  const DepthwisePlan<T> depthwise(plan);
  const int64_t blocks = depthwise.blocks(), taps = plan.taps();
  const int64_t from_plane = plan.y.source * plan.x.source, to_plane = plan.y.result * plan.x.result;
  const int64_t tasks = plan.images * plan.groups * blocks, grain = std::max<int64_t>(1, kTaskWork / depthwise.block_work());
  parallel_for(tasks, grain, [&](int64_t begin, int64_t end) {
    ScratchBuffer<T> zeros(plan.x.source), weights(taps);
    std::fill_n(zeros.data(), plan.x.source, T(0));
    int64_t plane = begin / blocks, block = begin % blocks, channel = plane % plan.groups;
    const T* own = depthwise.ordered_weights(weight + channel * taps, weights.data());
    int64_t finished = plane * to_plane + depthwise.begin(block);
    for (int64_t task = begin; task < end; ++task) {
      const Lines<T> lines{source + plane * from_plane, plan.y.source, plan.x.source, zeros.data()};
      depthwise.run(lines, own, bias ? bias[channel] : T(0), block, result + plane * to_plane);
      const int64_t complete = plane * to_plane + depthwise.begin(block + 1);
      if (complete - finished >= kFinishedTogether || task + 1 == end) {
        finish.range(finished, complete - finished);
        finished = complete;
      }
      if (++block < blocks) continue;
      block = 0, ++plane;
      if (++channel == plan.groups) channel = 0;
      own = depthwise.ordered_weights(weight + channel * taps, weights.data());
    }
  });
}

// --- the gradient of the weights ---

// Adds the products of rows [row, row_end) of a plane of dy to sums[tap][lane].
template <int stride, class T>
void add_rows(const ConvGeometry& g, const Lines<T>& x, const T* dy, int64_t row, int64_t row_end, const T** lines, T* sums) {
  const int64_t at = -g.x.padding, rows = row_end - row, columns = g.x.out;
  dy += row * columns;
  if constexpr (stride != 0) {
    if (g.y.kernel == 3 && g.x.kernel == 3 && g.y.stride == stride && g.y.dilation == 1) {
      x.find(g.y.position(row, 0), 1, (rows - 1) * stride + 3, lines);
      return roll_weight<stride>(lines, at, g.x.in, g.x.dilation, dy, rows, columns, sums);
    }
  }
  for (int64_t i = 0; i < g.y.kernel; ++i) {
    x.find(g.y.position(row, i), g.y.stride, rows, lines);
    for (int64_t j = 0; j < g.x.kernel; j += kWeightTaps)
      add_weight_for<stride, T>(std::min<int64_t>(kWeightTaps, g.x.kernel - j))(
          lines, at + j * g.x.dilation, g.x.in, g.x.stride, g.x.dilation, dy, rows, columns, sums + (i * g.x.kernel + j) * kVector<T>);
  }
}

constexpr int64_t kVectorsInSum = 256;  // before rounding errors grow: then sums are joined in double

// Adds the lanes of the taps' sums to their totals, and resets them.
template <class T>
void join_lanes(int64_t taps, T* sums, double* totals) {
  for (int64_t tap = 0; tap < taps; ++tap) totals[tap] += double(sum_of_lanes(sums + tap * kVector<T>));
  std::fill_n(sums, taps * kVector<T>, T(0));
}

template <class Planes>
void weight_small(const ConvGeometry& g, const ConvPlan& plan, const float* x, const float* dy, float* dw) {
  const Planes planes(plan);
  const int64_t taps = g.taps(), at_once = std::max<int64_t>(2, kVectorsInSum / g.y.out / 2 * 2);  // planes of a channel
  const int64_t work = g.batch * g.pixels() * (taps + 8), x_step = g.groups * g.plane(), dy_step = g.groups * g.pixels();
  parallel_for(g.groups, std::max<int64_t>(1, kTaskWork / work), [&](int64_t begin, int64_t end) {
    ScratchBuffer<float> sums(taps * kVector<float>);
    ScratchBuffer<double> totals(taps);
    std::fill_n(sums.data(), taps * kVector<float>, 0.0f);
    for (int64_t group = begin; group < end; ++group) {
      std::fill_n(totals.data(), taps, 0.0);
      for (int64_t image = 0; image < g.batch; image += at_once) {
        planes.add_weight(x + image * x_step + group * g.plane(), x_step, dy + image * dy_step + group * g.pixels(), dy_step,
            std::min(at_once, g.batch - image), sums.data());
        join_lanes(taps, sums.data(), totals.data());
      }
      for (int64_t tap = 0; tap < taps; ++tap) dw[group * taps + tap] = float(totals.data()[tap]);
    }
  });
}

template <class T>
void weight_of(const ConvGeometry& g, const T* x, const T* dy, T* dw) {
  if constexpr (std::is_same_v<T, float>) {
    const ConvPlan plan = ConvPlan::forward(g);
    if (PairedPlanes<1>::suit(plan)) return weight_small<PairedPlanes<1>>(g, plan, x, dy, dw);
    if (PairedPlanes<2>::suit(plan)) return weight_small<PairedPlanes<2>>(g, plan, x, dy, dw);
    if (SmallPlanes::suit(plan)) return weight_small<SmallPlanes>(g, plan, x, dy, dw);
  }
  constexpr int64_t lanes = kVector<T>;
  const int64_t rows = std::max<int64_t>(1, kVectorsInSum / divided_up(g.x.out, lanes)), strips = divided_up(g.y.out, rows);
  const int64_t taps = g.taps(), items = g.batch * strips, parts = std::clamp<int64_t>(divided_up(8, g.groups), 1, items);
  const auto add = g.x.stride == 1 ? add_rows<1, T> : g.x.stride == 2 ? add_rows<2, T> : add_rows<0, T>;
  ScratchBuffer<double> sums(parts * g.groups * taps);
  std::fill_n(sums.data(), parts * g.groups * taps, 0.0);
  const int64_t work = std::min(rows, g.y.out) * g.x.out * (taps + 8) * divided_up(items, parts);
  parallel_for(parts * g.groups, std::max<int64_t>(1, kTaskWork / work), [&](int64_t begin, int64_t end) {
    ScratchBuffer<T> zeros(g.x.in), partial(taps * lanes);
    ScratchBuffer<const T*> lines(std::min(rows, g.y.out) * g.y.stride + g.y.kernel);
    std::fill_n(zeros.data(), g.x.in, T(0));
    std::fill_n(partial.data(), taps * lanes, T(0));
    for (int64_t task = begin; task < end; ++task) {
      const int64_t part = task / g.groups, group = task % g.groups;
      const int64_t item = items * part / parts, item_end = items * (part + 1) / parts;
      int64_t plane = item / strips * g.groups + group, row = item % strips * rows;
      int64_t summed = 0;  // vectors in the partial sums
      for (int64_t i = item; i < item_end; ++i, row += rows) {
        if (row >= g.y.out) row = 0, plane += g.groups;
        const int64_t row_end = std::min(g.y.out, row + rows);
        add(g, {x + plane * g.plane(), g.y.in, g.x.in, zeros.data()}, dy + plane * g.pixels(), row, row_end, lines.data(), partial.data());
        if ((summed += (row_end - row) * divided_up(g.x.out, lanes)) < kVectorsInSum) continue;
        join_lanes(taps, partial.data(), sums.data() + task * taps);
        summed = 0;
      }
      join_lanes(taps, partial.data(), sums.data() + task * taps);
    }
  });
  for (int64_t i = 0; i < g.groups * taps; ++i) {
    double total = 0;
    for (int64_t part = 0; part < parts; ++part) total += sums.data()[part * g.groups * taps + i];
    dw[i] = T(total);
  }
}

FunctionsOf<DepthwiseFunctions, float, double> make_functions() {
  return {{convolve_of<float>, weight_of<float>}, {convolve_of<double>, weight_of<double>}};
}

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {

namespace {
PYBURN_FUNCTIONS(DepthwiseFunctions)
}  // namespace

template <class T>
void convolve_depthwise(const ConvPlan& plan, const T* x, const T* w, const T* b, T* y, ImageFinish finish) {
  functions<T>().convolve(plan, x, w, b, y, finish);
}
template void convolve_depthwise(const ConvPlan&, const float*, const float*, const float*, float*, ImageFinish);
template void convolve_depthwise(const ConvPlan&, const double*, const double*, const double*, double*, ImageFinish);
template <class T>
void convolve_depthwise_weight(const ConvGeometry& g, const T* x, const T* dy, T* dw) {
  functions<T>().weight(g, x, dy, dw);
}
template void convolve_depthwise_weight(const ConvGeometry&, const float*, const float*, float*);
template void convolve_depthwise_weight(const ConvGeometry&, const double*, const double*, double*);

}  // namespace pyburn::cpu
#endif
