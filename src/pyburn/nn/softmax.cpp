#include "pyburn/nn/softmax.h"

#include "pyburn/ops/generated/softmax.h"
#include "pyburn/support/error.h"

namespace pyburn::nn {

TensorHandle SoftmaxFunction::operator()(const TensorHandle& x) const { return fn::softmax(x, axis_of(x)); }
TensorHandle LogSoftmaxFunction::operator()(const TensorHandle& x) const { return fn::log_softmax(x, axis_of(x)); }
TensorHandle SoftminFunction::operator()(const TensorHandle& x) const { return fn::softmin(x, axis_of(x)); }
TensorHandle Softmax2dFunction::operator()(const TensorHandle& x) const {
  require<ValueError>(x.rank() == 3 || x.rank() == 4, "Softmax2d: expected input to be 3D or 4D, got {}D instead", x.rank());
  return fn::softmax(x, -3);
}

}  // namespace pyburn::nn
