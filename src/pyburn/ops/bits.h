// The representation of elements: bits, mantissas and exponents.
#pragma once
#include "pyburn/ir/op_info.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

struct BitView {
  DType dtype = DType::float32;
  PB_FIELDS(dtype)
  static BitView from(const TensorHandle&, DType dtype) { return {dtype}; }
};

namespace op {
extern OpInfo _view_bits, frexp;
}

}  // namespace pyburn
