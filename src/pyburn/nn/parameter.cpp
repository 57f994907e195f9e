#include "pyburn/nn/parameter.h"

#include "pyburn/ops/functions.h"

namespace pyburn::nn {

Parameter::Parameter(const TensorHandle& data, bool requires_grad) : Tensor(asking_for_gradient(pyburn::detach(data), requires_grad)) {
  set(Flag::parameter);
}

}  // namespace pyburn::nn
