// sort, topk, kthvalue and median: rows are merged in passes; an element finds its place by a binary search in the neighbouring run.
// Stable.
#include "pyburn/ops/sort.h"

#include "pyburn/backends/wgpu/order.h"
#include "pyburn/backends/wgpu/rows.h"
#include "pyburn/ops/extremum.h"
#include "pyburn/support/checked.h"

namespace pyburn::wgpu {
namespace {

struct Sorted {
  TensorHandle values, places;  // (rows, length); places are int32
};

Sorted sorted(const Call& c, const TensorHandle& given, int64_t dim, bool ascending) {
  const TensorHandle x = with_last(given, dim);
  const int64_t length = extent_of(given, dim), rows = x.numel() / std::max<int64_t>(length, 1);
  const Shape shape{rows, length};
  const Word w = word_of(x.dtype());
  Sorted from{scratch(c, x.dtype(), shape), scratch(c, DType::int32, shape)}, to = from;
  {
    Shader s(c.gpu);
    s.input("x", x);
    s.output("y", from.values);
    s.output("place", from.places);
    s.number("length", length);
    s.run_each(x.numel(), "y_set(i, x_get(i)); place_set(i, i32(i % p.length));");
  }
  for (int64_t run = 1; run < length; run *= 2) {
    to = {scratch(c, x.dtype(), shape), scratch(c, DType::int32, shape)};
    Shader s(c.gpu);
    s.input("x", from.values);
    s.input("from", from.places);
    s.output("y", to.values);
    s.output("place", to.places);
    s.number("length", length);
    s.number("run", run);
    s.declare(order_of(w, ascending));
    s.run_each(x.numel(), R"(
  let row = i / p.length * p.length;
  let k = i - row;
  let pair = k / (2u * p.run) * (2u * p.run);
  let left = k < pair + p.run;
  let v = x_get(i);
  var low = select(pair, min(pair + p.run, p.length), left);
  let begin = low;
  var high = select(min(pair + p.run, p.length), min(pair + 2u * p.run, p.length), left);
  while (low < high) {
    let middle = (low + high) / 2u;
    let other = x_get(row + middle);
    // Elements of the left run come before equal ones of the right run.
    var first = before(other, v);
    if (!left) { first = !before(v, other); }
    if (first) { low = middle + 1u; } else { high = middle; }
  }
  let own = select(k - pair - p.run, k - pair, left);
  let at = row + pair + own + (low - begin);
  y_set(at, v);
  place_set(at, from_get(i));
)");
    from = to;
  }
  return from;
}

// The first `kept` elements of each row, or with `at` the one there.
void take(const Call& c, const Sorted& rows, int64_t dim, int64_t kept, int64_t at) {
  const int64_t length = rows.values.shape()[1];
  Shader s(c.gpu);
  s.input("x", rows.values);
  s.input("from", rows.places);
  const bool keeps_dim = c.out[0].rank() == c.in[0]->rank();
  s.output("y", keeps_dim ? with_last(c.out[0], dim) : c.out[0]);
  s.output("index", keeps_dim ? with_last(c.out[1], dim) : c.out[1]);
  s.number("length", length);
  s.number("kept", kept);
  s.number("at", at);
  s.run_each(c.out[0].numel(),
      "let e = i / p.kept * p.length + i % p.kept + p.at; y_set(i, x_get(e)); index_set(i, vec2<u32>(u32(from_get(e)), 0u));");
}

void sort(const Call& c) {
  const Sort& a = c.attrs<Sort>();
  take(c, sorted(c, *c.in[0], a.dim, !a.descending), a.dim, extent_of(*c.in[0], a.dim), 0);
}
void topk(const Call& c) {
  const TopK& a = c.attrs<TopK>();
  take(c, sorted(c, *c.in[0], a.dim, !a.largest), a.dim, a.k, 0);
}
void kthvalue(const Call& c) {
  const KthValue& a = c.attrs<KthValue>();
  take(c, sorted(c, *c.in[0], a.dim, true), a.dim, 1, a.k - 1);
}

// The lower of two middle elements; NaN, which is sorted to the end, if there is one and it counts.
template <bool ignores_nan>
void median(const Call& c) {
  const ArgReduce& a = c.attrs<ArgReduce>();
  const Sorted rows = sorted(c, *c.in[0], a.dim, true);
  const bool may_be_nan = is_floating(c.in[0]->dtype());
  Shader s(c.gpu);
  s.input("x", rows.values);
  s.input("from", rows.places);
  s.output("y", c.out[0]);
  s.output("index", c.out[1]);
  s.number("length", rows.values.shape()[1]);
  const std::string nan = may_be_nan ? "is_nan(x_get(row + middle))" : "false";
  s.run_each(c.out[0].numel(),
      "let row = i * p.length;\nvar low = 0u;\nvar high = p.length;\n"
      "while (low < high) { let middle = (low + high) / 2u; if (" +
          nan +
          ") { high = middle; } else { low = middle + 1u; } }\n"
          "var at = row + (low - select(0u, 1u, low > 0u)) / 2u;\nif (low == 0u" +
          (ignores_nan ? "" : " || low < p.length") +
          ") { at = row + low; }\n"
          "y_set(i, x_get(at)); index_set(i, vec2<u32>(u32(from_get(at)), 0u));");
}

}  // namespace

void register_sort(KernelTable& kernels) {
  kernels.add(op::sort, sort);
  kernels.add(op::topk, topk);
  kernels.add(op::kthvalue, kthvalue);
  kernels.add(op::median_dim, median<false>);
  kernels.add(op::nanmedian_dim, median<true>);
}

}  // namespace pyburn::wgpu
