// Cross entropy of scores and class indices: a workgroup per position, a thread where there are few classes.
#include "pyburn/ops/cross_entropy.h"

#include "pyburn/backends/wgpu/kernel_table.h"
#include "pyburn/backends/wgpu/workgroup.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/format.h"

namespace pyburn::wgpu {
namespace {

// Scores (N, C, ...): score k of position r is at element(r, k). The class of r, where it counts, is class_of(r).
void declare_positions(Shader& s, const Call& c, const TensorHandle& x, const TensorHandle& target) {
  const int64_t classes = x.shape()[1];
  s.input("x", x), s.input("target", target);
  s.number("classes", classes), s.number("inner", x.numel() / (Checked(x.shape()[0]) * classes));
  s.number("ignored", Word::i64, Scalar(c.attrs<ClassLoss>().ignore_index));
  s.declare("fn element(r: u32, k: u32) -> u32 { return (r / p.inner * p.classes + k) * p.inner + r % p.inner; }\n");
  s.declare(
      format("fn counts(class_index: vec2<u32>) -> bool { return !i64_eq(class_index, {}); }\n", Shader::value_of("ignored", Word::i64)));
}

constexpr int64_t kFewClasses = 32;

void class_loss(const Call& c) {
  const TensorHandle &x = *c.in[0], &target = *c.in[1];
  const int64_t classes = x.shape()[1];
  const bool few = classes <= kFewClasses;
  const int size = lanes_for(classes);
  Shader s(c.gpu);
  declare_positions(s, c, x, target);
  s.output("loss", c.out[0]), s.output("total", c.out[1]);
  s.fault("outside", c.op.info->function(), format("class index out of range: got {}, expected less than {}", "{}", classes));
  const std::string each =
      format("for (var k = {}; k < p.classes; k += {}u) { let v = x_get(element(r, k)); ", few ? "0u" : "lane", few ? 1 : size);
  const std::string finish = R"(
  if (!is_finite(most)) { sum = most; } else { sum = most + log(sum); }
  let class_index = target_get(r);
  var loss = 0.0;
  if (counts(class_index)) {
    if (class_index.y == 0u && class_index.x < p.classes) { loss = sum - x_get(element(r, class_index.x)); }
    else { report(p.outside, bitcast<i32>(class_index.x)); }
  }
  loss_set(r, loss);
  total_set(r, sum);
)";
  const std::string largest = "var most = -inf_f32();\n" + each + "most = larger(most, v); }\n";
  const std::string exponentials = "var sum = 0.0;\n" + each + "sum += exp(v - most); }\n";
  declare_largest(s, size);
  if (few) return s.run_each(target.numel(), "let r = i;\n" + largest + exponentials + finish);
  declare_total(s, size);
  s.run_groups(target.numel(), size,
      "let r = group;\n" + largest + "most = largest(lane, most);\n" + exponentials + "sum = total(lane, sum);\nif (lane == 0u) {" +
          finish + "}");
}

void class_loss_backward(const Call& c) {
  const TensorHandle &dy = *c.in[0], &x = *c.in[1], &target = *c.in[2], &total = *c.in[3];
  Shader s(c.gpu);
  declare_positions(s, c, x, target);
  s.input("dy", dy), s.input("total", total), s.output("dx", c.out[0]);
  s.run_each(x.numel(), R"(
  let k = i / p.inner % p.classes;
  let r = i / (p.inner * p.classes) * p.inner + i % p.inner;
  let class_index = target_get(r);
  var d = 0.0;
  if (counts(class_index)) { d = (exp(x_get(i) - total_get(r)) - select(0.0, 1.0, class_index.y == 0u && class_index.x == k)) * dy_get(r); }
  dx_set(i, d);
)");
}

}  // namespace

void register_cross_entropy(KernelTable& kernels) {
  kernels.add(op::class_loss, class_loss, nullptr, kFloats);
  kernels.add(op::class_loss_backward, class_loss_backward, nullptr, kFloats);
}

}  // namespace pyburn::wgpu
