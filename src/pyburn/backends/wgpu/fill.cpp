// full. The other creations run on the host once and are uploaded, unless they have a kernel.
#include "pyburn/ops/fill.h"

#include "pyburn/backends/wgpu/kernel_table.h"

namespace pyburn::wgpu {
namespace {

void full(const Call& c) {
  const Word type = word_of(c.out[0].dtype());
  Shader s(c.gpu);
  s.output("y", c.out[0]);
  s.number("value", type, c.attrs<Full>().value);
  s.run_each(c.out[0].numel(), "y_set(i, " + Shader::value_of("value", type) + ");");
}

}  // namespace

void register_fill(KernelTable& kernels) { kernels.add(op::full, full); }

}  // namespace pyburn::wgpu
