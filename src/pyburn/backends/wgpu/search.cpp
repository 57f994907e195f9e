// Positions in sorted sequences.
#include "pyburn/ops/search.h"

#include "pyburn/backends/wgpu/rows.h"

namespace pyburn::wgpu {
namespace {

void searchsorted(const Call& c) {
  const TensorHandle &sorted = *c.in[0], &values = *c.in[1];
  const int64_t length = sorted.shape().back();
  const int64_t per_row = sorted.rank() > 1 ? values.shape().back() : values.numel();
  const Word result = word_of(c.out[0].dtype());
  Shader s(c.gpu);
  s.input("x", sorted);
  s.input("v", values);
  s.output("y", c.out[0]);
  s.number("length", length);
  s.number("per_row", std::max<int64_t>(per_row, 1));
  s.number("right", uint32_t(c.attrs<SearchSorted>().right));
  const Word w = word_of(sorted.dtype());
  const std::string type = type_name(w);
  std::string above = "m > v", reaches = "m >= v";
  if (w == Word::f32) above = "m > v && !is_nan(m) && !is_nan(v)", reaches = "m >= v && !is_nan(m) && !is_nan(v)";
  else if (w == Word::boolean) above = "m && !v", reaches = "m || !v";
  else if (w == Word::i64) above = "i64_lt(v, m)", reaches = "!i64_lt(m, v)";
  else if (w == Word::u64) above = "u64_lt(v, m)", reaches = "!u64_lt(m, v)";
  s.declare("fn above(m: " + type + ", v: " + type + ") -> bool { return " + above + "; }\nfn reaches(m: " + type + ", v: " + type +
            ") -> bool { return " + reaches + "; }\n");
  s.run_each(c.out[0].numel(), R"(
  let row = i / p.per_row * p.length;
  let v = v_get(i);
  var low = 0u;
  var high = p.length;
  while (low < high) {
    let middle = (low + high) / 2u;
    let m = x_get(row + middle);
    // NaN is not less than anything, so it goes to the end.
    let goes_on = select(!reaches(m, v), !above(m, v), p.right != 0u);
    if (goes_on) { low = middle + 1u; } else { high = middle; }
  }
  y_set(i, )" + std::string(is_wide(result) ? "vec2<u32>(low, 0u)" : "i32(low)") +
                                   ");");
}

}  // namespace

void register_search(KernelTable& kernels) { kernels.add(op::searchsorted, searchsorted); }

}  // namespace pyburn::wgpu
