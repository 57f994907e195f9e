// full, and arange of integers. Other creations are computed on the host, in double precision, and uploaded.
#include "pyburn/ops/fill.h"

#include "pyburn/backends/wgpu/kernel_table.h"

namespace pyburn::wgpu {

void fill(Gpu& gpu, const TensorHandle& y, const Scalar& value) {
  const Word type = word_of(y.dtype());
  Shader s(gpu);
  s.output("y", y);
  s.number("value", type, value);
  s.run_each(y.numel(), "y_set(i, " + Shader::value_of("value", type) + ");");
}

static void full(const Call& c) { fill(c.gpu, c.out[0], c.attrs<Full>().value); }

static void arange(const Call& c) {
  const Arange& a = c.attrs<Arange>();
  const Word type = word_of(c.out[0].dtype());
  Shader s(c.gpu);
  s.output("y", c.out[0]);
  s.number("start", Word::i64, a.start);
  s.number("step", Word::i64, a.step);
  const std::string v = "i64_add(vec2<u32>(p.start_low, p.start_high), i64_mul(vec2<u32>(i, 0u), vec2<u32>(p.step_low, p.step_high)))";
  s.run_each(c.out[0].numel(), "y_set(i, " +
                                   (is_wide(type)          ? v
                                       : type == Word::f32 ? "i64_to_f32(" + v + ")"
                                                           : "bitcast<" + std::string(type_name(type)) + ">(" + v + ".x)") +
                                   ");");
}
static bool accepts_arange(OpRef op, Inputs, Outputs out) {
  const Arange& a = op.as<Arange>();
  return !a.start.is_floating() && !a.step.is_floating() && out[0].dtype() != DType::boolean;
}

void register_fill(KernelTable& kernels) {
  kernels.add(op::full, full);
  kernels.add(op::arange, arange, accepts_arange);
}

}  // namespace pyburn::wgpu
