// argmax, argmin, and max and min with the position: of equal elements the first; NaN before all others.
#include "pyburn/ops/extremum.h"

#include "pyburn/backends/wgpu/order.h"
#include "pyburn/backends/wgpu/rows.h"

namespace pyburn::wgpu {
namespace {

void find(const Call& c, bool largest, int64_t dim, const TensorHandle* value, const TensorHandle& index) {
  TensorHandle x = *c.in[0];
  int64_t length = x.numel();
  if (dim >= 0 && x.rank() > 0) {
    length = x.shape()[dim];
    x = with_last(x, dim);
  }
  const Word w = word_of(x.dtype());
  const std::string type = type_name(w);
  Shader s(c.gpu);
  s.input("x", x);
  if (value) s.output("y", *value);
  s.output("index", index);
  s.number("length", length);
  // For a minimum, too, NaN comes first.
  std::string order = order_of(w, !largest);
  if (w == Word::f32 && !largest)
    order = "fn before(a: f32, b: f32) -> bool { return (is_nan(a) && !is_nan(b)) || (a < b && !is_nan(a) && !is_nan(b)); }\n";
  s.declare(order + "var<workgroup> values: array<" + type + ", 64>;\nvar<workgroup> places: array<u32, 64>;\n");
  s.run_groups(index.numel(), 64,
      R"(
  let first = group * p.length;
  var place = min(lane, p.length - 1u);
  var best = x_get(first + place);
  for (var k = lane + 64u; k < p.length; k += 64u) {
    let v = x_get(first + k);
    if (before(v, best)) { best = v; place = k; }
  }
  values[lane] = best;
  places[lane] = place;
  for (var half = 32u; half > 0u; half = half / 2u) {
    workgroupBarrier();
    if (lane < half) {
      let other = values[lane + half];
      let there = places[lane + half];
      if (before(other, values[lane]) || (!before(values[lane], other) && there < places[lane])) { values[lane] = other; places[lane] = there; }
    }
  }
  if (lane == 0u) { index_set(group, vec2<u32>(places[0], 0u)); )" +
          std::string(value ? "y_set(group, values[0]); }" : "}"));
}

template <bool largest>
void position(const Call& c) {
  find(c, largest, c.attrs<ArgReduce>().dim, nullptr, c.out[0]);
}
template <bool largest>
void with_position(const Call& c) {
  find(c, largest, c.attrs<ArgReduce>().dim, &c.out[0], c.out[1]);
}

}  // namespace

void register_extremum(KernelTable& kernels) {
  kernels.add(op::argmax, position<true>);
  kernels.add(op::argmin, position<false>);
  kernels.add(op::max_dim, with_position<true>);
  kernels.add(op::min_dim, with_position<false>);
}

}  // namespace pyburn::wgpu
