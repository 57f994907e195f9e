// Inputs that are tensors of strings.
#pragma once
#include "pyburn/onnx/call.h"

namespace pyburn::onnx {

const Strings& strings_of(Call& c, int i);  // FormatError for an input that holds numbers
Value equal_strings(Call& c);               // inputs 0 and 1, element by element

}  // namespace pyburn::onnx
