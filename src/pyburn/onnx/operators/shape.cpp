// Shapes: what asks for them, and what changes them without changing elements.
#include <algorithm>

#include "pyburn/onnx/call.h"
#include "pyburn/onnx/operators/host_tensors.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/index.h"
#include "pyburn/ops/generated/join.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/pad.h"
#include "pyburn/ops/generated/rearrange.h"
#include "pyburn/ops/generated/split.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

const Shape& shape_of(Call& c, int i) {
  const Value& v = c.value(i);
  require<FormatError>(v.is_tensor() || v.is_strings(), "[onnx] input {} must be a tensor: got {}", i, to_text(v));
  return v.is_strings() ? v.strings().shape : v.tensor().shape();
}

Results shape(Call& c) {
  const Shape& s = shape_of(c, 0);
  const int64_t rank = s.rank();
  const auto place = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank); };
  const int64_t start = place(c.integer("start", 0)), end = std::max(start, place(c.integer("end", rank)));
  return host_integers({s.data() + start, size_t(end - start)});
}
Results size(Call& c) { return host_integer(shape_of(c, 0).numel()); }

// 0 copies a size of the input unless allowzero; -1 is what remains.
Results reshape(Call& c) {
  const TensorHandle x = c.input(0);
  Dims to = c.dims_of("shape", 1);
  if (!c.flag("allowzero"))
    for (int64_t i = 0; i < to.size(); ++i)
      if (to[i] == 0) {
        require(i < x.rank(), "[reshape] a 0 in the shape copies a size that is not there: got {} for {}", to, x.shape());
        to[i] = x.shape()[i];
      }
  return fn::reshape(x, to);
}

Results flatten(Call& c) {
  const TensorHandle x = c.input(0);
  const int64_t given = c.integer("axis", 1), axis = given < 0 ? given + x.rank() : given;
  require<IndexError>(axis >= 0 && axis <= x.rank(), "[flatten] axis is out of range: got {} for {}", given, x.shape());
  int64_t rows = 1, columns = 1;
  for (int i = 0; i < x.rank(); ++i)
    if (i < axis) rows = Checked(rows) * x.shape()[i];
    else columns = Checked(columns) * x.shape()[i];
  return fn::reshape(x, {rows, columns});
}

Results transpose(Call& c) {
  const TensorHandle x = c.input(0);
  OptionalDims order = c.integers("perm");
  if (!order) {
    order.emplace();
    for (int i = x.rank() - 1; i >= 0; --i) order->push_back(i);
  }
  return fn::permute(x, *order);
}

Results squeeze(Call& c) {
  const TensorHandle x = c.input(0);
  const OptionalDims axes = c.integers_of("axes", 1);
  if (!axes) return fn::squeeze(x);
  const Dims dims = axes->empty() ? Dims() : normalise_dims(*axes, x.rank());
  for (const int64_t axis : dims) require(x.shape()[axis] == 1, "[squeeze] axis {} does not have size 1: got {}", axis, x.shape());
  return dims.empty() ? x : fn::squeeze(x, dims);
}
Results unsqueeze(Call& c) {
  TensorHandle x = c.input(0);
  const OptionalDims axes = c.integers_of("axes", 1);
  require<FormatError>(axes.has_value(), "[onnx] axes are missing");
  if (axes->empty()) return x;
  for (const int64_t axis : normalise_dims(*axes, x.rank() + int(axes->size()))) x = fn::unsqueeze(x, axis);
  return x;
}

Results concat(Call& c) {
  const Tensors all = c.tensors_from(0);
  require<FormatError>(!all.empty(), "[onnx] there is nothing to concatenate");
  return all.size() == 1 ? all[0] : fn::cat(all, c.integer("axis", 1));
}

// Sizes from an attribute, an input, or equal parts, of which the last is smaller where they do not fit.
Results split(Call& c) {
  const TensorHandle x = c.input(0);
  const int axis = normalise_dim(c.integer("axis", 0), x.rank());
  OptionalDims sizes = c.integers_of("split", 1);
  if (!sizes) {
    const int64_t n = x.shape()[axis], parts = c.integer("num_outputs", c.outputs());
    require<FormatError>(parts > 0 && parts <= 1 << 20, "[onnx] a tensor cannot be split into {} parts", parts);
    const int64_t part = divide_up(n, parts);
    sizes.emplace();
    for (int64_t i = 0, left = n; i < parts; ++i, left -= sizes->back()) sizes->push_back(std::min(part, left));
  }
  const Tensors parts = fn::split_with_sizes(x, *sizes, axis);
  return Values(parts.begin(), parts.end());
}

// One axis of a Slice. A negative step walks over the flipped axis.
TensorHandle slice_axis(const TensorHandle& x, int axis, int64_t start, int64_t end, int64_t step) {
  const int64_t n = x.shape()[axis];
  require<ValueError>(step != 0, "[slice] the step must not be 0");
  const auto from_start = [n](int64_t i) { return i < 0 ? (i < -n ? -1 : i + n) : std::min(i, n); };
  if (step > 0) return fn::slice(x, axis, std::max<int64_t>(from_start(start), 0), std::max<int64_t>(from_start(end), 0), step);
  const int64_t first = std::min(from_start(start), n - 1), last = std::min(from_start(end), n - 1);
  return fn::slice(
      fn::flip(x, {axis}), axis, n - 1 - first, std::max(n - 1 - last, n - 1 - first), -std::max(step, -std::max<int64_t>(n, 1)));
}
Results slice(Call& c) {
  TensorHandle x = c.input(0);
  const Dims starts = c.dims_of("starts", 1), ends = c.dims_of("ends", 2);
  const OptionalDims axes = c.integers_of("axes", 3), steps = c.has_input(4) ? c.integers_of("", 4) : OptionalDims();
  require<FormatError>(
      starts.size() == ends.size() && (!axes || axes->size() == starts.size()) && (!steps || steps->size() == starts.size()),
      "[slice] starts, ends, axes and steps must have one number for each axis: got {} and {}", starts, ends);
  for (int64_t i = 0; i < starts.size(); ++i) {
    const int axis = normalise_dim(axes ? (*axes)[i] : i, x.rank());
    x = slice_axis(x, axis, starts[i], ends[i], steps ? (*steps)[i] : 1);
  }
  return x;
}

Results expand(Call& c) {
  const TensorHandle x = c.input(0);
  return fn::expand(x, broadcast_shapes(x.shape(), Shape(c.dims_of("", 1))));
}
Results tile(Call& c) { return fn::tile(c.input(0), c.dims_of("", 1)); }

// The element of the input that stands at each place of a padded axis.
std::vector<int64_t> padded_places(int64_t n, int64_t before, int64_t after, const std::string& mode) {
  std::vector<int64_t> places;
  require(n > 0 || before + after <= 0, "[pad] an axis of size 0 cannot be padded with its own elements");
  for (int64_t i = -before; i < n + after; ++i) {
    int64_t at = i;
    if (mode == "edge") at = std::clamp<int64_t>(i, 0, n - 1);
    else if (mode == "wrap") at = (i % n + n) % n;
    else if (n == 1) at = 0;
    else {  // reflect: there and back
      const int64_t period = 2 * (n - 1);
      at = (i % period + period) % period;
      at = at < n ? at : period - at;
    }
    places.push_back(at);
  }
  return places;
}

Results pad(Call& c) {
  TensorHandle x = c.input(0);
  const OptionalDims pads = c.integers_of("pads", 1);
  require<FormatError>(pads.has_value(), "[onnx] pads are missing");
  Dims axes;
  if (c.has_input(3)) axes = c.dims_of("", 3);
  else
    for (int i = 0; i < x.rank(); ++i) axes.push_back(i);
  require<FormatError>(
      pads->size() == axes.size() * 2, "[pad] two numbers are needed for each axis: got {} for {} axes", pads->size(), axes.size());
  Dims before(x.rank(), 0), after(x.rank(), 0);
  for (int64_t i = 0; i < axes.size(); ++i) {
    const int axis = normalise_dim(axes[i], x.rank());
    before[axis] = (*pads)[i], after[axis] = (*pads)[i + axes.size()];
  }
  const std::string mode = c.text("mode", "constant");
  require<FormatError>(mode == "constant" || mode == "edge" || mode == "wrap" || mode == "reflect", "[pad] no such mode: got '{}'", mode);
  if (mode == "constant") {
    Dims last_first;
    int64_t from = 0;
    while (from < x.rank() && !before[from] && !after[from]) ++from;  // axes that stay need not be said
    for (int64_t i = x.rank() - 1; i >= from; --i) last_first.push_back(before[i]), last_first.push_back(after[i]);
    if (last_first.empty()) return x;
    const bool has_value = c.has_input(2);
    if (x.dtype() == DType::boolean)
      return fn::cast(fn::constant_pad_nd(fn::cast(x, DType::uint8), last_first, has_value ? c.read_number(2) != 0 : 0), x.dtype());
    const Scalar value = !has_value               ? Scalar(c.real("value", 0))
                         : is_floating(x.dtype()) ? Scalar(c.read_number(2))
                                                  : Scalar(c.read_integer(2));
    return fn::constant_pad_nd(x, last_first, is_floating(x.dtype()) ? value : Scalar(value.to_int()));
  }
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (!before[axis] && !after[axis]) continue;
    const int64_t n = x.shape()[axis];
    const int64_t size = Checked(n) + before[axis] + after[axis];
    require(size >= 0 && size < int64_t(1) << 31, "[pad] bad size of axis {}: got {}", axis, size);
    x = fn::index_select(x, axis, integers_on(x.device(), padded_places(n, before[axis], after[axis], mode)));
  }
  return x;
}

// (N, C, H, W): channels become squares of pixels. DCR: the block is the slowest part of the channels; CRD: the fastest.
Results depth_to_space(Call& c) {
  const TensorHandle x = c.input(0);
  require(x.rank() == 4, "[depth_to_space] expected (N, C, H, W): got {}", x.shape());
  const int64_t b = c.integer("blocksize"), n = x.shape()[0], h = x.shape()[2], w = x.shape()[3];
  require<ValueError>(
      b > 0 && b <= 1 << 15 && x.shape()[1] % (b * b) == 0, "[depth_to_space] blocksize does not fit {} channels: got {}", x.shape()[1], b);
  const int64_t channels = x.shape()[1] / (b * b);
  const bool crd = c.text("mode", "DCR") == "CRD";
  const TensorHandle blocks = crd ? fn::permute(fn::reshape(x, {n, channels, b, b, h, w}), {0, 1, 4, 2, 5, 3})
                                  : fn::permute(fn::reshape(x, {n, b, b, channels, h, w}), {0, 3, 4, 1, 5, 2});
  return fn::reshape(blocks, {n, channels, Checked(h) * b, Checked(w) * b});
}
Results space_to_depth(Call& c) {
  const TensorHandle x = c.input(0);
  require(x.rank() == 4, "[space_to_depth] expected (N, C, H, W): got {}", x.shape());
  const int64_t b = c.integer("blocksize"), n = x.shape()[0], channels = x.shape()[1], h = x.shape()[2], w = x.shape()[3];
  require<ValueError>(
      b > 0 && b <= 1 << 15 && h % b == 0 && w % b == 0, "[space_to_depth] blocksize does not fit {}: got {}", x.shape(), b);
  const bool crd = c.text("mode", "DCR") == "CRD";
  const Dims order = crd ? Dims{0, 1, 3, 5, 2, 4} : Dims{0, 3, 5, 1, 2, 4};
  const TensorHandle blocks = fn::permute(fn::reshape(x, {n, channels, h / b, b, w / b, b}), order);
  return fn::reshape(blocks, {n, Checked(channels) * b * b, h / b, w / b});
}

Results trilu(Call& c) {
  const int64_t k = c.has_input(1) ? c.read_integer(1) : 0;
  return c.flag("upper", true) ? fn::triu(c.input(0), k) : fn::tril(c.input(0), k);
}

constexpr Operator kRows[] = {
    {"", "Shape", 1, shape, inputs_at(0)},
    {"", "Size", 1, size, inputs_at(0)},
    {"", "Reshape", 1, reshape, inputs_at(1)},
    {"", "Flatten", 1, flatten},
    {"", "Transpose", 1, transpose},
    {"", "Squeeze", 1, squeeze, inputs_at(1)},
    {"", "Unsqueeze", 1, unsqueeze, inputs_at(1)},
    {"", "Concat", 1, concat},
    {"", "Split", 2, split, inputs_at(1)},
    {"", "Slice", 1, slice, inputs_at(1, 2, 3, 4)},
    {"", "Expand", 8, expand, inputs_at(1)},
    {"", "Tile", 6, tile, inputs_at(1)},
    {"", "Pad", 2, pad, inputs_at(1, 2, 3)},
    {"", "DepthToSpace", 1, depth_to_space},
    {"", "SpaceToDepth", 1, space_to_depth},
    {"", "Trilu", 14, trilu, inputs_at(1)},
};

}  // namespace

std::span<const Operator> shape_operators() { return kRows; }

}  // namespace pyburn::onnx
