// Reductions over consecutive rows: the bounds of the segments are found on the GPU, so that nothing is read back.
#include "pyburn/ops/segment.h"

#include <limits>

#include "pyburn/backends/wgpu/kernel_table.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/format.h"

namespace pyburn::wgpu {
namespace {

// The first row of each segment, and the end of the last one, by one workgroup: each lane adds up a range of lengths, then the ranges
// before.
TensorHandle bounds_of(const Call& c, const TensorHandle& lengths, int64_t rows) {
  const int64_t segments = lengths.numel();
  const TensorHandle bounds = scratch(c, DType::uint32, Shape{Checked(segments) + 1});
  const bool wide = is_wide(word_of(lengths.dtype()));
  Shader s(c.gpu);
  s.input("lengths", lengths), s.output("bounds", bounds);
  s.number("segments", segments), s.number("rows", rows), s.number("range", std::max<int64_t>(1, divide_up(segments, 256)));
  s.fault("misfit", c.op.info->function(), format("lengths must not be negative and must sum to {}: got {}", rows, "{}"), true);
  s.declare("var<workgroup> sums: array<u32, 256>;\n");
  // More than all rows count as one more, which cannot overflow.
  s.declare(format(R"(fn length_of(k: u32) -> u32 {
  let n = lengths_get(k);
  if ({}) { report(p.misfit, bitcast<i32>({})); return p.rows + 1u; }
  return {};
}
fn joined(a: u32, b: u32) -> u32 { return min(a + b, p.rows + 1u); }
)",
      wide ? "n.y != 0u || n.x > p.rows" : "n < 0 || u32(n) > p.rows", wide ? "n.x" : "n", wide ? "n.x" : "u32(n)"));
  s.run_groups(1, 256, R"(
  let first = lane * p.range;
  let last = min(first + p.range, p.segments);
  var sum = 0u;
  for (var k = first; k < last; k++) { sum = joined(sum, length_of(k)); }
  sums[lane] = sum;
  workgroupBarrier();
  var before = 0u;
  for (var k = 0u; k < lane; k++) { before = joined(before, sums[k]); }
  for (var k = first; k < last; k++) {
    bounds_set(k, min(before, p.rows));
    before = joined(before, length_of(k));
  }
  if (lane == 255u) {
    if (before != p.rows) { report(p.misfit, bitcast<i32>(before)); }
    bounds_set(p.segments, min(before, p.rows));
  }
)");
  return bounds;
}

void segment_reduce(const Call& c) {
  const Segments& a = c.attrs<Segments>();
  const TensorHandle &x = *c.in[0], &y = c.out[0];
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const bool is_mean = a.reduce == Reduction::mean;
  const float start = a.initial                     ? a.initial->to<float>()
                      : a.reduce == Reduction::prod ? 1.0f
                      : a.reduce == Reduction::amax ? -infinity
                      : a.reduce == Reduction::amin ? infinity
                                                    : 0.0f;
  const char* fold = a.reduce == Reduction::prod   ? "r * v"
                     : a.reduce == Reduction::amax ? "select(r, v, v > r || is_nan(v))"
                     : a.reduce == Reduction::amin ? "select(r, v, v < r || is_nan(v))"
                                                   : "r + v";
  const TensorHandle bounds = bounds_of(c, *c.in[1], x.shape()[0]);
  Shader s(c.gpu);
  s.input("x", x), s.input("bounds", bounds), s.output("y", y);
  s.number("row", y.numel() / std::max<int64_t>(1, y.shape()[0])), s.number("start", start);
  std::string code = "let segment = i / p.row; let first = bounds_get(segment); let last = bounds_get(segment + 1u);\nvar r = p.start;\n";
  code += format("for (var k = first; k < last; k++) { let v = x_get(k * p.row + i % p.row); r = {}; }\n", fold);
  if (is_mean) code += format("if (last > first) { r = r / f32(last - first); }{}\n", a.initial ? "" : " else { r = nan_f32(); }");
  s.run_each(y.numel(), code + "y_set(i, r);");
}

}  // namespace

void register_segment(KernelTable& kernels) { kernels.add(op::_segment_reduce, segment_reduce, nullptr, kFloats); }

}  // namespace pyburn::wgpu
