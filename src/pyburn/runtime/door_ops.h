// The two operations that the door itself calls: promotion uses cast, broadcasting uses expand. Their rows and rules are defined with their
// families in ops/.
#pragma once
#include "pyburn/ir/op_info.h"

namespace pyburn {

struct CastTo {
  DType dtype = DType::float32;  // of the result
  PB_FIELDS(dtype)
};
struct Expand {
  Shape shape;  // of the result
  PB_FIELDS(shape)
  static Expand from(const TensorHandle& x, const Dims& size);  // -1 keeps a size
};

namespace op {
extern OpInfo cast, expand;
}

}  // namespace pyburn
