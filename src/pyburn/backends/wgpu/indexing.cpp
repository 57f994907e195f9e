// Reading and writing at indices: gather and scatter of elements; index_select, index_add, embeddings and advanced indexing of rows.
#include "pyburn/backends/wgpu/kernel_table.h"
#include "pyburn/ops/embedding.h"
#include "pyburn/ops/index.h"
#include "pyburn/ops/index_tensors.h"
#include "pyburn/ops/scatter.h"
#include "pyburn/runtime/door_ops.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"

namespace pyburn::wgpu {
namespace {

// How an element of a plain tensor (the result of a read, the source of a write) finds its place in the indexed tensor x: code for
// "place(i)", the place in x of element i.
struct Indexed {
  TensorHandle base;                     // x with all indices 0: base_at(...) is the rest of the place
  SmallVector<TensorHandle, 4> indices;  // of equal shape
  SmallVector<int, 4> axes;              // of x
  int64_t row = 1, count = 1;            // elements behind the indexed axes, positions that indices name
  bool negative = false;                 // negative indices count from the end
  bool rows_only = false;                // for the text of an error
  int64_t elements = 0;                  // of the plain tensor
};

// Elements: the index has the shape of the plain tensor.
Indexed by_element(const TensorHandle& x, int64_t dim, const TensorHandle& index) {
  Indexed r;
  Shape shape = index.shape();
  Dims strides = x.strides();
  if (x.rank() == 0 || index.rank() == 0) shape = Shape{index.numel()}, strides = Dims{0};
  else strides[dim] = 0;
  r.base = relayout(x, shape, strides, x.layout().offset);
  r.indices.push_back(index);
  r.axes.push_back(int(dim));
  r.elements = r.count = index.numel();
  return r;
}

// Rows: the indices, broadcast together, replace the axes from `axis` on.
Indexed by_row(const TensorHandle& x, int axis, Inputs indices, bool negative) {
  Indexed r;
  Shape common, shape;
  Dims strides;
  for (const TensorHandle* i : indices) common = broadcast_shapes(common, i->shape());
  const int count = int(indices.size());
  for (int i = 0; i < x.rank(); ++i) {
    if (i >= axis && i < axis + count) continue;
    shape.push_back(x.shape()[i]);
    strides.push_back(x.strides()[i]);
    if (i >= axis + count) r.row *= x.shape()[i];
  }
  r.base = relayout(x, shape, strides, x.layout().offset);
  for (int k = 0; k < count; ++k) {
    const Expand wide{common};
    const TensorHandle& index = *indices[size_t(k)];
    const Layout l = op::expand.view({&op::expand, &wide}, index.layout());
    r.indices.push_back(relayout(index, l.shape, l.strides, l.offset));
    r.axes.push_back(axis + k);
  }
  r.count = common.numel();
  r.negative = negative;
  r.rows_only = !negative;
  r.elements = Checked(shape.numel()) * r.count;
  return r;
}

void declare_place(Shader& s, const Indexed& r, const TensorHandle& x, std::string_view function) {
  s.input("base", r.base);
  s.number("row", r.row);
  s.number("positions", r.count);
  std::string code = "fn place(i: u32, ok: ptr<function, bool>) -> u32 {\n  let position = (i / p.row) % p.positions;\n";
  const bool elements = r.row == 1 && r.base.numel() == r.elements && r.count == r.elements && !r.negative;
  code += elements ? "  var place = base_at(i);\n" : "  var place = base_at(i / (p.row * p.positions) * p.row + i % p.row);\n";
  for (int64_t k = 0; k < r.indices.size(); ++k) {
    const std::string id = std::to_string(k), name = "index" + id;
    const int64_t extent = x.rank() ? x.shape()[r.axes[k]] : 1;
    s.input(name.c_str(), r.indices[k]);
    s.number("extent" + id, extent);
    s.number("step" + id, x.rank() ? x.strides()[r.axes[k]] : 0);
    s.fault("fault" + id, function,
        r.rows_only ? format("index out of range in self: got {} for {} rows", "{}", extent)
                    : format("index {} is out of bounds for dimension {} with size {}", "{}", r.axes[k], extent));
    const Word w = word_of(r.indices[k].dtype());
    const std::string get = name + "_get(position)";
    const std::string wide = is_wide(w) ? get : w == Word::i32 ? "i64_from_i32(" + get + ")" : "vec2<u32>(u32(" + get + "), 0u)";
    code += "  var v" + id + " = " + wide + ";\n  let given" + id + " = bitcast<i32>(v" + id + ".x);\n";
    if (r.negative) code += "  if (i64_negative(v" + id + ")) { v" + id + " = i64_add(v" + id + ", vec2<u32>(p.extent" + id + ", 0u)); }\n";
    code += "  if (v" + id + ".y != 0u || v" + id + ".x >= p.extent" + id + ") { report(p.fault" + id + ", given" + id +
            "); *ok = false; return 0u; }\n";
    code += "  place += v" + id + ".x * p.step" + id + ";\n";
  }
  s.declare(code + "  return place;\n}\n");
}

void read(const Call& c, const TensorHandle& x, const Indexed& r) {
  Shader s(c.gpu);
  s.output("y", c.out[0]);
  s.input("x", x);
  declare_place(s, r, x, c.op.info->function());
  s.run_each(c.out[0].numel(), "var ok = true; let e = place(i, &ok); if (ok) { y_set(i, x_load(e)); }");
}

bool is_same_place(const TensorHandle& x, const TensorHandle& y) { return x.storage() == y.storage() && x.layout() == y.layout(); }

// y = x with the elements of src at their places. Where several come to one place the last one stays: a first pass finds it.
template <class Find>
void write(const Call& c, const TensorHandle& x, const TensorHandle& src, Find find) {
  const TensorHandle& y = c.out[0];
  if (!is_same_place(x, y)) copy(c.gpu, x, y);
  const Indexed r = find(y);
  if (r.elements == 0) return;
  const auto [first, end] = y.layout().extent();
  const TensorHandle last = scratch(c, DType::int32, Shape{end});
  fill(c.gpu, last, 0);
  for (int pass = 0; pass < 2; ++pass) {
    Shader s(c.gpu);
    s.output("y", y);
    s.input("src", src);
    s.shared_output("last", last);
    declare_place(s, r, y, c.op.info->function());
    s.run_each(r.elements,
        pass == 0 ? "var ok = true; let e = place(i, &ok); if (ok) { last_max(p.y_offset + e, i32(i) + 1); }"
                  : "var ok = true; let e = place(i, &ok); if (ok && last_load(p.y_offset + e) == i32(i) + 1) { y_store(e, src_get(i)); }");
  }
}

// As above, with elements of one place combined by atomics. Sums of float16 and bfloat16 are formed in float32.
template <class Find>
void accumulate(const Call& c, const TensorHandle& x, const TensorHandle& src, const char* how, const Scalar& alpha, Find find) {
  const TensorHandle& y = c.out[0];
  const bool widened = is_floating(y.dtype()) && y.dtype() != DType::float32;
  const TensorHandle sum = widened ? scratch(c, DType::float32, y.shape()) : y;
  if (widened || !is_same_place(x, y)) copy(c.gpu, x, sum);
  const Indexed r = find(sum);
  if (r.elements > 0) {
    const Word w = word_of(sum.dtype());
    const bool scaled = alpha.to_double() != 1;
    Shader s(c.gpu);
    s.shared_output("y", sum);
    s.input("src", src);
    declare_place(s, r, sum, c.op.info->function());
    std::string value = "src_get(i)";
    if (scaled) {
      s.number("alpha", w, alpha);
      const std::string a = Shader::value_of("alpha", w);
      value = is_wide(w) ? "i64_mul(src_get(i), " + a + ")" : w == Word::boolean ? "(src_get(i) && " + a + ")" : "src_get(i) * " + a;
    }
    s.run_each(r.elements, "var ok = true; let e = place(i, &ok); if (ok) { y_" + std::string(how) + "(e, " + value + "); }");
  }
  if (widened) copy(c.gpu, sum, y);
}

// The part of src that the index covers.
TensorHandle used_of(const TensorHandle& src, const Shape& index) {
  return index.rank() == src.rank() ? relayout(src, index, src.strides(), src.layout().offset)
                                    : relayout(src, index, contiguous_strides(index), src.layout().offset);
}

void gather(const Call& c) { read(c, *c.in[0], by_element(*c.in[0], c.attrs<Gather>().dim, *c.in[1])); }
void scatter(const Call& c) {
  write(c, *c.in[0], used_of(*c.in[2], c.in[1]->shape()),
      [&](const TensorHandle& y) { return by_element(y, c.attrs<Gather>().dim, *c.in[1]); });
}
void scatter_add(const Call& c) {
  accumulate(c, *c.in[0], used_of(*c.in[2], c.in[1]->shape()), "add", 1,
      [&](const TensorHandle& y) { return by_element(y, c.attrs<Gather>().dim, *c.in[1]); });
}
// The number that a reduction begins with, as WGSL of that type.
std::string identity(Reduction r, Word w) {
  if (r == Reduction::amax) return w == Word::f32 ? "-inf_f32()" : w == Word::i32 ? "i32(-2147483647 - 1)" : "0u";
  if (r == Reduction::amin) return w == Word::f32 ? "inf_f32()" : w == Word::i32 ? "2147483647" : "0xffffffffu";
  return std::string(type_name(w)) + (r == Reduction::prod ? "(1)" : "(0)");
}

void scatter_reduce(const Call& c) {
  const ScatterReduce& a = c.attrs<ScatterReduce>();
  const char* how = a.reduce == Reduction::amax ? "max" : a.reduce == Reduction::amin ? "min" : a.reduce == Reduction::prod ? "mul" : "add";
  const TensorHandle src = used_of(*c.in[2], c.in[1]->shape());
  const TensorHandle& y = c.out[0];
  const Word w = word_of(y.dtype());
  TensorHandle x = *c.in[0], counts;
  const auto find = [&](const TensorHandle& to) { return by_element(to, a.dim, *c.in[1]); };
  const auto visit = [&](const TensorHandle& to, bool shared, const std::string& body) {
    const Indexed r = find(to);
    if (r.elements == 0) return;
    Shader s(c.gpu);
    shared ? s.shared_output("y", to) : s.output("y", to);
    declare_place(s, r, to, c.op.info->function());
    s.run_each(r.elements, "var ok = true; let e = place(i, &ok); if (ok) { " + body + " }");
  };
  if (!a.include_self) {  // the existing elements of the places that are written do not count
    const TensorHandle start = scratch(c, y.dtype(), y.shape());
    copy(c.gpu, x, start);
    visit(start, false, "y_store(e, " + identity(a.reduce, w) + ");");
    x = start;
  }
  accumulate(c, x, src, how, 1, find);
  if (a.reduce != Reduction::mean) return;
  counts = scratch(c, DType::int32, y.shape());
  fill(c.gpu, counts, 0);
  visit(counts, true, "y_add(e, 1);");
  Shader s(c.gpu);
  s.output("y", y);
  s.input("counts", counts);
  s.number("own", int32_t(a.include_self));
  const std::string mean = w == Word::f32 ? "y_get(i) / f32(n)" : w == Word::i32 ? "floor_divide_i32(y_get(i), n)" : "y_get(i) / u32(n)";
  s.run_each(y.numel(), "let n = counts_get(i) + p.own; if (counts_get(i) > 0 && n > 1) { y_set(i, " + mean + "); }");
}
bool accepts_scatter_reduce(OpRef, Inputs in, Outputs) {
  return !is_wide(word_of(in[0]->dtype())) && in[0]->dtype() != DType::boolean && in[0]->rank() > 0;
}

void index_select(const Call& c) { read(c, *c.in[0], by_row(*c.in[0], int(c.attrs<IndexAxis>().dim), c.in.subspan(1), false)); }
void embedding(const Call& c) { read(c, *c.in[0], by_row(*c.in[0], 0, c.in.subspan(1), false)); }
void index(const Call& c) { read(c, *c.in[0], by_row(*c.in[0], int(c.attrs<IndexTensors>().axis), c.in.subspan(1), true)); }
void index_copy(const Call& c) {
  write(c, *c.in[0], *c.in[2], [&](const TensorHandle& y) { return by_row(y, int(c.attrs<IndexAxis>().dim), c.in.subspan(1, 1), false); });
}
void index_add(const Call& c) {
  const IndexAdd& a = c.attrs<IndexAdd>();
  accumulate(
      c, *c.in[0], *c.in[2], "add", a.alpha, [&](const TensorHandle& y) { return by_row(y, int(a.dim), c.in.subspan(1, 1), false); });
}
void index_put(const Call& c) {
  const IndexTensors& a = c.attrs<IndexTensors>();
  const auto find = [&](const TensorHandle& y) { return by_row(y, int(a.axis), c.in.subspan(2), true); };
  a.accumulate ? accumulate(c, *c.in[0], *c.in[1], "add", 1, find) : write(c, *c.in[0], *c.in[1], find);
}

}  // namespace

void register_indexing(KernelTable& kernels) {
  kernels.add(op::gather, gather);
  kernels.add(op::scatter_src, scatter);
  kernels.add(op::scatter_add, scatter_add);
  kernels.add(op::scatter_reduce, scatter_reduce, accepts_scatter_reduce);
  kernels.add(op::index_select, index_select);
  kernels.add(op::index_copy, index_copy);
  kernels.add(op::index_add, index_add);
  kernels.add(op::_embedding, embedding);
  kernels.add(op::_index, index);
  kernels.add(op::_index_put, index_put);
}

}  // namespace pyburn::wgpu
