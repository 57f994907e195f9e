#include "pyburn/backends/cpu/conv/planes.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/conv/planes.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>

#include "pyburn/backends/cpu/conv/planes-inl.h"
#include "pyburn/backends/cpu/conv/winograd.h"
#include "pyburn/backends/cpu/functions_of.h"
#include "pyburn/backends/cpu/gemm/gemm-inl.h"
#include "pyburn/backends/cpu/scratch_buffer.h"
#include "pyburn/support/thread_pool.h"

#ifndef PYBURN_PLANES_TYPES
#define PYBURN_PLANES_TYPES
namespace pyburn::cpu {

template <class T>
struct PlanesFunctions {
  void (*convolve)(const ConvPlan&, const Planes<T>&, const T* w, const T* b, ImageFinish);
  void (*weight)(const ConvGeometry&, const T* x, const T* dy, T* dw);
  int64_t panel;  // results that the register tiles of other algorithms hold
};

}  // namespace pyburn::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t kTaskWork = 1 << 18;  // multiply-adds that are worth a task
constexpr int64_t kTasks = 16;          // minimum number of tasks, if there are enough strips
constexpr int64_t kWeightParts = 8;     // number of parts of the images for the weight gradient; each has its own sums

// The products that a result of one phase is the sum of.
template <class T>
std::vector<Step> steps_of_phase(const ConvPlan& plan, const PlaneSplit<T>& split, size_t phase) {
  std::vector<Step> steps;
  const int64_t taps = plan.taps();
  for (int64_t source = 0; source < plan.sources; ++source)
    for (const ConvPlan::Tap& tap : plan.phases[phase]) {
      const int64_t weight = plan.y.transposed ? source * plan.results * taps + tap.index : source * taps + tap.index;
      steps.push_back({source * split.channel_size() + split.offset(int64_t(phase), tap.index), weight});
    }
  return steps;
}

// What the next task reads of each channel: it is fetched from memory while this one is computed.
template <class T>
struct NextStrip {
  const T* const* channels;  // null for all-zero channels
  int64_t count, first, size;

  HWY_INLINE void fetch(int64_t part, int64_t parts) const {
    constexpr int64_t line = 64 / int64_t(sizeof(T));
    for (int64_t c = 0; c < count; ++c)
      for (int64_t i = size * part / parts; channels[c] && i < size * (part + 1) / parts; i += line)
        __builtin_prefetch(channels[c] + first + i, 0, 2);
  }
};

// Some rows of one group of one image.
template <class T>
struct PlaneTask {
  const ConvPlan& plan;
  const PlaneSplit<T>& split;
  const std::vector<std::vector<Step>>& steps;
  const T* planes;  // of the source
  const T* weight;  // of the group
  const T* bias;
  T* result;        // of the group
  int64_t channel;  // from one result channel to the next
  int64_t row, row_end;
  NextStrip<T> next;

  int64_t rows_of_phase(int64_t phase) const { return std::max<int64_t>(0, std::min(row_end, plan_count(plan.y, phase)) - row); }

  // Sums of all results of a group, a few vectors of pixels at a time, to where place(output, row, column) says.
  template <class Place>
  void sum_phase(int64_t phase_y, int64_t phase_x, Place place) const {
    constexpr int64_t lanes = kVector<T>;
    const auto& list = steps[size_t(phase_y * plan.x.phases() + phase_x)];
    const int64_t columns = plan_count(plan.x, phase_x), across = divided_up(columns, lanes), count = rows_of_phase(phase_y) * across;
    const int64_t weight_row = plan.y.transposed ? plan.taps() : plan.sources * plan.taps();
    for (int64_t slot = 0; slot < count; slot += kSumSlots) {
      if (phase_y == 0 && phase_x == 0) next.fetch(slot / kSumSlots, divided_up(count, kSumSlots));
      const int64_t slots = std::min<int64_t>(kSumSlots, count - slot);
      Slots<T> at;
      for (int64_t s = 0; s < slots; ++s) {
        const int64_t r = (slot + s) / across, column = (slot + s) % across * lanes;
        at.source[s] = r * split.width + column;
        at.row[s] = r, at.column[s] = column, at.lanes[s] = std::min(lanes, columns - column);
      }
      for (int64_t output = 0; output < plan.results; output += kSumRows) {
        const int64_t rows = std::min<int64_t>(kSumRows, plan.results - output);
        for (int64_t s = 0; s < slots; ++s) at.result[s] = place(output, at.row[s], at.column[s]);
        sum_steps_for<T>(rows, slots)(list.data(), int64_t(list.size()), planes, at, weight + output * weight_row, weight_row,
            bias ? bias + output : nullptr, place(1, 0, 0) - place(0, 0, 0));
      }
    }
  }

  // Rows of results are contiguous.
  void run_whole() const {
    for (int64_t phase = 0; phase < plan.y.phases(); ++phase) {
      T* to = result + first_of_phase(plan.y, phase, row) * plan.x.result;
      sum_phase(phase, 0,
          [&](int64_t output, int64_t r, int64_t column) { return to + output * channel + r * plan.y.phases() * plan.x.result + column; });
    }
  }

  // Columns of results belong to different phases: each phase is summed separately, then they are interleaved.
  void run_interleaved(T* apart) const {
    const int64_t phases = plan.x.phases(), width = divided_up(plan.x.result, phases) + kVector<T>, height = row_end - row;
    for (int64_t phase_y = 0; phase_y < plan.y.phases(); ++phase_y) {
      const int64_t rows = rows_of_phase(phase_y);
      for (int64_t phase_x = 0; phase_x < phases; ++phase_x) {
        const int64_t first = first_of_phase(plan.x, phase_x, 0);
        sum_phase(phase_y, phase_x,
            [&](int64_t output, int64_t r, int64_t column) { return apart + ((output * height + r) * phases + first) * width + column; });
      }
      for (int64_t output = 0; output < plan.results; ++output)
        for (int64_t r = 0; r < rows; ++r)
          interleave_row(apart + (output * height + r) * phases * width, width, phases, plan.x.result,
              result + output * channel + first_of_phase(plan.y, phase_y, row + r) * plan.x.result);
    }
  }

  int64_t apart_size() const {
    return plan.x.phases() == 1
               ? 0
               : plan.results * (row_end - row) * plan.x.phases() * (divided_up(plan.x.result, plan.x.phases()) + kVector<T>);
  }
};

template <class T>
void convolve_of(const ConvPlan& plan, const Planes<T>& all, const T* weight, const T* bias, ImageFinish finish) {
  const PlaneSplit<T> split(plan);
  std::vector<std::vector<Step>> steps;
  for (size_t phase = 0; phase < plan.phases.size(); ++phase) steps.push_back(steps_of_phase(plan, split, phase));
  const int64_t strips = divided_up(split.most_rows(), split.rows), plane = plan.y.result * plan.x.result;
  const int64_t work = divided_up(plane, strips) * plan.results * (plan.sources * plan.taps() + 8) / int64_t(plan.phases.size());
  const int64_t tasks = plan.images * plan.groups * strips, together = tasks / kTasks;  // the planes are zeroed once for these
  parallel_for(tasks, std::max({int64_t(1), kTaskWork / work, together}), [&](int64_t begin, int64_t end) {
    const int64_t size = plan.sources * split.channel_size() + kSumSlots * kVector<T>;
    ScratchBuffer<T> planes(size);
    std::fill_n(planes.data(), size, T(0));
    PlaneTask<T> task{plan, split, steps, planes.data(), nullptr, nullptr, nullptr, all.channel, 0, split.rows, {}};
    ScratchBuffer<T> apart(task.apart_size());
    for (int64_t at = begin; at < end; ++at) {
      const int64_t strip = at % strips, group = at / strips % plan.groups, image = at / strips / plan.groups;
      task.row = strip * split.rows, task.row_end = std::min(split.most_rows(), task.row + split.rows);
      for (int64_t c = 0; c < plan.sources; ++c) {
        const T* from = all.source[size_t((image * plan.groups + group) * plan.sources + c)];
        T* target = planes.data() + c * split.channel_size();
        if (from) split.copy(from, task.row, task.row_end, target);
        else std::fill_n(target, split.channel_size(), T(0));
      }
      if (const int64_t following = at + 1; following < tasks) {
        const ConvAxis::Range rows = split.source_rows(following % strips);
        task.next = {&all.source[size_t(following / strips * plan.sources)], plan.sources, rows.first * plan.x.source,
            (rows.last - rows.first) * plan.x.source};
      }
      task.weight = weight + group * plan.results * plan.sources * plan.taps();
      task.bias = bias ? bias + group * plan.results : nullptr;
      task.result = all.result + image * all.image + group * plan.results * all.channel;
      if (plan.x.phases() == 1) task.run_whole();
      else task.run_interleaved(apart.data());
      const int64_t row = task.row * plan.y.phases(), row_end = std::min(plan.y.result, task.row_end * plan.y.phases());
      finish(image, group * plan.results, plan.results, row * plan.x.result, (row_end - row) * plan.x.result);
    }
  });
}

// --- the gradient of the weights: pixels in vectors, sums of all lanes in the end ---

// sums[output][step][lane] += dy * x over some rows, for `outputs` planes of dy and `count` steps.
template <int outputs, int count, class T>
void add_products(int64_t rows, int64_t columns, const T* planes, int64_t width, const int64_t* steps, const T* dy, int64_t dy_plane,
    T* sums, int64_t sums_row) {
  const hn::ScalableTag<T> d;
  constexpr int64_t lanes = kVector<T>;
  hn::Vec<decltype(d)> sum[outputs][count];
  HWY_UNROLL(4)
  for (int o = 0; o < outputs; ++o) {
    HWY_UNROLL(6)
    for (int s = 0; s < count; ++s) sum[o][s] = hn::LoadU(d, sums + o * sums_row + s * lanes);
  }
  const T* from[count];
  HWY_UNROLL(6)
  for (int s = 0; s < count; ++s) from[s] = planes + steps[s];
  const int64_t whole = columns / lanes * lanes, rest = columns - whole;
  const auto inside = hn::FirstN(d, size_t(rest));  // values past the end must not be multiplied by the zeros of dy: they may be infinite
  for (int64_t y = 0; y < rows; ++y, dy += columns) {
    for (int64_t c = 0; c < whole; c += lanes) {
      hn::Vec<decltype(d)> gradient[outputs];
      HWY_UNROLL(4)
      for (int o = 0; o < outputs; ++o) gradient[o] = hn::LoadU(d, dy + o * dy_plane + c);
      HWY_UNROLL(6)
      for (int s = 0; s < count; ++s) {
        const auto x = hn::LoadU(d, from[s] + y * width + c);
        HWY_UNROLL(4)
        for (int o = 0; o < outputs; ++o) sum[o][s] = hn::MulAdd(gradient[o], x, sum[o][s]);
      }
    }
    if (rest == 0) continue;
    HWY_UNROLL(4)
    for (int o = 0; o < outputs; ++o) {
      const auto gradient = load_first(d, dy + o * dy_plane + whole, rest);
      HWY_UNROLL(6)
      for (int s = 0; s < count; ++s)
        sum[o][s] = hn::MulAdd(gradient, hn::IfThenElseZero(inside, hn::LoadU(d, from[s] + y * width + whole)), sum[o][s]);
    }
  }
  HWY_UNROLL(4)
  for (int o = 0; o < outputs; ++o) {
    HWY_UNROLL(6)
    for (int s = 0; s < count; ++s) hn::StoreU(sum[o][s], d, sums + o * sums_row + s * lanes);
  }
}

template <class T>
using AddProducts = void (*)(int64_t, int64_t, const T*, int64_t, const int64_t*, const T*, int64_t, T*, int64_t);

template <class T>
AddProducts<T> add_products_for(int64_t outputs, int64_t count) {
  static constexpr auto row = []<int o>(std::integral_constant<int, o>) {
    return std::array<AddProducts<T>, kTileRows>{add_products<o, 1, T>, add_products<o, 2, T>, add_products<o, 3, T>, add_products<o, 4, T>,
        add_products<o, 5, T>, add_products<o, 6, T>};
  };
  static constexpr auto table = []<int... o>(std::integer_sequence<int, o...>) {
    return std::array{row(std::integral_constant<int, o + 1>())...};
  }
  (std::make_integer_sequence<int, kTileVectors>());
  return table[size_t(outputs - 1)][size_t(count - 1)];
}

template <class T>
void weight_of(const ConvGeometry& g, const T* x, const T* dy, T* dw) {
  constexpr int64_t lanes = kVector<T>;
  const ConvPlan plan = ConvPlan::forward(g);
  const PlaneSplit<T> split(plan);
  std::vector<int64_t> steps;
  for (int64_t c = 0; c < g.channels; ++c)
    for (int64_t tap = 0; tap < g.taps(); ++tap) steps.push_back(c * split.channel_size() + split.offset(0, tap));
  const int64_t count = int64_t(steps.size()), strips = divided_up(g.y.out, split.rows), items = g.batch * strips;
  const int64_t parts = std::min(kWeightParts, items), size = g.outputs * count * lanes;
  ScratchBuffer<T> sums(parts * size);
  parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
    const int64_t planes_size = g.channels * split.channel_size() + lanes;
    ScratchBuffer<T> planes(planes_size);
    std::fill_n(planes.data(), planes_size, T(0));
    std::fill_n(sums.data() + begin * size, (end - begin) * size, T(0));
    for (int64_t part = begin; part < end; ++part)
      for (int64_t item = items * part / parts; item < items * (part + 1) / parts; ++item) {
        const int64_t image = item / strips, row = item % strips * split.rows, rows = std::min(split.rows, g.y.out - row);
        for (int64_t c = 0; c < g.channels; ++c)
          split.copy(x + (image * g.channels + c) * g.plane(), row, row + rows, planes.data() + c * split.channel_size());
        for (int64_t o = 0; o < g.outputs; o += kTileVectors)
          for (int64_t s = 0; s < count; s += kTileRows)
            add_products_for<T>(std::min<int64_t>(kTileVectors, g.outputs - o), std::min<int64_t>(kTileRows, count - s))(rows, g.x.out,
                planes.data(), split.width, steps.data() + s, dy + (image * g.outputs + o) * g.pixels() + row * g.x.out, g.pixels(),
                sums.data() + part * size + (o * count + s) * lanes, count * lanes);
      }
  });
  parallel_for(g.outputs * count, 1 << 10, [&](int64_t begin, int64_t end) HWY_ATTR {
    const hn::ScalableTag<T> d;
    for (int64_t i = begin; i < end; ++i) {
      auto total = hn::Zero(d);
      for (int64_t part = 0; part < parts; ++part) total = hn::Add(total, hn::LoadU(d, sums.data() + part * size + i * lanes));
      dw[i] = hn::GetLane(hn::SumOfLanes(d, total));
    }
  });
}

FunctionsOf<PlanesFunctions, float, double> make_functions() {
  return {{convolve_of<float>, weight_of<float>, kPanel<float>}, {convolve_of<double>, weight_of<double>, kPanel<double>}};
}

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {

namespace {
PYBURN_FUNCTIONS(PlanesFunctions)
}  // namespace

bool suits_planes(const ConvPlan& p) {
  if (p.taps() == 1) return false;
  if (p.groups > 1) return p.sources <= 8 && p.results <= 16;
  constexpr int64_t kWide = 16;
  const int64_t columns = p.x.result / p.x.phases(), whole = (columns + kWide - 1) / kWide * kWide;
  const bool wide = p.x.result >= kWide, full = columns >= kWide && 4 * whole <= 5 * columns;  // few lanes are empty
  const bool narrow = 2 * p.results <= functions<float>().panel && !suits_winograd(p);         // other tiles would be half empty
  return wide && (p.sources <= 12 || p.results <= 4 || p.y.kernel == 1 || (narrow && full));
}
bool suits_planes_weight(const ConvGeometry& g) {
  constexpr int64_t kMostWeights = 1 << 14;  // each has a vector of sums
  return g.groups == 1 && g.taps() > 1 && g.channels <= 4 && g.x.out >= 16 && g.outputs * g.columns() <= kMostWeights;
}

template <class T>
void convolve_planes_weight(const ConvGeometry& g, const T* x, const T* dy, T* dw) {
  functions<T>().weight(g, x, dy, dw);
}
template void convolve_planes_weight(const ConvGeometry&, const float*, const float*, float*);
template void convolve_planes_weight(const ConvGeometry&, const double*, const double*, double*);
template <class T>
void convolve_planes(const ConvPlan& plan, const Planes<T>& planes, const T* w, const T* b, ImageFinish finish) {
  functions<T>().convolve(plan, planes, w, b, finish);
}
template void convolve_planes(const ConvPlan&, const Planes<float>&, const float*, const float*, ImageFinish);
template void convolve_planes(const ConvPlan&, const Planes<double>&, const double*, const double*, ImageFinish);

}  // namespace pyburn::cpu
#endif
