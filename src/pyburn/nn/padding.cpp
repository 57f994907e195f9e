#include "pyburn/nn/padding.h"

#include "pyburn/ops/generated/pad.h"

namespace pyburn::nn {

template <int N>
TensorHandle ConstantPadFunction<N>::operator()(const TensorHandle& x) const {
  return fn::constant_pad_nd(x, padding, value);
}
template <int N, LayerName Mode>
TensorHandle BorderFunction<N, Mode>::operator()(const TensorHandle& x) const {
  return fn::pad(x, padding, Mode.letters);
}

template struct ConstantPadFunction<1>;
template struct ConstantPadFunction<2>;
template struct ConstantPadFunction<3>;
template struct BorderFunction<1, "constant">;
template struct BorderFunction<2, "constant">;
template struct BorderFunction<3, "constant">;
template struct BorderFunction<1, "reflect">;
template struct BorderFunction<2, "reflect">;
template struct BorderFunction<3, "reflect">;
template struct BorderFunction<1, "replicate">;
template struct BorderFunction<2, "replicate">;
template struct BorderFunction<3, "replicate">;
template struct BorderFunction<1, "circular">;
template struct BorderFunction<2, "circular">;
template struct BorderFunction<3, "circular">;

}  // namespace pyburn::nn
