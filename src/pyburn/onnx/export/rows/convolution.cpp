// Convolutions, pools and resizing.
#include "pyburn/onnx/export/export_rows.h"
#include "pyburn/ops/conv.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/grid_sample.h"
#include "pyburn/ops/interpolate.h"
#include "pyburn/ops/pool.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/checked.h"

namespace pyburn::onnx {
namespace {

Attribute twice(const Dims& padding) {  // before and after
  std::vector<int64_t> pads(padding.begin(), padding.end());
  pads.insert(pads.end(), padding.begin(), padding.end());
  return {"pads", pads};
}
Dims spatial(const Shape& shape) {
  Dims dims;
  for (int64_t i = 2; i < shape.rank(); ++i) dims.push_back(shape[i]);
  return dims;
}

void write_conv(const ExportCall& c) {
  const Conv& a = c.as<Conv>();
  c.make("Conv", {c.in(0), c.in(1), c.in(2)},
      {ints("kernel_shape", spatial(c.meta(1).shape)), ints("strides", a.stride), twice(a.padding), ints("dilations", a.dilation),
          {"group", a.groups}});
}

// A transposed convolution. What the padding leaves open is at the end.
void write_conv_input(const ExportCall& c) {
  const ConvGrad& a = c.as<ConvGrad>();
  const Dims kernel = spatial(c.meta(1).shape), in = spatial(c.meta(0).shape), out = spatial(a.shape);
  Dims open;
  for (int64_t i = 0; i < in.size(); ++i)
    open.push_back(
        Checked(out[i]) - ((Checked(in[i]) - 1) * a.stride[i] - Checked(a.padding[i]) * 2 + Checked(a.dilation[i]) * (kernel[i] - 1) + 1));
  c.make("ConvTranspose", {c.in(0), c.in(1)},
      {ints("kernel_shape", kernel), ints("strides", a.stride), twice(a.padding), ints("dilations", a.dilation), {"group", a.groups},
          ints("output_padding", open)});
}

// The gradient of the weight: a convolution over the batch, in which stride and dilation have changed places.
void write_conv_weight(const ExportCall& c) {
  const ConvGrad& a = c.as<ConvGrad>();
  if (a.groups != 1) c.refuse("the gradient of the weight of a grouped convolution has no counterpart");
  if (!c.is_fixed()) c.refuse("the gradient of a weight needs fixed shapes");
  std::vector<int64_t> order{1, 0};
  for (int64_t i = 2; i < a.shape.rank(); ++i) order.push_back(i);
  const auto turned = [&](const std::string& x) { return c.add("Transpose", {x}, {{"perm", order}}); };
  const std::string product = c.add("Conv", {turned(c.in(0)), turned(c.in(1))},
      {ints("kernel_shape", spatial(c.meta(1).shape)), ints("strides", a.dilation), twice(a.padding), ints("dilations", a.stride)});
  std::vector<int64_t> axes, starts, ends;
  for (int64_t i = 2; i < a.shape.rank(); ++i) axes.push_back(i), starts.push_back(0), ends.push_back(a.shape[i]);
  c.make("Slice", {turned(product), c.integers(starts), c.integers(ends), c.integers(axes)});
}

// Windows that follow from the extents of the result, where all have one size.
struct Windows {
  Dims kernel, stride;
  bool is_global;
};
Windows adaptive_windows(const ExportCall& c, const Dims& output) {
  Windows w{{}, {}, true};
  const Shape& in = c.meta(0).shape;
  for (int64_t i = 0; i < output.size(); ++i) {
    const int64_t extent = in[in.rank() - output.size() + i];
    w.is_global &= output[i] == 1;
    if (output[i] == 0 || extent % output[i] != 0) c.refuse("adaptive windows of several sizes have no counterpart");
    w.kernel.push_back(extent / output[i]);
    w.stride.push_back(extent / output[i]);
  }
  if (!w.is_global && !c.writer.has_fixed_shape(c.node.in[0])) {
    for (int64_t i = 0; i < output.size(); ++i)
      for (const FreeAxis& f : c.writer.graph().free_axes)
        if (f.axis > 0) c.refuse("adaptive windows need fixed sizes of images");
  }
  return w;
}
// ONNX has planes behind two axes, images and channels.
template <class Write>
void with_channels(const ExportCall& c, int64_t axes, Write write) {
  if (c.meta(0).shape.rank() == axes + 2) return c.writer.bind(c.node.out[0], write(c.in(0)));
  std::vector<int64_t> added;
  for (int64_t i = c.meta(0).shape.rank(); i < axes + 2; ++i) added.push_back(int64_t(added.size()));
  c.make("Squeeze", {write(c.add("Unsqueeze", {c.in(0), c.integers(added)})), c.integers(added)});
}

std::string max_pool(const ExportCall& c, const std::string& x, std::string* places) {
  const MaxPool& a = c.as<MaxPool>();
  Attributes attributes;
  if (a.adaptive) {
    const Windows w = adaptive_windows(c, a.kernel_size);
    if (w.is_global && !places) return c.add("GlobalMaxPool", {x});
    attributes = {ints("kernel_shape", w.kernel), ints("strides", w.stride)};
  } else {
    attributes = {ints("kernel_shape", a.kernel_size), ints("strides", a.stride), twice(a.padding), ints("dilations", a.dilation),
        flag("ceil_mode", a.ceil_mode)};
  }
  const Names results = c.writer.add("MaxPool", {x}, attributes, places ? 2 : 1);
  if (places) *places = results[1];
  return results[0];
}
void write_max_pool(const ExportCall& c) {
  with_channels(c, c.as<MaxPool>().kernel_size.size(), [&](const std::string& x) { return max_pool(c, x, nullptr); });
}
// ONNX counts places from the start of the tensor, pyburn from that of the plane.
void write_max_pool_with_indices(const ExportCall& c) {
  const int64_t axes = c.as<MaxPool>().kernel_size.size();
  if (c.meta(0).shape.rank() != axes + 2) c.refuse("positions need an input with a batch");
  if (!c.is_fixed()) c.refuse("positions need fixed shapes");
  int64_t plane = 1;
  for (int64_t d : spatial(c.meta(0).shape)) plane *= d;
  std::string places;
  c.writer.bind(c.node.out[0], max_pool(c, c.in(0), &places));
  c.writer.make(c.node.out[1], "Mod", {places, c.writer.number(plane, DType::int64)});
}
void write_avg_pool(const ExportCall& c) {
  const AvgPool& a = c.as<AvgPool>();
  with_channels(c, a.kernel_size.size(), [&](const std::string& x) {
    if (a.adaptive) {
      const Windows w = adaptive_windows(c, a.kernel_size);
      if (w.is_global) return c.add("GlobalAveragePool", {x});
      return c.add("AveragePool", {x}, {ints("kernel_shape", w.kernel), ints("strides", w.stride)});
    }
    int64_t window = 1;
    for (int64_t k : a.kernel_size) window *= k;
    const std::string y = c.add("AveragePool", {x},
        {ints("kernel_shape", a.kernel_size), ints("strides", a.stride), twice(a.padding), flag("ceil_mode", a.ceil_mode),
            flag("count_include_pad", a.count_include_pad || a.divisor)});
    if (!a.divisor) return y;
    if (a.ceil_mode) c.refuse("divisor_override with ceil_mode has no counterpart");
    return c.add("Mul", {y, c.number(double(window) / double(a.divisor))});
  });
}

// One axis of an image, as a product with a matrix of weights: what Resize does not know.
void resize_by_matrix(const ExportCall& c, const Resize& a) {
  if (!c.node.patches.empty()) c.refuse("this way of resizing needs fixed sizes");
  const ResizeTaps taps = resize_taps(a);
  std::vector<float> matrix(size_t(Checked(a.input_size) * a.output_size));
  for (int64_t o = 0; o < a.output_size; ++o)
    for (int64_t k = 0; k < taps.count[size_t(o)]; ++k)
      matrix[size_t((taps.first[size_t(o)] + k) * a.output_size + o)] += float(taps.weights[size_t(o * taps.width + k)]);
  const TensorHandle weights = from_host(host_device(), {matrix.data(), {Shape{a.input_size, a.output_size}, DType::float32}});
  const int64_t rank = c.meta(0).shape.rank();
  std::vector<int64_t> order(static_cast<size_t>(rank));
  for (int64_t i = 0; i < rank; ++i) order[size_t(i)] = i;
  std::swap(order[size_t(a.dim)], order[size_t(rank - 1)]);
  const auto turned = [&](const std::string& x) { return a.dim == rank - 1 ? x : c.add("Transpose", {x}, {{"perm", order}}); };
  const std::string w = c.cast(c.writer.constant(weights, "weights"), DType::float32, c.meta(0).dtype);
  c.writer.bind(c.node.out[0], turned(c.add("MatMul", {turned(c.in(0)), w})));
}
void write_resize(const ExportCall& c) {
  const Resize& a = c.as<Resize>();
  if (a.mode == "lanczos" || a.mode == "nearest-exact" || a.antialias) return resize_by_matrix(c, a);
  Attributes attributes{{"mode", a.mode}};
  const char* transformation = a.align_corners ? "align_corners" : a.mode == "nearest" ? "asymmetric" : "half_pixel";
  attributes.push_back({"coordinate_transformation_mode", std::string(transformation)});
  if (a.mode == "nearest") attributes.push_back({"nearest_mode", std::string("floor")});
  if (a.mode == "cubic") attributes.push_back({"cubic_coeff_a", -0.75});
  constexpr int64_t kOutputSize = 2;  // slot
  const int64_t rank = c.meta(0).shape.rank();
  if (a.scale > 0) {
    std::vector<float> scales(size_t(rank), 1);
    scales[size_t(a.dim)] = float(1 / a.scale);
    const TensorHandle t = from_host(host_device(), {scales.data(), {Shape{rank}, DType::float32}});
    return c.make("Resize", {c.in(0), "", c.writer.constant(t, "scales")}, attributes);
  }
  const std::string size = c.writer.integers_of(c.node, {&a.output_size, 1}, kOutputSize);
  if (c.writer.opset() >= 18) {
    attributes.push_back({"axes", std::vector<int64_t>{a.dim}});
    return c.make("Resize", {c.in(0), "", "", size}, attributes);
  }
  const auto part = [&](int64_t begin, int64_t end) {
    return c.add("Slice", {c.shape_of(0), c.integers(std::vector<int64_t>{begin}), c.integers(std::vector<int64_t>{end})});
  };
  c.make("Resize", {c.in(0), "", "", c.add("Concat", {part(0, a.dim), size, part(a.dim + 1, rank)}, {{"axis", int64_t(0)}})}, attributes);
}

void write_grid_sample(const ExportCall& c) {
  const GridSample& a = c.as<GridSample>();
  std::string mode = a.mode;
  if (c.writer.opset() >= 20) mode = mode == "bilinear" ? "linear" : mode == "bicubic" ? "cubic" : mode;
  c.make("GridSample", {c.in(0), c.in(1)}, {{"mode", mode}, {"padding_mode", a.padding_mode}, flag("align_corners", a.align_corners)});
}

constexpr ExportRow kRows[] = {
    {"conv2d", write_conv},
    {"conv3d", write_conv},
    {"conv2d_input", write_conv_input},
    {"conv3d_input", write_conv_input},
    {"conv2d_weight", write_conv_weight},
    {"conv3d_weight", write_conv_weight},
    {"max_pool", write_max_pool},
    {"max_pool_with_indices", write_max_pool_with_indices},
    {"avg_pool", write_avg_pool},
    {"resize_axis", write_resize},
    {"grid_sample", write_grid_sample},
};

}  // namespace

ExportRows convolution_rows() { return kRows; }

}  // namespace pyburn::onnx
