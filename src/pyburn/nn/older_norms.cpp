#include "pyburn/nn/older_norms.h"

#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/nn/hooks.h"
#include "pyburn/nn/parametrizations.h"
#include "pyburn/nn/parts.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/matmul.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/normalisation.h"
#include "pyburn/ops/generated/random.h"
#include "pyburn/ops/operators.h"

namespace pyburn::nn {
namespace {

TensorHandle parameter_of(Module& module, const std::string& name) {
  const Entry* e = module.find(name);
  require<ValueError>(e && e->kind == Entry::Kind::parameter && e->tensor.defined() && !module.is_shapeless(name),
      "{} has no parameter '{}' to normalise", module.display_name(), name);
  return e->tensor;
}

// Makes the computed tensor an ordinary parameter; `parts` go.
void settle(Module& module, const std::string& name, const char* what, std::initializer_list<const char*> parts) {
  for (const char* part : parts)
    require<ValueError>(module.find(name + part), "{} of '{}' not found in {}", what, name, module.display_name());
  const TensorHandle value = fn::detach(module.tensor(name));
  for (const char* part : parts) module.erase(name + part);
  module.register_parameter(name, Parameter(value));
}

}  // namespace

void weight_norm(Module& module, const std::string& name, std::optional<int64_t> dim) {
  const int64_t kept = dim.value_or(-1);
  const TensorHandle weight = fn::detach(parameter_of(module, name)), length = norm_except(weight, kept);
  module.erase(name);
  module.register_parameter(name + "_g", Parameter(length));
  module.register_parameter(name + "_v", Parameter(weight));
  module.hooks().register_tensor(
      name, [name, kept](const Module& m) { return with_norm(needed(m, name + "_v"), needed(m, name + "_g"), kept); });
}

void remove_weight_norm(Module& module, const std::string& name) { settle(module, name, "weight_norm", {"_g", "_v"}); }

void spectral_norm(Module& module, const std::string& name, int64_t n_power_iterations, double eps, std::optional<int64_t> dim) {
  require<ValueError>(
      n_power_iterations > 0, "Expected n_power_iterations to be positive, but got n_power_iterations={}", n_power_iterations);
  const int64_t outputs = dim.value_or(module.type_name().starts_with("ConvTranspose") ? 1 : 0);
  const TensorHandle weight = parameter_of(module, name), matrix = as_rows(fn::detach(weight), outputs);
  module.erase(name);
  module.register_parameter(name + "_orig", weight);
  for (int axis = 0; axis < 2; ++axis) {
    const TensorHandle start = fn::randn({matrix.shape()[axis]}, matrix.dtype(), &matrix.device());
    module.register_buffer(name + (axis == 0 ? "_u" : "_v"), fn::normalize(start, 2, 0, eps));
  }
  module.hooks().register_tensor(name, [=](const Module& m) {
    const TensorHandle original = needed(m, name + "_orig"), rows = as_rows(original, outputs);
    const TensorHandle u = needed(m, name + "_u"), v = needed(m, name + "_v");
    if (m.training()) power_iterations(fn::transpose(fn::detach(rows), 0, 1), v, u, n_power_iterations, eps);  // v first
    // Copies: the next iterations write to the buffers, and the gradient needs them as they are.
    return original / fn::dot(fn::clone(u), fn::mv(rows, fn::clone(v)));
  });
}

void remove_spectral_norm(Module& module, const std::string& name) {
  struct Mode {
    Module& module;
    bool was_training = module.training();
    ~Mode() { module.set_training(was_training); }
  } const mode{module};
  module.set_training(false);  // the value that it has, without another iteration
  settle(module, name, "spectral_norm", {"_orig", "_u", "_v"});
}

}  // namespace pyburn::nn
