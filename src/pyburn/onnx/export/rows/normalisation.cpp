// Layer, group and root-mean-square normalisation.
#include "pyburn/ops/normalisation.h"

#include "pyburn/onnx/export/export_rows.h"

namespace pyburn::onnx {
namespace {

// The axis from which on the elements make one row; the last one where several do.
int64_t first_axis_of_rows(const Shape& shape, int64_t rows) {
  const int64_t row = rows > 0 ? shape.numel() / rows : 0;
  int64_t elements = 1;
  for (int64_t axis = shape.rank(); axis >= 0; --axis) {
    if (axis < shape.rank()) elements *= shape[axis];
    if (elements == row) return axis;
  }
  return -1;
}

std::string in_shape(const ExportCall& c, int64_t i, const std::vector<int64_t>& shape) {
  return c.meta(i).shape == Shape(std::span(shape)) ? c.in(i) : c.add("Reshape", {c.in(i), c.integers(shape)});
}

void write_layers(const ExportCall& c, const NormaliseRows& a) {
  const Shape& shape = c.meta(0).shape;
  const int64_t axis = first_axis_of_rows(shape, a.rows);
  if (axis < 0 || axis == shape.rank()) c.refuse("rows that are not made of whole axes have no counterpart");
  const std::vector<int64_t> row(shape.begin() + axis, shape.end());
  const std::string bias = c.has(2) ? in_shape(c, 2, row) : "";
  if (a.centred) {
    const std::string weight = c.has(1) ? in_shape(c, 1, row) : c.add("Expand", {c.number(1.0), c.integers(row)});
    return c.make("LayerNormalization", {c.in(0), weight, bias}, {{"axis", axis}, {"epsilon", a.eps}});
  }
  std::vector<int64_t> axes;
  for (int64_t i = axis; i < shape.rank(); ++i) axes.push_back(i);
  const std::string square = c.add("Mul", {c.in(0), c.in(0)});
  const std::string mean =
      c.writer.opset() >= 18 ? c.add("ReduceMean", {square, c.integers(axes)}) : c.add("ReduceMean", {square}, {{"axes", axes}});
  std::string y = c.add("Div", {c.in(0), c.add("Sqrt", {c.add("Add", {mean, c.number(a.eps)})})});
  if (c.has(1)) y = c.add("Mul", {y, in_shape(c, 1, row)});
  if (c.has(2)) y = c.add("Add", {y, bias});
  c.writer.bind(c.node.out[0], y);
}

// Groups of channels: as instances of one channel each.
void write_groups(const ExportCall& c, const NormaliseRows& a) {
  if (!a.centred) c.refuse("groups that are not centred have no counterpart");
  const Shape& shape = c.meta(0).shape;
  const int64_t channels = shape.rank() < 2 ? 0 : shape[1];
  int64_t inner = 1;
  for (int64_t i = 2; i < shape.rank(); ++i) inner *= shape[i];
  if (channels == 0 || inner != a.inner || channels % a.groups != 0) c.refuse("only channels in axis 1 have a counterpart");
  const std::vector<int64_t> groups{a.groups};
  const std::string rows = c.add("Reshape", {c.in(0), c.integers(std::vector<int64_t>{0, a.groups, -1})});
  const std::string ones = c.add("Expand", {c.number(1.0), c.integers(groups)}),
                    zeros = c.add("Expand", {c.number(0.0), c.integers(groups)});
  std::string y = c.add("Reshape", {c.add("InstanceNormalization", {rows, ones, zeros}, {{"epsilon", a.eps}}), c.shape_of(0)});
  std::vector<int64_t> per_channel(size_t(shape.rank() - 1), 1);
  per_channel[0] = channels;
  if (c.has(1)) y = c.add("Mul", {y, in_shape(c, 1, per_channel)});
  if (c.has(2)) y = c.add("Add", {y, in_shape(c, 2, per_channel)});
  c.writer.bind(c.node.out[0], y);
}

void write_normalise_rows(const ExportCall& c) {
  const NormaliseRows& a = c.as<NormaliseRows>();
  if (c.writer.is_used(c.node.out[1]) || c.writer.is_used(c.node.out[2])) c.refuse("mean and deviation of rows are only used in training");
  a.groups == 1 && a.inner == 1 ? write_layers(c, a) : write_groups(c, a);
}

constexpr ExportRow kRows[] = {{"normalise_rows", write_normalise_rows}};

}  // namespace

ExportRows normalisation_rows() { return kRows; }

}  // namespace pyburn::onnx
