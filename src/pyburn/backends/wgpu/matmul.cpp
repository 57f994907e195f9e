// Batched matrix products: tiles of 16 x 16 results through shared memory.
#include "pyburn/ops/matmul.h"

#include "pyburn/backends/wgpu/kernel_table.h"
#include "pyburn/support/checked.h"

namespace pyburn::wgpu {
namespace {

constexpr int64_t kTile = 16;

void bmm(const Call& c) {
  const TensorHandle &x = *c.in[0], &y = *c.in[1], &z = c.out[0];
  const int64_t batches = x.shape()[0], m = x.shape()[1], k = x.shape()[2], n = y.shape()[2];
  const int64_t across = divide_up(n, kTile), down = divide_up(m, kTile);
  Shader s(c.gpu);
  s.input("x", x), s.strides("x", x);
  s.input("y", y), s.strides("y", y);
  s.output("z", z), s.strides("z", z);
  s.number("m", m), s.number("k", k), s.number("n", n), s.number("across", across), s.number("down", down);
  s.declare("var<workgroup> left: array<f32, 256>;\nvar<workgroup> right: array<f32, 256>;\n");
  s.run_groups(Checked(batches) * down * across, kTile * kTile, R"(
  let batch = group / (p.across * p.down);
  let row0 = (group / p.across) % p.down * 16u;
  let column0 = group % p.across * 16u;
  let r = lane / 16u;
  let q = lane % 16u;
  var sum = 0.0;
  for (var k0 = 0u; k0 < p.k; k0 += 16u) {
    var a = 0.0;
    var b = 0.0;
    if (row0 + r < p.m && k0 + q < p.k) { a = x_load(batch * p.x_stride0 + (row0 + r) * p.x_stride1 + (k0 + q) * p.x_stride2); }
    if (k0 + r < p.k && column0 + q < p.n) { b = y_load(batch * p.y_stride0 + (k0 + r) * p.y_stride1 + (column0 + q) * p.y_stride2); }
    left[lane] = a;
    right[lane] = b;
    workgroupBarrier();
    for (var t = 0u; t < 16u; t++) { sum += left[r * 16u + t] * right[t * 16u + q]; }
    workgroupBarrier();
  }
  if (row0 + r < p.m && column0 + q < p.n) { z_store(batch * p.z_stride0 + (row0 + r) * p.z_stride1 + (column0 + q) * p.z_stride2, sum); }
)");
}

}  // namespace

void register_matmul(KernelTable& kernels) { kernels.add(op::bmm, bmm, nullptr, kFloats); }

}  // namespace pyburn::wgpu
