// A convolution as sums over taps: which source elements contribute to each result element. The input gradient has the same form; its
// result elements fall into phases, which are sets of elements that use the same taps.
#pragma once
#include <algorithm>
#include <vector>

#include "pyburn/backends/cpu/conv/geometry.h"

namespace pyburn::cpu {

struct PlanAxis {
  int64_t source, result, kernel, stride, padding, dilation;
  bool transposed;

  int64_t phases() const { return transposed ? stride : 1; }
  int64_t phase(int64_t i) const { return transposed ? (i + padding) % stride : 0; }
  // Result i reads source index base(i) + offset(its phase, tap) for each tap of its phase. The index may be outside the source.
  int64_t base(int64_t i) const { return transposed ? (i + padding) / stride : i * stride - padding; }
  bool meets(int64_t phase, int64_t tap) const { return !transposed || (tap * dilation) % stride == phase; }
  int64_t offset(int64_t phase, int64_t tap) const { return transposed ? -((tap * dilation - phase) / stride) : tap * dilation; }
  // The range of source indices that the results [begin, end) read; parts of it may be outside the source.
  ConvAxis::Range reach(int64_t begin, int64_t end) const {
    const int64_t span = (kernel - 1) * dilation;
    return transposed ? ConvAxis::Range{base(begin) - span / stride, base(end - 1) + 1}
                      : ConvAxis::Range{base(begin), base(end - 1) + span + 1};
  }
};

struct ConvPlan {
  struct Tap {
    int64_t y, x;   // offset in the source
    int64_t index;  // index among the taps of the kernel
  };

  int64_t images, groups, sources, results;  // channels per group
  PlanAxis y, x;
  std::vector<std::vector<Tap>> phases;  // taps of phase y * x.phases() + x, in source order

  static ConvPlan forward(const ConvGeometry& g) { return {g, g.channels, g.outputs, axis(g.y, false), axis(g.x, false)}; }
  static ConvPlan input_gradient(const ConvGeometry& g) { return {g, g.outputs, g.channels, axis(g.y, true), axis(g.x, true)}; }

  int64_t taps() const { return y.kernel * x.kernel; }

 private:
  ConvPlan(const ConvGeometry& g, int64_t sources, int64_t results, PlanAxis y, PlanAxis x)
      : images(g.batch), groups(g.groups), sources(sources), results(results), y(y), x(x) {
    for (int64_t py = 0; py < y.phases(); ++py)
      for (int64_t px = 0; px < x.phases(); ++px) {
        std::vector<Tap>& taps = phases.emplace_back();
        for (int64_t i = 0; i < y.kernel; ++i)
          for (int64_t j = 0; j < x.kernel; ++j)
            if (y.meets(py, i) && x.meets(px, j)) taps.push_back({y.offset(py, i), x.offset(px, j), i * x.kernel + j});
        std::sort(taps.begin(), taps.end(), [](const Tap& a, const Tap& b) { return a.y != b.y ? a.y < b.y : a.x < b.x; });
      }
  }
  static PlanAxis axis(const ConvAxis& a, bool transposed) {
    // Where the window has one place only, any stride that is large enough means the same, and phases are made for each step of it.
    const int64_t enough = transposed ? std::max(a.in + a.padding, (a.kernel - 1) * a.dilation + 1) : 1;
    const int64_t stride = a.out == 1 ? std::min(a.stride, enough) : a.stride;
    return {transposed ? a.out : a.in, transposed ? a.in : a.out, a.kernel, stride, a.padding, a.dilation, transposed};
  }
};

}  // namespace pyburn::cpu
