// cast and contiguous_copy.
#include "pyburn/ops/copy.h"

#include "pyburn/backends/wgpu/elementwise.h"

namespace pyburn::wgpu {
namespace {

// WGSL for a of one type as another. Floats keep their value, integers their bits, bool asks "not zero"; floats become integers by way of
// 64 bits, as on the CPU.
std::string converted(Word from, Word to, DType target) {
  if (from == to) return "a";
  const bool wide = is_wide(from);
  switch (to) {
    case Word::f32:
      return from == Word::boolean ? "select(0.0, 1.0, a)"
             : from == Word::i64   ? "i64_to_f32(a)"
             : from == Word::u64   ? "u64_to_f32(a)"
                                   : "f32(a)";
    case Word::boolean:
      return from == Word::f32 ? "(a != 0.0 || is_nan(a))" : wide ? "!i64_zero(a)" : from == Word::i32 ? "a != 0" : "a != 0u";
    case Word::i32:
    case Word::u32: {
      const std::string type = type_name(to);
      if (from == Word::boolean) return type + "(a)";
      if (from == Word::f32) return "bitcast<" + type + ">(f32_to_i64(a).x)";
      return wide ? "bitcast<" + type + ">(a.x)" : "bitcast<" + type + ">(a)";
    }
    default:
      if (wide) return "a";
      if (from == Word::f32) return target == DType::uint64 ? "f32_to_u64(a)" : "f32_to_i64(a)";
      if (from == Word::i32) return "i64_from_i32(a)";
      return from == Word::boolean ? "vec2<u32>(u32(a), 0u)" : "vec2<u32>(a, 0u)";
  }
}

Element cast_element(OpRef, std::span<const DType> in, DType out) {
  return Element{converted(word_of(in[0]), word_of(out), out), word_of(out), {}}.from_input(0, word_of(in[0]));
}

void cast(const Call& c) { copy(c.gpu, *c.in[0], c.out[0]); }

}  // namespace

void copy(Gpu& gpu, const TensorHandle& x, const TensorHandle& y) {
  Shader s(gpu);
  s.input("x", x);
  s.output("y", y);
  s.run_each(y.numel(), "let a = x_get(i); y_set(i, " + converted(word_of(x.dtype()), word_of(y.dtype()), y.dtype()) + ");");
}

void add_cast_element(Elements& t) { t.add("cast", cast_element); }

void register_copy(KernelTable& kernels) {
  kernels.add(op::cast, cast);
  kernels.add(op::contiguous_copy, cast);
}

}  // namespace pyburn::wgpu
