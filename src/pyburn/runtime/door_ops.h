// The two operations that the door itself calls: promotion is a cast, broadcasting an expand. Their rows and rules
// stand with their families in ops/.
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
  static Expand from(const TensorHandle& x, const Dims& size);  // -1 keeps an extent
};

namespace op {
extern OpInfo cast, expand;
}

}  // namespace pyburn
