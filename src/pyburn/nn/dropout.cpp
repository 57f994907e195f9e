#include "pyburn/nn/dropout.h"

#include "pyburn/ops/generated/dropout.h"
#include "pyburn/ops/generated/random.h"
#include "pyburn/ops/operators.h"
#include "pyburn/support/error.h"

namespace pyburn::nn {

void DropoutOptions::complete() const {
  require<ValueError>(p.to_double() >= 0 && p.to_double() <= 1, "dropout probability has to be between 0 and 1, but got {}", p);
}

TensorHandle DropoutFunction::operator()(const TensorHandle& x, bool training) const {
  return fn::dropout(x, p.to_double(), training, inplace);
}
TensorHandle Dropout1dFunction::operator()(const TensorHandle& x, bool training) const {
  return fn::dropout1d(x, p.to_double(), training, inplace);
}
TensorHandle Dropout2dFunction::operator()(const TensorHandle& x, bool training) const {
  return fn::dropout2d(x, p.to_double(), training, inplace);
}
TensorHandle Dropout3dFunction::operator()(const TensorHandle& x, bool training) const {
  return fn::dropout3d(x, p.to_double(), training, inplace);
}
TensorHandle AlphaDropoutFunction::operator()(const TensorHandle& x, bool training) const {
  return fn::alpha_dropout(x, p.to_double(), training, inplace);
}
TensorHandle FeatureAlphaDropoutFunction::operator()(const TensorHandle& x, bool training) const {
  return fn::feature_alpha_dropout(x, p.to_double(), training, inplace);
}

void GaussianNoiseFunction::complete() const {
  require<ValueError>(std.to_double() >= 0, "the standard deviation must not be negative: got {}", std);
}
TensorHandle GaussianNoiseFunction::operator()(const TensorHandle& x, bool training) const {
  return training ? x + fn::randn_like(x) * std : x;
}

}  // namespace pyburn::nn
