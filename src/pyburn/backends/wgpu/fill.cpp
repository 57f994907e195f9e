// full. The other creations run on the host once and are uploaded.
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

void register_fill(KernelTable& kernels) { kernels.add(op::full, full); }

}  // namespace pyburn::wgpu
