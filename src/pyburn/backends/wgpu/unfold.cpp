// Patches of images as columns of a matrix, and back.
#include "pyburn/ops/unfold.h"

#include "pyburn/backends/wgpu/axis_text.h"
#include "pyburn/backends/wgpu/kernel_table.h"
#include "pyburn/support/format.h"

namespace pyburn::wgpu {
namespace {

void numbers(Shader& s, const Unfold& a, const Dims& image) {
  const Dims grid = a.grid(image);
  for (int i = 0; i < 2; ++i) {
    const std::string k = std::to_string(i);
    s.number("in" + k, image[i]), s.number("out" + k, grid[i]);
    s.number("kernel" + k, a.kernel_size[i]), s.number("step" + k, a.stride[i]);
    s.number("border" + k, a.padding[i]), s.number("spread" + k, a.dilation[i]);
  }
}

void im2col(const Call& c) {
  const TensorHandle &x = *c.in[0], &y = c.out[0];
  Shader s(c.gpu);
  s.input("x", x), s.output("y", y);
  numbers(s, c.attrs<Unfold>(), Dims{x.shape()[x.rank() - 2], x.shape().back()});
  s.run_each(y.numel(), format("var r = i; var v: {};\n", type_name(word_of(x.dtype()))) +
                            per_axis(2, "let o# = r % p.out#; r = r / p.out#; ", true) +
                            per_axis(2, "let k# = r % p.kernel#; r = r / p.kernel#; ", true) +
                            per_axis(2, "let i# = o# * p.step# + k# * p.spread# - p.border#; ") +
                            "if (i0 < p.in0 && i1 < p.in1) { v = x_get((r * p.in0 + i0) * p.in1 + i1); }\ny_set(i, v);");
}

void col2im(const Call& c) {
  const TensorHandle &x = *c.in[0], &y = c.out[0];
  Shader s(c.gpu);
  s.input("x", x), s.output("y", y);
  numbers(s, c.attrs<Unfold>(), c.attrs<Unfold>().output_size);
  s.run_each(
      y.numel(), "var r = i; var sum = 0.0;\n" + per_axis(2, "let i# = r % p.in#; r = r / p.in#; ", true) +
                     per_axis(2,
                         "for (var k# = 0u; k# < p.kernel#; k#++) {\nlet m# = i# + p.border# - k# * p.spread#; let o# = m# / p.step#;\n"
                         "if (i# + p.border# < k# * p.spread# || m# % p.step# != 0u || o# >= p.out#) { continue; }\n") +
                     "sum += x_get(((((r * p.kernel0 + k0) * p.kernel1 + k1) * p.out0) + o0) * p.out1 + o1); } }\ny_set(i, sum);");
}

}  // namespace

void register_unfold(KernelTable& kernels) {
  kernels.add(op::im2col, im2col);
  kernels.add(op::col2im, col2im, nullptr, kFloats);
}

}  // namespace pyburn::wgpu
