// Reductions over dimensions.
#include "pyburn/ops/reduce.h"

#include "pyburn/backends/wgpu/rows.h"
#include "pyburn/ops/moments.h"
#include "pyburn/support/checked.h"

namespace pyburn::wgpu {
void fold_rows(const Call& c, Shader& s, const std::string& element, const TensorHandle& y, int64_t rows, int64_t length, const Fold& f) {
  constexpr int64_t kShort = 64, kChunk = 16384;
  constexpr DType kPartial[] = {DType::float32, DType::int32, DType::uint32, DType::boolean, DType::int64, DType::uint64};
  const std::string type = type_name(f.type);
  s.number("length", length);
  s.declare("fn fold(a: " + type + ", b: " + type + ") -> " + type + " { return " + f.fold + "; }\n");
  const std::string start = "var r = " + f.start + ";\n",
                    step = "{ let v = " + element + "(row * p.length + k); r = fold(r, " + f.load + "); }\n";
  const bool in_chunks = length > 2 * kChunk && rows < 256;
  if (!in_chunks) {
    s.output("y", y);
    s.number("divisor", f.divisor);
  }
  if (length < kShort)
    return s.run_each(rows, "let row = i; " + start + "for (var k = 0u; k < p.length; k++) " + step + "y_set(row, " + f.finish + ");");

  s.declare("var<workgroup> partial: array<" + type + ", 64>;\n");
  const std::string join = R"(
  partial[lane] = r;
  for (var half = 32u; half > 0u; half = half / 2u) {
    workgroupBarrier();
    if (lane < half) { partial[lane] = fold(partial[lane], partial[lane + half]); }
  }
)";
  if (!in_chunks)
    return s.run_groups(rows, 64,
        "let row = group; " + start + "for (var k = lane; k < p.length; k += 64u) " + step + join +
            "if (lane == 0u) { r = partial[0]; y_set(row, " + f.finish + "); }");

  // The partial results of chunks, and then their fold.
  const int64_t parts = divide_up(length, kChunk);
  const TensorHandle partial = scratch(c, kPartial[int(f.type)], Shape{rows, parts});
  s.output("y", partial);
  s.number("parts", parts);
  s.number("chunk", divide_up(length, parts));
  s.run_groups(Checked(rows) * parts, 64,
      "let row = group / p.parts; let begin = group % p.parts * p.chunk; let end = min(begin + p.chunk, p.length);\n" + start +
          "for (var k = begin + lane; k < end; k += 64u) " + step + join + "if (lane == 0u) { y_set(group, partial[0]); }");
  Fold rest = f;
  rest.load = "v";
  Shader next(c.gpu);
  next.input("x", partial);
  fold_rows(c, next, "x_get", y, rows, parts, rest);
}

namespace {

void reduce(const Call& c, const Dims& dim, const Fold& f) {
  const TensorHandle& x = *c.in[0];
  Shader s(c.gpu);
  s.input("x", with_last(x, dim));
  fold_rows(c, s, "x_get", c.out[0], c.out[0].numel(), count(x.shape(), dim), f);
}

// The element v of one type in another.
std::string loaded(Word from, Word to) {
  if (from == to) return "v";
  if (is_wide(to)) return is_wide(from) ? "v" : from == Word::i32 ? "i64_from_i32(v)" : "vec2<u32>(u32(v), 0u)";
  if (is_wide(from)) return from == Word::i64 ? "i64_to_f32(v)" : "u64_to_f32(v)";
  return std::string(type_name(to)) + "(v)";
}
// Sums of integers in dtypes of up to 32 bits wrap around like those of i32.
std::string zero(Word w) { return is_wide(w) ? "vec2<u32>(0u, 0u)" : w == Word::boolean ? "false" : std::string(type_name(w)) + "(0)"; }
std::string one(Word w) { return is_wide(w) ? "vec2<u32>(1u, 0u)" : w == Word::boolean ? "true" : std::string(type_name(w)) + "(1)"; }

bool accepts_fold(OpRef op, Inputs in, Outputs) {
  const Word to = word_of(op.as<Reduce>().result), from = word_of(in[0]->dtype());
  return op.as<Reduce>().result != DType::float64 && to != Word::boolean && (to == Word::f32 || from != Word::f32) &&
         !(is_wide(from) && !is_wide(to) && to != Word::f32);
}

enum Total { kSum, kMean, kNanSum, kProd };
template <Total total>
void sum(const Call& c) {
  const Reduce& a = c.attrs<Reduce>();
  const Word type = word_of(a.result);
  Fold f{type, total == kProd ? one(type) : zero(type), loaded(word_of(c.in[0]->dtype()), type), total == kProd ? "a * b" : "a + b"};
  if (is_wide(type)) f.fold = total == kProd ? "i64_mul(a, b)" : "i64_add(a, b)";
  if (total == kNanSum && word_of(c.in[0]->dtype()) == Word::f32) f.load = "select(v, 0.0, is_nan(v))";
  if (total == kMean) {
    const int64_t n = count(c.in[0]->shape(), a.dim);
    f.divisor = float(n), f.finish = "(r / p.divisor)";
  }
  reduce(c, a.dim, f);
}

template <bool largest>
void extremum(const Call& c) {
  const Word type = word_of(c.out[0].dtype());
  const std::string over = largest ? ">" : "<";
  Fold f{type, "", "v", ""};
  switch (type) {
    case Word::f32:
      f.start = largest ? "-inf_f32()" : "inf_f32()", f.fold = "select(b, a, a " + over + " b || is_nan(a))";
      break;
    case Word::boolean:
      f.start = largest ? "false" : "true", f.fold = largest ? "a || b" : "a && b";
      break;
    case Word::i32:
      f.start = largest ? "i32(-2147483647 - 1)" : "2147483647", f.fold = largest ? "max(a, b)" : "min(a, b)";
      break;
    case Word::u32:
      f.start = largest ? "0u" : "0xffffffffu", f.fold = largest ? "max(a, b)" : "min(a, b)";
      break;
    case Word::i64:
      f.start = largest ? "vec2<u32>(0u, 0x80000000u)" : "vec2<u32>(0xffffffffu, 0x7fffffffu)";
      break;
    case Word::u64:
      f.start = largest ? "vec2<u32>(0u, 0u)" : "vec2<u32>(0xffffffffu, 0xffffffffu)";
      break;
  }
  if (is_wide(type)) f.fold = format("i64_select({}, {}(a, b))", largest ? "a, b" : "b, a", type == Word::i64 ? "i64_lt" : "u64_lt");
  reduce(c, c.attrs<Reduce>().dim, f);
}

std::string is_true(Word w) {
  return w == Word::boolean ? "v"
         : w == Word::f32   ? "(v != 0.0 || is_nan(v))"
         : is_wide(w)       ? "!i64_zero(v)"
         : w == Word::i32   ? "(v != 0)"
                            : "(v != 0u)";
}
void count_nonzero(const Call& c) {
  reduce(c, c.attrs<Reduce>().dim, {Word::u32, "0u", "u32(" + is_true(word_of(c.in[0]->dtype())) + ")", "a + b", "vec2<u32>(r, 0u)"});
}
template <bool all>
void truth(const Call& c) {
  const Word out = word_of(c.out[0].dtype());
  reduce(c, c.attrs<Truth>().dim,
      {Word::boolean, all ? "true" : "false", is_true(word_of(c.in[0]->dtype())), all ? "a && b" : "a || b",
          out == Word::boolean ? "r" : "u32(r)"});
}

// Variance and mean, in two passes over the row.
void var_mean(const Call& c) {
  const VarMean& a = c.attrs<VarMean>();
  const int64_t length = count(c.in[0]->shape(), a.dim);
  Shader s(c.gpu);
  s.input("x", with_last(*c.in[0], a.dim));
  s.output("variance", c.out[0]);
  s.output("mean", c.out[1]);
  s.number("length", length);
  s.number("size", float(length));
  s.number("divisor", float(std::max(0.0, double(length) - a.correction)));
  s.declare(R"(
var<workgroup> partial: array<f32, 64>;
fn total(lane: u32, v: f32) -> f32 {
  workgroupBarrier();
  partial[lane] = v;
  for (var half = 32u; half > 0u; half = half / 2u) {
    workgroupBarrier();
    if (lane < half) { partial[lane] += partial[lane + half]; }
  }
  workgroupBarrier();
  return partial[0];
}
)");
  s.run_groups(c.out[0].numel(), 64, R"(
  var sum = 0.0;
  for (var k = lane; k < p.length; k += 64u) { sum += x_get(group * p.length + k); }
  let m = total(lane, sum) / p.size;
  var squares = 0.0;
  for (var k = lane; k < p.length; k += 64u) { let d = x_get(group * p.length + k) - m; squares += d * d; }
  let v = total(lane, squares) / p.divisor;
  if (lane == 0u) { mean_set(group, m); variance_set(group, v); }
)");
}

}  // namespace

void register_reduce(KernelTable& kernels) {
  kernels.add(op::sum, sum<kSum>, accepts_fold);
  kernels.add(op::mean, sum<kMean>, accepts_fold);
  kernels.add(op::nansum, sum<kNanSum>, accepts_fold);
  kernels.add(op::prod, sum<kProd>, accepts_fold);
  kernels.add(op::amax, extremum<true>);
  kernels.add(op::amin, extremum<false>);
  kernels.add(op::count_nonzero, count_nonzero);
  kernels.add(op::any, truth<false>);
  kernels.add(op::all, truth<true>);
  kernels.add(op::var_mean, var_mean, nullptr, kFloats);
}

}  // namespace pyburn::wgpu
