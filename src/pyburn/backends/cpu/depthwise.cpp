#include "pyburn/backends/cpu/depthwise.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/depthwise.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>

#include "pyburn/backends/cpu/conv_planes-inl.h"
#include "pyburn/backends/cpu/depthwise_rows-inl.h"
#include "pyburn/backends/cpu/scratch_buffer.h"
#include "pyburn/support/thread_pool.h"

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t kTaskWork = 1 << 18;         // multiply-adds that are worth a task
constexpr int64_t kTogetherBytes = 12 * 1024;  // of planes that are copied before the first is used: what was just written is slow to read

template <class T>
int64_t planes_together(const PlaneSplit<T>& split) {
  return std::clamp<int64_t>(kTogetherBytes / (split.channel_size() * int64_t(sizeof(T))), 1, 16);
}

// Rows so short that vectors would be half empty, and channels enough to fill them.
template <class T>
bool has_short_rows(int64_t channels, int64_t source, int64_t result) {
  return channels >= kVector<T> && 2 * std::min(source, result) <= kVector<T>;
}

// --- forward, and the gradient of the input ---

template <class T>
class DepthwisePlan {
 public:
  explicit DepthwisePlan(const ConvPlan& p) : plan(p), split(p) {
    int64_t next = 0;
    for (size_t phase = 0; phase < plan.phases.size(); ++phase) {
      const int64_t y = int64_t(phase) / plan.x.phases(), x = int64_t(phase) % plan.x.phases(), taps = int64_t(plan.phases[phase].size());
      phases_.push_back(
          {first_of_phase(plan.y, y, 0), plan_count(plan.y, y), first_of_phase(plan.x, x, 0), plan_count(plan.x, x), next, taps});
      next += taps;
      for (const ConvPlan::Tap& tap : plan.phases[phase]) offsets_.push_back(split.offset(int64_t(phase), tap.index));
      for (const ConvPlan::Tap& tap : plan.phases[phase]) order_.push_back(tap.index);
    }
    const bool fits = plan.y.stride == 1 && plan.x.stride == 1 && plan.y.dilation == 1;
    column_rows_ = fits && (plan.y.kernel == 3 || plan.y.kernel == 5) ? plan.y.kernel : 0;
    apart_width_ = divided_up(divided_up(plan.x.result, plan.x.phases()), kVector<T>) * kVector<T>;
  }
  int64_t apart_size() const { return plan.x.phases() * apart_width_; }

  // Rows [row, row_end) of each phase of one channel. `weights` and `apart` are room for numbers.
  void run(const T* planes, const T* weight, T start, int64_t row, int64_t row_end, T* weights, T* apart, T* result) const {
    for (size_t i = 0; i < order_.size(); ++i) weights[i] = weight[order_[i]];
    if (column_rows_ == 3) return run_columns<3>(planes, weights, start, row, row_end, result);
    if (column_rows_ == 5) return run_columns<5>(planes, weights, start, row, row_end, result);
    const int64_t across = plan.x.phases(), width = plan.x.result;
    for (size_t first = 0; first < phases_.size(); first += size_t(across)) {
      const Phase* phases = &phases_[first];
      const int64_t rows = std::min(row_end, phases->rows) - row;
      T* to = result + (phases->row + row * plan.y.phases()) * width;
      for (int64_t r = 0; r < rows; ++r, to += plan.y.phases() * width) {
        const T* from = planes + r * split.width;
        if (across == 1) {
          sum_row(&offsets_[size_t(phases->tap)], weights + phases->tap, phases->taps, from, start, to, width);
          continue;
        }
        for (const Phase* p = phases; p < phases + across; ++p)  // whole vectors, which are quick to read again
          sum_row(offsets_.data() + p->tap, weights + p->tap, p->taps, from, start, apart + p->column * apart_width_,
              p->columns == 0 ? 0 : apart_width_);
        interleave_row(apart, apart_width_, across, width, to);
      }
    }
  }

  const ConvPlan& plan;
  const PlaneSplit<T> split;

 private:
  // Results of a phase: the first row and column, how many, and which taps they meet.
  struct Phase {
    int64_t row, rows, column, columns, tap, taps;
  };

  // Results below each other share what they read.
  template <int ky>
  void run_columns(const T* planes, const T* weights, T start, int64_t row, int64_t row_end, T* result) const {
    for (int64_t r = row; r < row_end; r += kColumnRows) {
      const auto sum = sum_column_for<ky, T>(std::min<int64_t>(kColumnRows, row_end - r));
      for (int64_t column = 0; column < plan.x.result; column += kVector<T>)
        sum(planes + (r - row) * split.width + column, split.width, offsets_.data(), plan.x.kernel, weights, start,
            result + r * plan.x.result + column, plan.x.result, plan.x.result - column);
    }
  }

  std::vector<Phase> phases_;
  std::vector<int64_t> offsets_, order_;  // of the taps of all phases: in the planes, in the kernel
  int64_t column_rows_, apart_width_;
};

template <class T>
void convolve_of(const ConvPlan& plan, const T* source, const T* weight, const T* bias, T* result) {
  if (has_short_rows<T>(plan.groups, plan.x.source, plan.x.result))
    return convolve_depthwise_channels<T>(plan, source, weight, bias, result);
  const DepthwisePlan<T> depthwise(plan);
  const PlaneSplit<T>& split = depthwise.split;
  const int64_t strips = divided_up(split.most_rows(), split.rows), taps = plan.taps(), together = planes_together(split);
  const int64_t from_plane = plan.y.source * plan.x.source, to_plane = plan.y.result * plan.x.result;
  const int64_t work = divided_up(to_plane, strips) * (taps / int64_t(plan.phases.size()) + 8);
  parallel_for(plan.images * plan.groups * strips, std::max<int64_t>(1, kTaskWork / work), [&](int64_t begin, int64_t end) {
    const int64_t size = split.channel_size(), room = together * size + 4 * kVector<T>;
    ScratchBuffer<T> planes(room), weights(taps), apart(depthwise.apart_size());
    std::fill_n(planes.data(), room, T(0));
    auto rows = [&](int64_t task) {
      const int64_t row = task % strips * split.rows;
      return ConvAxis::Range{row, std::min(split.most_rows(), row + split.rows)};
    };
    for (int64_t first = begin; first < end; first += together) {
      const int64_t last = std::min(end, first + together);
      for (int64_t task = first; task < last; ++task) {
        const auto [row, row_end] = rows(task);
        split.copy(source + task / strips * from_plane, row, row_end, planes.data() + (task - first) * size);
      }
      for (int64_t task = first; task < last; ++task) {
        const auto [row, row_end] = rows(task);
        const int64_t plane = task / strips, channel = plane % plan.groups;
        depthwise.run(planes.data() + (task - first) * size, weight + channel * taps, bias ? bias[channel] : T(0), row, row_end,
            weights.data(), apart.data(), result + plane * to_plane);
      }
    }
  });
}

// --- the gradient of the weights ---

template <class T>
void weight_of(const ConvGeometry& g, const T* x, const T* dy, T* dw) {
  if (has_short_rows<T>(g.groups, g.x.in, g.x.out)) return convolve_depthwise_channels_weight<T>(g, x, dy, dw);
  constexpr int64_t lanes = kVector<T>, at_once = 9, kVectorsInSum = 256;
  const ConvPlan plan = ConvPlan::forward(g);
  const PlaneSplit<T> split(plan);
  const int64_t taps = g.taps(), parts = std::clamp<int64_t>(divided_up(8, g.groups), 1, g.batch), together = planes_together(split);
  const bool rolls = g.y.kernel == 3 && g.x.kernel == 3 && g.y.stride == 1 && g.x.stride == 1 && g.y.dilation == 1;
  std::vector<int64_t> offsets;
  for (int64_t tap = 0; tap < taps; ++tap) offsets.push_back(split.offset(0, tap));
  ScratchBuffer<double> sums(parts * g.groups * taps);
  std::fill_n(sums.data(), parts * g.groups * taps, 0.0);
  const int64_t strips = divided_up(g.y.out, split.rows), work = g.pixels() * (taps + 8) * divided_up(g.batch, parts);
  parallel_for(parts * g.groups, std::max<int64_t>(1, kTaskWork / work), [&](int64_t begin, int64_t end) {
    const int64_t size = split.channel_size(), room = together * size + 4 * lanes;
    ScratchBuffer<T> planes(room), partial(taps * lanes);
    std::fill_n(planes.data(), room, T(0));
    for (int64_t task = begin; task < end; ++task) {
      const int64_t part = task / g.groups, group = task % g.groups;
      int64_t summed = 0;  // vectors in the partial sums, which are joined in double before rounding errors grow
      std::fill_n(partial.data(), taps * lanes, T(0));
      const auto join = [&] {
        for (int64_t tap = 0; tap < taps; ++tap) sums.data()[task * taps + tap] += double(sum_of_lanes(partial.data() + tap * lanes));
        std::fill_n(partial.data(), taps * lanes, T(0));
        summed = 0;
      };
      const auto plane = [&](int64_t item) { return item / strips * g.groups + group; };
      const int64_t item_end = g.batch * (part + 1) / parts * strips;
      for (int64_t first = g.batch * part / parts * strips; first < item_end; first += together) {
        const int64_t last = std::min(item_end, first + together);
        for (int64_t item = first; item < last; ++item) {
          const int64_t row = item % strips * split.rows;
          split.copy(x + plane(item) * g.plane(), row, std::min(g.y.out, row + split.rows), planes.data() + (item - first) * size);
        }
        for (int64_t item = first; item < last; ++item) {
          const int64_t row = item % strips * split.rows, rows = std::min(g.y.out - row, split.rows);
          const T *from = planes.data() + (item - first) * size, *gradient = dy + plane(item) * g.pixels() + row * g.x.out;
          if (rolls) roll_weight_rows(rows, g.x.out, from, split.width, offsets.data(), gradient, partial.data());
          else
            for (int64_t tap = 0; tap < taps; tap += at_once)
              weight_rows_for<T>(std::min(at_once, taps - tap))(
                  rows, g.x.out, from, split.width, offsets.data() + tap, gradient, partial.data() + tap * lanes);
          if ((summed += rows * divided_up(g.x.out, lanes)) >= kVectorsInSum) join();
        }
      }
      join();
    }
  });
  for (int64_t i = 0; i < g.groups * taps; ++i) {
    double total = 0;
    for (int64_t part = 0; part < parts; ++part) total += sums.data()[part * g.groups * taps + i];
    dw[i] = T(total);
  }
}

// One set of functions per element type, so that each is exported once.
void convolve_float(const ConvPlan& plan, const float* x, const float* w, const float* b, float* y) { convolve_of(plan, x, w, b, y); }
void convolve_double(const ConvPlan& plan, const double* x, const double* w, const double* b, double* y) { convolve_of(plan, x, w, b, y); }
void weight_float(const ConvGeometry& g, const float* x, const float* dy, float* dw) { weight_of(g, x, dy, dw); }
void weight_double(const ConvGeometry& g, const double* x, const double* dy, double* dw) { weight_of(g, x, dy, dw); }

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {

HWY_EXPORT(convolve_float);
HWY_EXPORT(convolve_double);
HWY_EXPORT(weight_float);
HWY_EXPORT(weight_double);

template <>
void convolve_depthwise(const ConvPlan& plan, const float* x, const float* w, const float* b, float* y) {
  HWY_DYNAMIC_DISPATCH(convolve_float)(plan, x, w, b, y);
}
template <>
void convolve_depthwise(const ConvPlan& plan, const double* x, const double* w, const double* b, double* y) {
  HWY_DYNAMIC_DISPATCH(convolve_double)(plan, x, w, b, y);
}
template <>
void convolve_depthwise_weight(const ConvGeometry& g, const float* x, const float* dy, float* dw) {
  HWY_DYNAMIC_DISPATCH(weight_float)(g, x, dy, dw);
}
template <>
void convolve_depthwise_weight(const ConvGeometry& g, const double* x, const double* dy, double* dw) {
  HWY_DYNAMIC_DISPATCH(weight_double)(g, x, dy, dw);
}

}  // namespace pyburn::cpu
#endif
