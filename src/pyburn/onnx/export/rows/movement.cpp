// Shapes, views and parts of tensors.
#include "pyburn/ops/movement.h"

#include <limits>

#include "pyburn/onnx/export/export_rows.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/join.h"
#include "pyburn/ops/pad.h"
#include "pyburn/ops/rearrange.h"
#include "pyburn/runtime/transfer.h"

namespace pyburn::onnx {
namespace {

void write_reshape(const ExportCall& c) {
  const Shape& shape = c.as<View>().shape;
  std::vector<int64_t> sizes(shape.begin(), shape.end());
  int64_t varying = 0, last = -1;
  for (int64_t i = 0; i < shape.rank(); ++i)
    if (c.writer.varies(c.node, i)) ++varying, last = i;
  const bool is_empty = std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
  if (varying == 1 && !is_empty) {  // the one size that follows from the others
    sizes[size_t(last)] = -1;
    return c.make("Reshape", {c.in(0), c.integers(sizes)});
  }
  c.make("Reshape", {c.in(0), c.writer.integers_of(c.node, sizes, 0)}, is_empty ? Attributes{flag("allowzero", true)} : Attributes{});
}
void write_permute(const ExportCall& c) { c.make("Transpose", {c.in(0)}, {ints("perm", c.as<Permute>().dims)}); }
void write_expand(const ExportCall& c) {
  const Shape& shape = c.as<View>().shape;
  c.make("Expand", {c.in(0), c.writer.integers_of(c.node, {shape.begin(), shape.end()}, 0)});
}
void write_slice(const ExportCall& c) {
  const Slice& a = c.as<Slice>();
  constexpr int64_t kStart = 1, kLength = 2, kStep = 3;  // slots
  const auto integer = [&](int64_t value, int64_t slot) { return c.writer.integers_of(c.node, {&value, 1}, slot); };
  std::string end;
  if (!c.writer.varies(c.node, kStart) && !c.writer.varies(c.node, kLength) && !c.writer.varies(c.node, kStep))
    end = c.integers(std::vector<int64_t>{a.start + a.length * a.step});
  else end = c.add("Add", {integer(a.start, kStart), c.add("Mul", {integer(a.length, kLength), integer(a.step, kStep)})});
  c.make("Slice", {c.in(0), integer(a.start, kStart), end, c.integers(std::vector<int64_t>{a.dim}), integer(a.step, kStep)});
}
void write_select(const ExportCall& c) {
  const Select& a = c.as<Select>();
  constexpr int64_t kIndex = 1;
  const std::string index = c.writer.integers_of(c.node, {&a.index, 1}, kIndex);
  const std::string axis = c.integers(std::vector<int64_t>{a.dim});
  c.make("Squeeze", {c.add("Gather", {c.in(0), index}, {{"axis", a.dim}}), axis});
}
void write_axis(const ExportCall& c) { c.make(c.type, {c.in(0), c.integers(std::vector<int64_t>{c.as<InsertAxis>().dim})}); }
void write_cat(const ExportCall& c) {
  Names parts;
  for (int64_t i = 0; i < c.inputs(); ++i)
    if (!is_left_out(c.meta(i).shape) || c.result().shape.rank() == 1) parts.push_back(c.in_as(i, c.result().dtype));
  c.make("Concat", parts, {{"axis", c.as<Join>().dim}});
}

// Other views: the elements at constant places of the flattened tensor.
void write_view(const ExportCall& c) {
  if (!c.is_fixed()) c.refuse("its places depend on free extents");
  const TensorHandle all =
      fn::reshape(fn::arange(Scalar(0), Scalar(c.meta(0).shape.numel()), 1, DType::int64, &host_device()), c.meta(0).shape);
  const TensorHandle places = alias(all, c.node.op.info().view(c.node.op.ref(), all.layout()));
  const std::string flat = c.add("Reshape", {c.in(0), c.integers(std::vector<int64_t>{-1})});
  c.make("Gather", {flat, c.writer.constant(fn::contiguous_copy(places), "places")}, {{"axis", int64_t(0)}});
}

// All widths before, then all after.
std::vector<int64_t> widths(const Dims& pad, int64_t rank) {
  std::vector<int64_t> all(size_t(2 * rank));
  for (int64_t i = 0; i < pad.size(); ++i) all[size_t(rank - 1 - i / 2 + (i % 2 ? rank : 0))] = pad[i];
  return all;
}
void write_constant_pad(const ExportCall& c) {
  const ConstantPad& a = c.as<ConstantPad>();
  if (!c.node.patches.empty()) c.refuse("its widths depend on free extents");
  c.make("Pad", {c.in(0), c.integers(widths(a.pad, c.meta(0).shape.rank())), c.number(a.value)}, {{"mode", std::string("constant")}});
}
void write_border_pad(const ExportCall& c) {
  const BorderPad& a = c.as<BorderPad>();
  if (!c.node.patches.empty()) c.refuse("its widths depend on free extents");
  if (a.border == Border::circular && c.writer.opset() < 19) c.refuse("circular padding needs opset 19");
  const char* mode = a.border == Border::reflect ? "reflect" : a.border == Border::replicate ? "edge" : "wrap";
  c.make("Pad", {c.in(0), c.integers(widths(a.pad, c.meta(0).shape.rank()))}, {{"mode", std::string(mode)}});
}
void write_flip(const ExportCall& c) {
  const Dims& dims = c.as<Flip>().dims;
  if (dims.empty()) return c.make("Identity", {c.in(0)});
  const auto all = [&](int64_t value) { return c.integers(std::vector<int64_t>(size_t(dims.size()), value)); };
  c.make("Slice", {c.in(0), all(-1), all(std::numeric_limits<int64_t>::min()), c.integers(dims), all(-1)});
}
void write_triangle(const ExportCall& c) {
  c.make("Trilu", {c.in(0), c.writer.number(c.as<Triangle>().diagonal, DType::int64)}, {flag("upper", std::string(c.type) == "upper")});
}
void write_identity(const ExportCall& c) { c.make("Identity", {c.in(0)}); }

constexpr ExportRow kRows[] = {
    {"view", write_reshape},
    {"reshape", write_reshape},
    {"permute", write_permute},
    {"expand", write_expand},
    {"slice", write_slice},
    {"select", write_select},
    {"unsqueeze", write_axis, "Unsqueeze"},
    {"remove_axis", write_axis, "Squeeze"},
    {"diagonal", write_view},
    {"unfold", write_view},
    {"contiguous_copy", write_identity},
    {"cat", write_cat},
    {"constant_pad_nd", write_constant_pad},
    {"_border_pad", write_border_pad},
    {"flip", write_flip},
    {"tril", write_triangle, "lower"},
    {"triu", write_triangle, "upper"},
};

}  // namespace

ExportRows movement_rows() { return kRows; }

}  // namespace pyburn::onnx
