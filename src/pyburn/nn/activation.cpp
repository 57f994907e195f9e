#include "pyburn/nn/activation.h"

#include "pyburn/ops/generated/activation.h"

namespace pyburn::nn {

TensorHandle ReLUFunction::operator()(const TensorHandle& x) const {
  if (!inplace) return fn::relu(x);
  fn::relu_into(x, x);
  return x;
}

}  // namespace pyburn::nn
