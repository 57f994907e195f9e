// cast and contiguous_copy.
#include "pyburn/ops/copy.h"

#include "pyburn/backends/wgpu/kernel_table.h"

namespace pyburn::wgpu {
namespace {

// WGSL for v of one type as another. Floats keep their value, integers their bits, bool asks "not zero"; floats become integers by way of
// 64 bits, as on the CPU.
std::string converted(Word from, Word to, DType target) {
  if (from == to) return "v";
  const bool wide = is_wide(from);
  switch (to) {
    case Word::f32:
      return from == Word::boolean ? "select(0.0, 1.0, v)"
             : from == Word::i64   ? "i64_to_f32(v)"
             : from == Word::u64   ? "u64_to_f32(v)"
                                   : "f32(v)";
    case Word::boolean:
      return from == Word::f32 ? "(v != 0.0 || is_nan(v))" : wide ? "!i64_zero(v)" : from == Word::i32 ? "v != 0" : "v != 0u";
    case Word::i32:
    case Word::u32: {
      const std::string type = type_name(to);
      if (from == Word::boolean) return type + "(v)";
      if (from == Word::f32) return "bitcast<" + type + ">(f32_to_i64(v).x)";
      return wide ? "bitcast<" + type + ">(v.x)" : "bitcast<" + type + ">(v)";
    }
    default:
      if (wide) return "v";
      if (from == Word::f32) return target == DType::uint64 ? "f32_to_u64(v)" : "f32_to_i64(v)";
      if (from == Word::i32) return "i64_from_i32(v)";
      return from == Word::boolean ? "vec2<u32>(u32(v), 0u)" : "vec2<u32>(v, 0u)";
  }
}

void cast(const Call& c) { copy(c.gpu, *c.in[0], c.out[0]); }

}  // namespace

void copy(Gpu& gpu, const TensorHandle& x, const TensorHandle& y) {
  Shader s(gpu);
  s.input("x", x);
  s.output("y", y);
  s.run_each(y.numel(), "let v = x_get(i); y_set(i, " + converted(word_of(x.dtype()), word_of(y.dtype()), y.dtype()) + ");");
}

void register_copy(KernelTable& kernels) {
  kernels.add(op::cast, cast);
  kernels.add(op::contiguous_copy, cast);
}

}  // namespace pyburn::wgpu
