// Elements of fewer than 8 bits and floats of 8: values that carry their element type. Integers of 2 and 4 bits are int8 or uint8, one
// each; floats of 4 and 8 bits are uint8 codes, which are decoded to float32 where they are computed with.
#pragma once
#include <utility>

#include "pyburn/onnx/element_type.h"
#include "pyburn/onnx/value.h"

namespace pyburn::onnx {

bool is_float_code(ElementType type);     // float8..., float4e2m1
bool is_small_integer(ElementType type);  // int4, uint4, int2, uint2
ElementType element_type_of(const Value& v);
std::pair<double, double> range_of(ElementType type);  // of integers

// x as it is, or float32 where `v`, which x is the tensor of, holds codes.
TensorHandle decoded(const Value& v, const TensorHandle& x);
// The nearest codes, ties to even. Beyond the largest number: that number if `saturate`, else infinity or NaN. `round`: of powers of two
// (float8e8m0), "up", "down" or "nearest".
Value encoded(const TensorHandle& x, ElementType type, bool saturate, std::string_view round = "up");
Value tagged(TensorHandle x, ElementType type);

}  // namespace pyburn::onnx
