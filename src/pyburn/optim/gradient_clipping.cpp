#include "pyburn/optim/gradient_clipping.h"

#include "pyburn/ops/generated/pointwise.h"
#include "pyburn/ops/generated/vector_norm.h"
#include "pyburn/ops/operators.h"
#include "pyburn/support/error.h"

namespace pyburn::optim {

GradientClipping::GradientClipping(Kind kind, double limit) : kind_(kind), limit_(limit) {
  require<ValueError>(limit > 0, "the limit of gradient clipping must be positive: got {}", limit);
}
GradientClipping GradientClipping::by_value(double limit) { return {Kind::value, limit}; }
GradientClipping GradientClipping::by_norm(double limit) { return {Kind::norm, limit}; }
GradientClipping GradientClipping::named(const std::string& kind, double limit) {
  require<ValueError>(kind == "value" || kind == "norm", "gradient clipping must be 'value' or 'norm': got '{}'", kind);
  return kind == "value" ? by_value(limit) : by_norm(limit);
}

TensorHandle GradientClipping::operator()(const TensorHandle& g) const {
  if (kind_ == Kind::none) return g;
  if (kind_ == Kind::value) return fn::clamp_max(fn::clamp_min(g, -limit_), limit_);
  const TensorHandle scale = limit_ / (fn::linalg_vector_norm(g) + 1e-6);  // the offset keeps a gradient of zeros
  return g * fn::clamp_max(scale, 1.0);
}

}  // namespace pyburn::optim
