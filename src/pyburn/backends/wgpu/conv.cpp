// Convolutions and their gradients as products whose operands are read from the images where they lie: implicit GEMM.
#include "pyburn/ops/conv.h"

#include "pyburn/backends/wgpu/axis_text.h"
#include "pyburn/backends/wgpu/product.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"

namespace pyburn::wgpu {
namespace {

// A convolution of `axes` spatial axes: sizes of one group, and the WGSL that finds elements. Images are (image, channel, place...).
struct Geometry {
  const Conv a;
  const TensorHandle &x, &w, &y;  // of the forward pass, or their gradients
  const int axes;
  const int64_t channels, outputs, taps, images;

  Geometry(const Conv& a, const TensorHandle& x, const TensorHandle& w, const TensorHandle& y)
      : a(a),
        x(x),
        w(w),
        y(y),
        axes(x.rank() - 2),
        channels(w.shape()[1]),
        outputs(w.shape()[0] / a.groups),
        taps(places(w)),
        images(x.shape()[0]) {}

  static int64_t places(const TensorHandle& t) {
    Checked n = 1;
    for (int i = 2; i < t.rank(); ++i) n = n * t.shape()[i];
    return n;
  }

  // Kernels and steps are part of the pipeline, so that divisions by them are multiplications; the sizes of images are not.
  void numbers(Shader& s) const {
    for (int i = 0; i < axes; ++i) {
      const std::string k = std::to_string(i);
      s.constant(("kernel" + k).c_str(), w.shape()[2 + i]);
      s.constant(("step" + k).c_str(), a.stride[i]);
      s.constant(("border" + k).c_str(), a.padding[i]);
      s.constant(("spread" + k).c_str(), a.dilation[i]);
      s.number("in" + k, x.shape()[2 + i]);
      s.number("out" + k, y.shape()[2 + i]);
    }
    s.constant("taps", taps);
    s.number("channels", channels), s.number("outputs", outputs);
    s.number("places_in", places(x)), s.number("places_out", places(y));
  }

  std::string each(std::string_view line, bool backwards = false) const { return per_axis(axes, line, backwards); }
  // The coordinates k# of tap `number`.
  std::string tap(const char* number) const {
    return format("var t = {}; ", number) + each("let k# = t % kernel#; t = t / kernel#; ", true);
  }
  // Bodies that find the place (image, coordinates) of a pixel in all images: `coordinate` is made of o# of the output, or of i# of the
  // input.
  std::string output_place(const char* coordinate) const {
    return "var o = index % p.places_out; " + each("let o# = o % p.out#; o = o / p.out#; ", true) + place("p.places_out", coordinate);
  }
  std::string input_place(const char* coordinate) const {
    return "var i = index % p.places_in; " + each("let i# = i % p.in#; i = i / p.in#; ", true) + place("p.places_in", coordinate);
  }
  std::string place(const char* places, const char* coordinate) const {
    return format("return vec4<u32>(index / {}", places) + each(format(", {}", coordinate)) + (axes == 2 ? ", 0u);" : ");");
  }
  std::string steps(const char* name, const char* coordinate) const {
    std::string code;
    for (int i = 0; i < axes; ++i) code += format(" + {}{} * p.{}_stride{}", coordinate, i, name, 2 + i);
    return code;
  }
  // The element of x that tap k# meets in the window at `place`, or 0 in the border: u32 wraps around, so one comparison finds both sides.
  std::string met_input(const char* channel) const {
    return each("let i# = place[1u + #u] + k# * spread#; if (i# >= p.in#) { return 0.0; } ") +
           format("return x_load(place.x * p.x_stride0 + (batch * p.channels + {}) * p.x_stride1", channel) + steps("x", "i") + ");";
  }
  static constexpr const char* kWindow = "o# * step# - border#";
  // The element of y whose tap k# meets the input at `place`, counted in the border, or 0.
  std::string met_output(const char* output) const {
    return each(
               "let m# = place[1u + #u] - k# * spread#; let o# = m# / step#; "
               "if (m# > p.in# + 2u * border# || m# % step# != 0u || o# >= p.out#) { return 0.0; } ") +
           format("return y_load(place.x * p.y_stride0 + (batch * p.outputs + {}) * p.y_stride1", output) + steps("y", "o") + ");";
  }
  std::string weight(const char* output, const char* channel) const {
    return format("return w_load((batch * p.outputs + {}) * p.w_stride0 + {} * p.w_stride1", output, channel) + steps("w", "k") + ");";
  }
};

void forward(const Call& c, const Conv& a, const TensorHandle& x, const TensorHandle& w, const TensorHandle& bias, const TensorHandle& y) {
  const Geometry g(a, x, w, y);
  Product p{.batches = a.groups, .m = g.outputs, .n = Checked(g.images) * g.places(y), .k = Checked(g.channels) * g.taps};
  const bool rows = w.layout().is_contiguous(), quads = rows && p.k % 4 == 0 && Shader::fits_quads(w);
  p.inputs = [&](Shader& s) {
    g.numbers(s);
    quads ? s.input_quads("w", w) : s.input("w", w);
    s.strides("w", w);
    s.input("x", x), s.strides("x", x);
  };
  const std::string row = "((batch * p.outputs + row) * p.k + k);";
  p.left = rows ? "return w_load" + row : g.tap("k % taps") + g.weight("row", "(k / taps)");
  if (quads) p.left4 = "return w_load4" + row;
  p.right_place = g.output_place(Geometry::kWindow);
  p.right = g.tap("k % taps") + g.met_input("(k / taps)");
  p.outputs = [&](Shader& s) {
    s.output("y", y);
    if (bias.defined()) s.input("bias", bias);
    s.number("result_places", g.places(y)), s.number("results", y.shape()[1]), s.number("rows", g.outputs);
  };
  p.store = format(
      "let output = batch * p.rows + row; "
      "y_set((column / p.result_places * p.results + output) * p.result_places + column % p.result_places, {});",
      bias.defined() ? "sum + bias_get(output)" : "sum");
  run_product(c, p);
}

void input_gradient(const Call& c, const Conv& a, const TensorHandle& dx, const TensorHandle& w, const TensorHandle& dy) {
  const Geometry g(a, dx, w, dy);
  Product p{.batches = a.groups, .m = g.channels, .n = Checked(g.images) * g.places(dx), .k = Checked(g.outputs) * g.taps};
  p.inputs = [&](Shader& s) {
    g.numbers(s);
    s.input("w", w), s.strides("w", w);
    s.input("y", dy), s.strides("y", dy);
  };
  p.left = g.tap("k % taps") + g.weight("(k / taps)", "row");
  p.right_place = g.input_place("i# + border#");
  p.right = g.tap("k % taps") + g.met_output("(k / taps)");
  p.outputs = [&](Shader& s) {
    s.output("dx", dx);
    s.number("result_places", g.places(dx)), s.number("results", dx.shape()[1]), s.number("rows", g.channels);
  };
  p.store = "dx_set((column / p.result_places * p.results + batch * p.rows + row) * p.result_places + column % p.result_places, sum);";
  run_product(c, p);
}

void weight_gradient(const Call& c, const Conv& a, const TensorHandle& x, const TensorHandle& dw, const TensorHandle& dy) {
  const Geometry g(a, x, dw, dy);
  Product p{.batches = a.groups, .m = g.outputs, .n = Checked(g.channels) * g.taps, .k = Checked(g.images) * g.places(dy)};
  p.inputs = [&](Shader& s) {
    g.numbers(s);
    s.input("x", x), s.strides("x", x);
    s.input("y", dy), s.strides("y", dy);
  };
  p.right_along_k = true;
  p.left_place = g.output_place("o#");
  p.right_place = g.output_place(Geometry::kWindow);
  p.left = g.each("let o# = place[1u + #u]; ") + "return y_load(place.x * p.y_stride0 + (batch * p.outputs + row) * p.y_stride1" +
           g.steps("y", "o") + ");";
  p.right = g.tap("column % taps") + g.met_input("(column / taps)");
  p.outputs = [&](Shader& s) { s.output("dw", dw); };
  p.store = "dw_set((batch * p.m + row) * p.n + column, sum);";
  run_product(c, p);
}

Conv numbers_of(const ConvGrad& a) { return {a.stride, a.padding, a.dilation, a.groups}; }

void conv(const Call& c) { forward(c, c.attrs<Conv>(), *c.in[0], *c.in[1], c.in.size() > 2 ? *c.in[2] : TensorHandle(), c.out[0]); }
void conv_input(const Call& c) { input_gradient(c, numbers_of(c.attrs<ConvGrad>()), c.out[0], *c.in[1], *c.in[0]); }
void conv_weight(const Call& c) { weight_gradient(c, numbers_of(c.attrs<ConvGrad>()), *c.in[0], c.out[0], *c.in[1]); }

}  // namespace

void register_conv(KernelTable& kernels) {
  for (const OpInfo* op : {&op::conv2d, &op::conv3d}) kernels.add(*op, conv, nullptr, kFloats);
  for (const OpInfo* op : {&op::conv2d_input, &op::conv3d_input}) kernels.add(*op, conv_input, nullptr, kFloats);
  for (const OpInfo* op : {&op::conv2d_weight, &op::conv3d_weight}) kernels.add(*op, conv_weight, nullptr, kFloats);
}

}  // namespace pyburn::wgpu
