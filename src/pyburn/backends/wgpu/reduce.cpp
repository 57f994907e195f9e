// Reductions over dimensions: a workgroup per result folds its elements in a fixed order.
#include "pyburn/ops/reduce.h"

#include "pyburn/backends/wgpu/kernel_table.h"

namespace pyburn::wgpu {
namespace {

// x with the reduced dimensions last: results are rows, each of `length` elements.
TensorHandle reduced_last(const TensorHandle& x, const Dims& dim) {
  Shape shape;
  Dims strides;
  for (int pass = 0; pass < 2; ++pass)
    for (int i = 0; i < x.rank(); ++i) {
      const bool reduced = std::find(dim.begin(), dim.end(), i) != dim.end();
      if (reduced == bool(pass)) shape.push_back(x.shape()[i]), strides.push_back(x.strides()[i]);
    }
  return relayout(x, shape, strides, x.layout().offset);
}

// start: the neutral element; load: an element v in the type of the fold; fold: of a and b.
struct Fold {
  Word type;
  std::string start, load, fold, finish;
};

void reduce(const Call& c, const Dims& dim, const Fold& f) {
  const TensorHandle& y = c.out[0];
  const TensorHandle x = reduced_last(*c.in[0], dim);
  const int64_t length = count(c.in[0]->shape(), dim);
  const std::string type = type_name(f.type);
  Shader s(c.gpu);
  s.input("x", x);
  s.output("y", y);
  s.number("length", length);
  s.declare("fn fold(a: " + type + ", b: " + type + ") -> " + type + " { return " + f.fold + "; }\n");
  const std::string step = "{ let v = x_get(row * p.length + k); r = fold(r, " + f.load + "); }\n";
  if (length < 64) {
    s.run_each(
        y.numel(), "let row = i; var r = " + f.start + ";\nfor (var k = 0u; k < p.length; k++) " + step + "y_set(row, " + f.finish + ");");
    return;
  }
  s.declare("var<workgroup> partial: array<" + type + ", 64>;\n");
  s.run_groups(y.numel(), 64,
      "let row = group; var r = " + f.start + ";\nfor (var k = lane; k < p.length; k += 64u) " + step + R"(
  partial[lane] = r;
  for (var half = 32u; half > 0u; half = half / 2u) {
    workgroupBarrier();
    if (lane < half) { partial[lane] = fold(partial[lane], partial[lane + half]); }
  }
  if (lane == 0u) { r = partial[0]; y_set(row, )" +
          f.finish + "); }");
}

void sum(const Call& c) {
  const Reduce& a = c.attrs<Reduce>();
  const Word type = word_of(a.result), from = word_of(c.in[0]->dtype());
  if (is_wide(type)) {
    const char* load = from == Word::i32 ? "i64_from_i32(v)" : is_wide(from) ? "v" : "vec2<u32>(u32(v), 0u)";
    return reduce(c, a.dim, {type, "vec2<u32>(0u, 0u)", load, "i64_add(a, b)", "r"});
  }
  reduce(c, a.dim, {type, std::string(type_name(type)) + "(0)", std::string(type_name(type)) + "(v)", "a + b", "r"});
}
bool accepts_sum(OpRef op, Inputs in, Outputs) {
  const Word type = word_of(op.as<Reduce>().result), from = word_of(in[0]->dtype());
  return type == Word::f32 ? !is_wide(from) : is_wide(type) ? from != Word::f32 : false;
}

}  // namespace

void register_reduce(KernelTable& kernels) { kernels.add(op::sum, sum, accepts_sum); }

}  // namespace pyburn::wgpu
