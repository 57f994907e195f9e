#include "pyburn/nn/shape.h"

#include "pyburn/ops/generated/movement.h"

namespace pyburn::nn {

TensorHandle FlattenFunction::operator()(const TensorHandle& x) const { return fn::flatten(x, start_dim, end_dim); }

}  // namespace pyburn::nn
