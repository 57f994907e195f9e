// Running sums, products and extremes: a thread per row; sums and products of long rows by a workgroup.
#include "pyburn/ops/scan.h"

#include "pyburn/backends/wgpu/order.h"
#include "pyburn/backends/wgpu/rows.h"
#include "pyburn/support/checked.h"

namespace pyburn::wgpu {
namespace {

constexpr const char* kStep = "let k = select(n, p.length - 1u - n, p.reverse != 0u); let e = i * p.length + k; let v = x_get(e);\n";

constexpr int64_t kLong = 512;
constexpr int kLanes = 64;

void begin(Shader& s, const Call& c, const Scan& a) {
  s.input("x", with_last(*c.in[0], a.dim));
  s.output("y", with_last(c.out[0], a.dim));
  s.number("length", extent_of(*c.in[0], a.dim));
  s.number("reverse", uint32_t(a.reverse));
}
int64_t rows_of(const Call& c, const Scan& a) { return c.out[0].numel() / std::max<int64_t>(extent_of(*c.in[0], a.dim), 1); }

template <bool product>
void running(const Call& c) {
  const Scan& a = c.attrs<Scan>();
  const Word type = word_of(a.result), from = word_of(c.in[0]->dtype());
  const std::string name = type_name(type), unit = product ? "1" : "0";
  const std::string start = is_wide(type) ? "vec2<u32>(" + unit + "u, 0u)" : name + "(" + unit + ")";
  std::string load = from == type || (is_wide(from) && is_wide(type)) ? "v" : name + "(v)";
  if (is_wide(type) && !is_wide(from)) load = from == Word::i32 ? "i64_from_i32(v)" : "vec2<u32>(u32(v), 0u)";
  if (is_wide(from) && type == Word::f32) load = "i64_to_f32(v)";
  const std::string next = is_wide(type) ? std::string(product ? "i64_mul" : "i64_add") + "(r, " + load + ")"
                                         : "r " + std::string(product ? "*" : "+") + " " + load;
  Shader s(c.gpu);
  begin(s, c, a);
  const int64_t length = extent_of(*c.in[0], a.dim);
  if (length < kLong) {
    s.run_each(
        rows_of(c, a), "var r = " + start + ";\nfor (var n = 0u; n < p.length; n++) { " + kStep + "r = " + next + "; y_set(e, r); }");
    return;
  }
  // A lane sums its part of the row; then it goes through it again, from the sum of the parts before.
  const std::string combined = is_wide(type) ? std::string(product ? "i64_mul" : "i64_add") + "(r, totals[before])"
                                             : std::string("r ") + (product ? "*" : "+") + " totals[before]";
  s.number("part", divide_up(length, kLanes));
  s.declare("var<workgroup> totals: array<" + name + ", 64>;\n");
  const std::string loop = "for (var n = first; n < last; n++) { let i = group; " + std::string(kStep) + "r = " + next + ";";
  s.run_groups(rows_of(c, a), kLanes,
      "let first = min(lane * p.part, p.length);\nlet last = min(first + p.part, p.length);\nvar r = " + start + ";\n" + loop +
          " }\ntotals[lane] = r;\nworkgroupBarrier();\nr = " + start +
          ";\nfor (var before = 0u; before < lane; before++) { r = " + combined + "; }\n" + loop + " y_set(e, r); }");
}
bool accepts_running(OpRef op, Inputs in, Outputs) {
  const DType result = op.as<Scan>().result;
  const Word to = word_of(result), from = word_of(in[0]->dtype());
  return result != DType::float64 && to != Word::boolean && (to == Word::f32 || from != Word::f32) &&
         !(is_wide(from) && !is_wide(to) && to != Word::f32) && from != Word::u64;
}

void logcumsumexp(const Call& c) {
  const Scan& a = c.attrs<Scan>();
  Shader s(c.gpu);
  begin(s, c, a);
  s.run_each(rows_of(c, a),
      "var r = -inf_f32();\nfor (var n = 0u; n < p.length; n++) { " + std::string(kStep) + "r = logaddexp_f32(r, v); y_set(e, r); }");
}

// Of equal elements the last, and NaN stays.
template <bool largest>
void extremum(const Call& c) {
  const Scan& a = c.attrs<Scan>();
  const Word type = word_of(c.in[0]->dtype());
  Shader s(c.gpu);
  begin(s, c, a);
  s.output("index", with_last(c.out[1], a.dim));
  s.declare(order_of(type, !largest));
  const std::string stays = type == Word::f32 ? "(is_nan(r) && !is_nan(v)) || (!is_nan(v) && before(r, v))" : "before(r, v)";
  s.run_each(rows_of(c, a),
      "var r = x_get(i * p.length + select(0u, p.length - 1u, p.reverse != 0u)); var at = 0u;\nfor (var n = 0u; n < p.length; n++) { " +
          std::string(kStep) + "if (!(" + stays + ")) { r = v; at = k; }\ny_set(e, r); index_set(e, vec2<u32>(at, 0u)); }");
}

}  // namespace

void register_scan(KernelTable& kernels) {
  kernels.add(op::cumsum, running<false>, accepts_running);
  kernels.add(op::cumprod, running<true>, accepts_running);
  kernels.add(op::logcumsumexp, logcumsumexp, nullptr, kFloats);
  kernels.add(op::cummax, extremum<true>);
  kernels.add(op::cummin, extremum<false>);
}

}  // namespace pyburn::wgpu
