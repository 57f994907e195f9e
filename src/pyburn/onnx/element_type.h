// The element types of ONNX's tensors, and which dtype holds each.
#pragma once
#include <optional>
#include <string_view>

#include "pyburn/tensor/dtype.h"

namespace pyburn::onnx {

enum class ElementType : int32_t {
  undefined,
  float32,
  uint8,
  int8,
  uint16,
  int16,
  int32,
  int64,
  string,
  boolean,
  float16,
  float64,
  uint32,
  uint64,
  complex64,
  complex128,
  bfloat16,
  float8e4m3fn,
  float8e4m3fnuz,
  float8e5m2,
  float8e5m2fnuz,
  uint4,
  int4,
  float4e2m1,
  float8e8m0,
  uint2,
  int2,
};

struct ElementTypeInfo {
  std::string_view name;
  uint8_t bits;                // of one element in a file; elements of fewer than 8 bits share bytes, the first in the low bits
  std::optional<DType> dtype;  // what holds them; none: tensors of this type cannot be computed with
};
// The row of a number from a file; FormatError for a number that ONNX does not define.
const ElementTypeInfo& element_type_info(int64_t type);
// The dtype of a number from a file; UnsupportedOp where there is none.
DType dtype_of(int64_t type);
ElementType element_type_of(DType dtype);

}  // namespace pyburn::onnx
