// Bodies that the standard gives for operators in terms of others; data that tools/make_onnx_functions.py takes from the onnx package.
#pragma once
#include "pyburn/onnx/model_proto.h"

namespace pyburn::onnx {

// The body of an operator in this version of its domain; null where the standard has none.
const FunctionDef* standard_function(std::string_view domain, std::string_view name, int64_t version);

}  // namespace pyburn::onnx
