#include "pyburn/nn/parameter.h"

#include "pyburn/ops/generated/copy.h"

namespace pyburn::nn {

Parameter::Parameter(const TensorHandle& data, bool requires_grad) : TensorHandle(asking_for_gradient(fn::detach(data), requires_grad)) {
  set(Flag::parameter);
}

}  // namespace pyburn::nn
