// Optimiser steps: one pass over all parameters and their state, on several threads.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pyburn/backends/cpu/optimise.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/plain_tensors.h"
#include "pyburn/ops/optimise.h"
#include "pyburn/support/thread_pool.h"

#ifndef PYBURN_OPTIMISE_LANE
#define PYBURN_OPTIMISE_LANE
namespace pyburn::cpu {

// The V of a formula: one element. Numbers become T, so that loops stay in one type and turn into vectors.
template <class T>
struct Lane {
  T v = 0;
  Lane() = default;
  Lane(double number) : v(T(number)) {}
  static Lane of(T v) {
    Lane lane;
    lane.v = v;
    return lane;
  }
  friend Lane operator+(Lane a, Lane b) { return of(a.v + b.v); }
  friend Lane operator-(Lane a, Lane b) { return of(a.v - b.v); }
  friend Lane operator*(Lane a, Lane b) { return of(a.v * b.v); }
  friend Lane operator/(Lane a, Lane b) { return of(a.v / b.v); }
  friend Lane add(Lane a, Lane b, double factor) { return of(a.v + T(factor) * b.v); }
  friend Lane square_root(Lane a) { return of(std::sqrt(a.v)); }
  friend Lane magnitude(Lane a) { return of(std::abs(a.v)); }
  friend Lane signum(Lane a) { return of(a.v != a.v ? a.v : T(a.v > 0) - T(a.v < 0)); }
  friend Lane larger(Lane a, Lane b) { return of(a.v > b.v || a.v != a.v ? a.v : b.v); }  // NaN wins
  friend Lane smaller(Lane a, Lane b) { return of(a.v < b.v || a.v != a.v ? a.v : b.v); }
  friend Lane choose(Lane x, Lane positive, Lane otherwise) { return of(x.v > 0 ? positive.v : otherwise.v); }
};

// A parameter, its gradient and its state as contiguous arrays of T. Others go through a copy and back.
template <class T>
class Slots {
 public:
  Slots(Inputs in, Outputs out, int64_t n, int64_t i) {
    for (int64_t group = 0; group < int64_t(in.size()) / n; ++group) {
      const bool written = group != 1;
      const TensorHandle& t = written ? out[size_t((group ? group - 1 : 0) * n + i)] : *in[size_t(group * n + i)];
      work_.push_back(is_plain<T>(t) ? t : converted(t, dtype_of<T>));
      target_.push_back(is_plain<T>(t) || !written ? TensorHandle() : t);
    }
  }
  void write_back() const {
    for (int64_t k = 0; k < work_.size(); ++k)
      if (target_[k].defined()) convert_into(work_[k], target_[k]);
  }
  T* operator[](int64_t group) const { return work_[group].template data<T>(); }
  int64_t numel() const { return work_[0].numel(); }

 private:
  SmallVector<TensorHandle, 6> work_, target_;
};

// All parameters are one range of elements, which threads take parts of.
template <class T>
void step_all(const void* attrs, int states, Inputs in, Outputs out,
    void (*step_elements)(const void* attrs, const Slots<T>& slots, int64_t begin, int64_t end)) {
  const int64_t n = int64_t(in.size()) / (2 + states), grouped = n * (2 + states);
  if (int64_t(in.size()) > grouped) {  // found_inf
    if (converted(*in.back(), DType::float32).data<float>()[0] != 0) return;
    in = in.first(size_t(grouped));
  }
  std::vector<Slots<T>> slots;
  std::vector<int64_t> ends;
  int64_t total = 0;
  for (int64_t i = 0; i < n; ++i) {
    slots.emplace_back(in, out, n, i);
    ends.push_back(total += slots.back().numel());
  }
  parallel_for(total, kGrain, [&](int64_t begin, int64_t end) {
    for (size_t i = size_t(std::upper_bound(ends.begin(), ends.end(), begin) - ends.begin()); begin < end; ++i) {
      const int64_t first = ends[i] - slots[i].numel(), stop = std::min(end, ends[i]);
      if (begin < stop) step_elements(attrs, slots[i], begin - first, stop - first);
      begin = stop;
    }
  });
  for (const Slots<T>& s : slots) s.write_back();
}

}  // namespace pyburn::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace pyburn::cpu::HWY_NAMESPACE {
namespace {

// Elements [begin, end) of one parameter. The number of states is fixed, so that everything stays in registers.
template <class T, int states, class A>
void step_elements(const void* attrs, const Slots<T>& slots, int64_t begin, int64_t end) {
  const A a = *static_cast<const A*>(attrs);  // a copy that no store can reach
  if (a.states() != states) return;           // tells the compiler what the options are that decide it
  T* HWY_RESTRICT p = slots[0];
  const T* HWY_RESTRICT g = slots[1];
  T* state[states + 1];
  for (int k = 0; k < states; ++k) state[k] = slots[2 + k];
  for (int64_t i = begin; i < end; ++i) {
    Lane<T> x = Lane<T>::of(p[i]), s[states + 1];
    for (int k = 0; k < states; ++k) s[k] = Lane<T>::of(state[k][i]);
    a.step(x, Lane<T>::of(g[i]), s);
    p[i] = x.v;
    for (int k = 0; k < states; ++k) state[k][i] = s[k].v;
  }
}

template <class T, class A, int states = A::kFewest>
void update(const A& a, Inputs in, Outputs out) {
  if constexpr (states < A::kMost)
    if (a.states() > states) return update<T, A, states + 1>(a, in, out);
  step_all<T>(&a, states, in, out, step_elements<T, states, A>);
}

template <class... A>
void add_updates(KernelTable& kernels) {
  const auto single = {DType::float32, DType::float16, DType::bfloat16};
  (kernels.add<update<float, A>>(*A::row, single), ...);
  (kernels.add<update<double, A>>(*A::row, DType::float64), ...);
}
void add_optimise(KernelTable& kernels) {
  add_updates<SgdStep, AsgdStep, AdamStep, AdamaxStep, NAdamStep, RAdamStep, LionStep, AdanStep, AdagradStep, AdadeltaStep, RmspropStep,
      RpropStep>(kernels);
}

}  // namespace
}  // namespace pyburn::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pyburn::cpu {

HWY_EXPORT(add_optimise);
void register_optimise(KernelTable& kernels) { HWY_DYNAMIC_DISPATCH(add_optimise)(kernels); }

}  // namespace pyburn::cpu
#endif
