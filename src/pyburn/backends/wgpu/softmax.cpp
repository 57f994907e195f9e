// softmax and log_softmax with their gradients: a workgroup per row, which reads it two or three times.
#include "pyburn/ops/softmax.h"

#include "pyburn/backends/wgpu/rows.h"
#include "pyburn/backends/wgpu/workgroup.h"

namespace pyburn::wgpu {
namespace {

template <bool logarithm>
void softmax(const Call& c) {
  const Softmax& a = c.attrs<Softmax>();
  const int64_t length = extent_of(*c.in[0], a.dim);
  const std::string load = is_wide(word_of(c.in[0]->dtype())) ? "i64_to_f32(x_get(first + k))" : "f32(x_get(first + k))";
  Shader s(c.gpu);
  s.input("x", with_last(*c.in[0], a.dim));
  s.output("y", with_last(c.out[0], a.dim));
  s.number("length", length);
  declare_largest(s, 64), declare_total(s, 64);
  s.run_groups(c.out[0].numel() / std::max<int64_t>(length, 1), 64,
      "let first = group * p.length;\nvar m = -inf_f32();\n"
      "for (var k = lane; k < p.length; k += 64u) { m = larger(m, " +
          load +
          "); }\n"
          "m = largest(lane, m);\nvar sum = 0.0;\n"
          "for (var k = lane; k < p.length; k += 64u) { sum += exp(" +
          load +
          " - m); }\n"
          "sum = total(lane, sum);\n" +
          std::string(logarithm ? "let shift = m + log(sum);\n" : "") + "for (var k = lane; k < p.length; k += 64u) { let v = " + load +
          "; y_set(first + k, " + (logarithm ? "v - shift" : "exp(v - m) / sum") + "); }");
}

// Inputs are the gradient and the result.
template <bool logarithm>
void backward(const Call& c) {
  const Softmax& a = c.attrs<Softmax>();
  const int64_t length = extent_of(*c.in[0], a.dim);
  Shader s(c.gpu);
  s.input("dy", with_last(*c.in[0], a.dim));
  s.input("y", with_last(*c.in[1], a.dim));
  s.output("dx", with_last(c.out[0], a.dim));
  s.number("length", length);
  declare_total(s, 64);
  const std::string term = logarithm ? "dy_get(first + k)" : "dy_get(first + k) * y_get(first + k)";
  const std::string result = logarithm ? "dy_get(first + k) - exp(y_get(first + k)) * sum" : "y_get(first + k) * (dy_get(first + k) - sum)";
  s.run_groups(c.out[0].numel() / std::max<int64_t>(length, 1), 64,
      "let first = group * p.length;\nvar sum = 0.0;\n"
      "for (var k = lane; k < p.length; k += 64u) { sum += " +
          term +
          "; }\nsum = total(lane, sum);\n"
          "for (var k = lane; k < p.length; k += 64u) { dx_set(first + k, " +
          result + "); }");
}

bool accepts(OpRef op, Inputs, Outputs) { return op.as<Softmax>().result != DType::float64; }

}  // namespace

void register_softmax(KernelTable& kernels) {
  kernels.add(op::softmax, softmax<false>, accepts);
  kernels.add(op::log_softmax, softmax<true>, accepts);
  kernels.add(op::softmax_backward, backward<false>, nullptr, kFloats);
  kernels.add(op::log_softmax_backward, backward<true>, nullptr, kFloats);
}

}  // namespace pyburn::wgpu
