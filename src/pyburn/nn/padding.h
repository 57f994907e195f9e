// Padding layers for the last N dimensions. One number is the width on all sides; otherwise (before, after) pairs, last dimension first.
#pragma once
#include "pyburn/nn/layer.h"

namespace pyburn::nn {

template <int N>
struct ConstantPadFunction {
  Dims padding{0};
  Scalar value;
  PB_FIELDS(padding, value)
  static constexpr LayerText text{.required = 2, .always = 2};
  void complete() { padding = padding.size() == 1 ? Dims(2 * N, padding[0]) : padding; }
  TensorHandle operator()(const TensorHandle& x) const;
};

// Pads with zeros ('constant') or with elements of the tensor.
template <int N, LayerName Mode>
struct BorderFunction {
  Dims padding{0};
  PB_FIELDS(padding)
  static constexpr LayerText text{.required = 1, .positional = 1};
  void complete() { padding = padding.size() == 1 ? Dims(2 * N, padding[0]) : padding; }
  TensorHandle operator()(const TensorHandle& x) const;
};

using ConstantPad1d = FunctionLayer<"ConstantPad1d", ConstantPadFunction<1>>;
using ConstantPad2d = FunctionLayer<"ConstantPad2d", ConstantPadFunction<2>>;
using ConstantPad3d = FunctionLayer<"ConstantPad3d", ConstantPadFunction<3>>;
using ZeroPad1d = FunctionLayer<"ZeroPad1d", BorderFunction<1, "constant">>;
using ZeroPad2d = FunctionLayer<"ZeroPad2d", BorderFunction<2, "constant">>;
using ZeroPad3d = FunctionLayer<"ZeroPad3d", BorderFunction<3, "constant">>;
using ReflectionPad1d = FunctionLayer<"ReflectionPad1d", BorderFunction<1, "reflect">>;
using ReflectionPad2d = FunctionLayer<"ReflectionPad2d", BorderFunction<2, "reflect">>;
using ReflectionPad3d = FunctionLayer<"ReflectionPad3d", BorderFunction<3, "reflect">>;
using ReplicationPad1d = FunctionLayer<"ReplicationPad1d", BorderFunction<1, "replicate">>;
using ReplicationPad2d = FunctionLayer<"ReplicationPad2d", BorderFunction<2, "replicate">>;
using ReplicationPad3d = FunctionLayer<"ReplicationPad3d", BorderFunction<3, "replicate">>;
using CircularPad1d = FunctionLayer<"CircularPad1d", BorderFunction<1, "circular">>;
using CircularPad2d = FunctionLayer<"CircularPad2d", BorderFunction<2, "circular">>;
using CircularPad3d = FunctionLayer<"CircularPad3d", BorderFunction<3, "circular">>;

}  // namespace pyburn::nn
