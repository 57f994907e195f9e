// Random numbers and dropout: the words of the CPU's Philox, bit for bit. Element i uses word i of the stream.
#include "pyburn/ops/random.h"

#include <cmath>

#include "pyburn/backends/wgpu/kernel_table.h"
#include "pyburn/ops/dropout.h"

namespace pyburn::wgpu {
namespace {

// word(i): word i of the stream that begins at the counter `offset`.
constexpr const char* kWords = R"(
fn word(i: u32) -> u32 {
  let counter = i64_add(vec2<u32>(p.offset_low, p.offset_high), vec2<u32>(i / 4u, 0u));
  var c = vec4<u32>(counter.x, counter.y, 0u, 0u);
  var k = vec2<u32>(p.seed_low, p.seed_high);
  for (var round = 0; round < 10; round++) {
    let a = mul_wide(c.x, 0xD2511F53u);
    let b = mul_wide(c.z, 0xCD9E8D57u);
    c = vec4<u32>(b.y ^ c.y ^ k.x, b.x, a.y ^ c.w ^ k.y, a.x);
    k = vec2<u32>(k.x + 0x9E3779B9u, k.y + 0xBB67AE85u);
  }
  return c[i % 4u];
}
fn unit(w: u32) -> f32 { return f32(w >> 8u) * 5.9604644775390625e-8; }
)";

void begin(Shader& s, const TensorHandle& y, int64_t seed, int64_t offset) {
  s.output("y", y);
  s.number("seed", Word::i64, seed);
  s.number("offset", Word::i64, offset);
  s.declare(kWords);
}

// The number is below p where its 24 bits are below this.
int64_t threshold(double p) { return int64_t(std::ceil(p * 0x1p24)); }

void random(const Call& c) {
  const Random& a = c.attrs<Random>();
  const TensorHandle& y = c.out[0];
  const Word type = word_of(y.dtype());
  Shader s(c.gpu);
  begin(s, y, a.seed, a.offset);
  switch (a.draw) {
    case Draw::uniform:
      if (a.a == 0 && a.b == 1) return s.run_each(y.numel(), "y_set(i, unit(word(i)));");
      s.number("low", float(a.a));
      s.number("span", float(a.b - a.a));
      s.number("high", float(a.b));
      s.number("last", a.a < a.b ? std::nextafter(float(a.b), float(a.a)) : float(a.b));
      return s.run_each(y.numel(), "let v = p.low + unit(word(i)) * p.span; y_set(i, select(p.last, v, v < p.high));");
    case Draw::normal:  // words 2i and 2i + 1 give a radius and an angle, and two numbers
      s.number("mean", float(a.a));
      s.number("deviation", float(a.b));
      return s.run_each(y.numel(), R"(
  let u = (f32(word(i & ~1u) >> 8u) + 1.0) * 5.9604644775390625e-8;
  let turn = unit(word(i | 1u));
  let quarter = i32(turn * 4.0 + 0.5);
  let angle = (turn - f32(quarter) * 0.25) * 6.2831855;
  let z = angle * angle;
  let sine = ((-1.9515295891e-4 * z + 8.3321608736e-3) * z - 1.6666654611e-1) * z * angle + angle;
  let cosine = ((2.443315711809948e-5 * z - 1.388731625493765e-3) * z + 4.166664568298827e-2) * z * z - 0.5 * z + 1.0;
  let q = quarter + select(0, 1, (i & 1u) == 0u);
  let v = select(sine, cosine, (q & 1) != 0);
  y_set(i, p.mean + sqrt(-2.0 * log(u)) * p.deviation * select(v, -v, (q & 2) != 0));
)");
    case Draw::exponential:
      s.number("rate", float(a.a));
      return s.run_each(y.numel(), "y_set(i, -log(1.0 - unit(word(i))) / p.rate);");
    case Draw::bernoulli: {
      s.number("threshold", threshold(a.a));
      const std::string hit = "(word(i) >> 8u) < p.threshold", t = type_name(type);
      return s.run_each(y.numel(), "y_set(i, " +
                                       (type == Word::boolean ? hit
                                           : is_wide(type)    ? "vec2<u32>(u32(" + hit + "), 0u)"
                                                              : t + "(" + hit + ")") +
                                       ");");
    }
    default: {
      s.number("low", Word::i64, a.low);
      s.number("range", Word::i64, int64_t(a.range()));
      // The upper half of the product of a word and the range, which has at most 33 bits.
      const std::string v =
          "i64_add(vec2<u32>(p.low_low, p.low_high), vec2<u32>(select(mul_wide(word(i), p.range_low).y, word(i), p.range_high != 0u), 0u))";
      const std::string value = type == Word::f32       ? "i64_to_f32(" + v + ")"
                                : type == Word::boolean ? "!i64_zero(" + v + ")"
                                : is_wide(type)         ? v
                                                        : "bitcast<" + std::string(type_name(type)) + ">(" + v + ".x)";
      s.run_each(y.numel(), "y_set(i, " + value + ");");
    }
  }
}
// float16 and bfloat16 are drawn in double precision on the CPU, whose rounding cannot be met; permutations are sequential.
bool accepts_random(OpRef op, Inputs, Outputs out) {
  const Random& a = op.as<Random>();
  if (a.draw == Draw::permutation || a.takes_two_words()) return false;
  if (a.draw == Draw::integer || a.draw == Draw::bernoulli) return true;
  return out[0].dtype() == DType::float32 && !(a.draw == Draw::uniform && (a.a != 0 || a.b != 1));
}

void dropout(const Call& c) {
  const Dropout& a = c.attrs<Dropout>();
  Shader s(c.gpu);
  s.input("x", *c.in[0]);
  begin(s, c.out[0], a.seed, a.offset);
  s.number("threshold", threshold(a.p));
  s.number("scale", float(a.scale));
  s.number("shift", float(a.shift));
  s.number("dropped", float(a.dropped));
  s.run_each(c.out[0].numel(), "y_set(i, select(x_get(i) * p.scale + p.shift, p.dropped, (word(i) >> 8u) < p.threshold));");
}

}  // namespace

void register_random(KernelTable& kernels) {
  kernels.add(op::random, random, accepts_random);
  kernels.add(op::seeded_dropout, dropout, nullptr, kFloats);
}

}  // namespace pyburn::wgpu
