#include "pyburn/nn/upsample.h"

#include "pyburn/ops/generated/interpolate.h"

namespace pyburn::nn {
namespace {

std::optional<bool> as_bool(const std::optional<Scalar>& s) { return s ? std::optional(s->to<bool>()) : std::nullopt; }

}  // namespace

std::string UpsampleFunction::extra_repr() const {
  const char* hidden = scale_factor.empty() ? "scale_factor, align_corners, recompute_scale_factor"  //
                                            : "size, align_corners, recompute_scale_factor";
  return config_text(
      {&attr_type<UpsampleFunction>, const_cast<UpsampleFunction*>(this)}, {.always = 3, .hidden = hidden, .quoted = "mode"});
}

TensorHandle UpsampleFunction::operator()(const TensorHandle& x) const {
  return fn::interpolate(x, size.empty() ? OptionalDims() : OptionalDims(size),
      scale_factor.empty() ? OptionalNumbers() : OptionalNumbers(scale_factor), mode, as_bool(align_corners),
      as_bool(recompute_scale_factor));
}

}  // namespace pyburn::nn
