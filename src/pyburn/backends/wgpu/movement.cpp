// Padding, flips and triangles.
#include "pyburn/backends/wgpu/kernel_table.h"
#include "pyburn/ops/pad.h"
#include "pyburn/ops/rearrange.h"
#include "pyburn/support/checked.h"

namespace pyburn::wgpu {
namespace {

// The extents of y as numbers, and code that splits i, an element of y in row-major order, into q0, q1, ...
std::string coordinates(Shader& s, const Shape& y) {
  std::string code = "var rest = i;\n";
  for (int d = y.rank() - 1; d >= 0; --d) {
    const std::string k = std::to_string(d);
    s.number("extent" + k, y[d]);
    code += d ? "let q" + k + " = i32(rest % p.extent" + k + "); rest = rest / p.extent" + k + ";\n" : "let q0 = i32(rest);\n";
  }
  return code;
}

// y reads x where `inside` holds for all axes, at the places v0, v1, ... that `axis` declares for q0, q1, ...
template <class Axis>
std::string places(Shader& s, const TensorHandle& x, Axis axis) {
  std::string code, place = "var e = 0u;\n";
  s.strides("x", x);
  for (int d = 0; d < x.rank(); ++d) {
    const std::string k = std::to_string(d);
    s.number("size" + k, int32_t(x.shape()[d]));
    code += axis(d, k);
    place += "e += u32(v" + k + ") * p.x_stride" + k + ";\n";
  }
  return code + place;
}

void constant_pad(const Call& c) {
  const ConstantPad& a = c.attrs<ConstantPad>();
  const TensorHandle &x = *c.in[0], &y = c.out[0];
  const Word type = word_of(y.dtype());
  Shader s(c.gpu);
  s.input("x", x);
  s.output("y", y);
  s.number("value", type, a.value);
  std::string inside = "true";
  std::string body = coordinates(s, y.shape());
  body += places(s, x, [&](int d, const std::string& k) {
    s.number("before" + k, int32_t(a.before(d, x.rank())));
    inside += " && v" + k + " >= 0 && v" + k + " < p.size" + k;
    return "let v" + k + " = q" + k + " - p.before" + k + ";\n";
  });
  s.run_each(y.numel(), body + "if (" + inside + ") { y_set(i, x_load(e)); } else { y_set(i, " + Shader::value_of("value", type) + "); }");
}

void border_pad(const Call& c) {
  const BorderPad& a = c.attrs<BorderPad>();
  const TensorHandle &x = *c.in[0], &y = c.out[0];
  Shader s(c.gpu);
  s.input("x", x);
  s.output("y", y);
  std::string body = coordinates(s, y.shape());
  body += places(s, x, [&](int d, const std::string& k) {
    const int64_t at = 2 * (x.rank() - 1 - d);
    s.number("before" + k, int32_t(at < a.pad.size() ? a.pad[at] : 0));
    std::string code = "var v" + k + " = q" + k + " - p.before" + k + ";\n";
    const std::string v = "v" + k, n = "p.size" + k;
    if (a.border == Border::replicate) code += v + " = clamp(" + v + ", 0, " + n + " - 1);\n";
    else if (a.border == Border::circular) code += v + " = (" + v + " % " + n + " + " + n + ") % " + n + ";\n";
    else code += v + " = abs(" + v + ");\nif (" + v + " >= " + n + ") { " + v + " = 2 * (" + n + " - 1) - " + v + "; }\n";
    return code;
  });
  s.run_each(y.numel(), body + "y_set(i, x_load(e));");
}

// A flipped dimension is one with a negative stride.
void flip(const Call& c) {
  const TensorHandle& x = *c.in[0];
  Dims strides = x.strides();
  Checked offset = x.layout().offset;
  for (int64_t d : c.attrs<Flip>().dims) {
    offset += Checked(strides[d]) * (x.shape()[d] - 1);
    strides[d] = -strides[d];
  }
  copy(c.gpu, relayout(x, x.shape(), strides, offset), c.out[0]);
}

template <bool lower>
void triangle(const Call& c) {
  const TensorHandle &x = *c.in[0], &y = c.out[0];
  const int64_t diagonal = std::clamp<int64_t>(c.attrs<Triangle>().diagonal, INT32_MIN / 2, INT32_MAX / 2);
  const Word type = word_of(y.dtype());
  Shader s(c.gpu);
  s.input("x", x);
  s.output("y", y);
  s.number("rows", x.shape()[x.rank() - 2]);
  s.number("columns", x.shape()[x.rank() - 1]);
  s.number("diagonal", int32_t(diagonal));
  const std::string zero = type == Word::boolean ? "false" : is_wide(type) ? "vec2<u32>(0u, 0u)" : std::string(type_name(type)) + "(0)";
  s.run_each(y.numel(), "let apart = i32(i % p.columns) - i32(i / p.columns % p.rows);\nif (apart " + std::string(lower ? "<=" : ">=") +
                            " p.diagonal) { y_set(i, x_get(i)); } else { y_set(i, " + zero + "); }");
}

}  // namespace

void register_movement(KernelTable& kernels) {
  kernels.add(op::constant_pad_nd, constant_pad);
  kernels.add(op::_border_pad, border_pad);
  kernels.add(op::flip, flip);
  kernels.add(op::tril, triangle<true>);
  kernels.add(op::triu, triangle<false>);
}

}  // namespace pyburn::wgpu
