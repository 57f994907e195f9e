#include "pyburn/onnx/element_type.h"

#include <iterator>

#include "pyburn/support/error.h"

namespace pyburn::onnx {
namespace {

// Floats of 8 and 4 bits are codes in uint8, integers of 4 and 2 bits one in each element: operators/low_bits.h.
constexpr ElementTypeInfo kTypes[] = {
    {"undefined", 0, {}},
    {"float32", 32, DType::float32},
    {"uint8", 8, DType::uint8},
    {"int8", 8, DType::int8},
    {"uint16", 16, DType::uint16},
    {"int16", 16, DType::int16},
    {"int32", 32, DType::int32},
    {"int64", 64, DType::int64},
    {"string", 0, {}},
    {"bool", 8, DType::boolean},
    {"float16", 16, DType::float16},
    {"float64", 64, DType::float64},
    {"uint32", 32, DType::uint32},
    {"uint64", 64, DType::uint64},
    {"complex64", 64, {}},
    {"complex128", 128, {}},
    {"bfloat16", 16, DType::bfloat16},
    {"float8e4m3fn", 8, DType::uint8},
    {"float8e4m3fnuz", 8, DType::uint8},
    {"float8e5m2", 8, DType::uint8},
    {"float8e5m2fnuz", 8, DType::uint8},
    {"uint4", 4, DType::uint8},
    {"int4", 4, DType::int8},
    {"float4e2m1", 4, DType::uint8},
    {"float8e8m0", 8, DType::uint8},
    {"uint2", 2, DType::uint8},
    {"int2", 2, DType::int8},
};

}  // namespace

const ElementTypeInfo& element_type_info(int64_t type) {
  require<FormatError>(type > 0 && type < int64_t(std::size(kTypes)), "[onnx] no such element type: got {}", type);
  return kTypes[type];
}

DType dtype_of(int64_t type) {
  const ElementTypeInfo& info = element_type_info(type);
  require<UnsupportedOp>(info.dtype.has_value(), "[onnx] there is no dtype for tensors of element type {}", info.name);
  return *info.dtype;
}

ElementType element_type_of(DType dtype) {
  for (size_t i = 0; i < std::size(kTypes); ++i)
    if (kTypes[i].dtype == dtype) return ElementType(i);
  fail<DTypeError>("[onnx] no element type for {}", dtype);
}

}  // namespace pyburn::onnx
