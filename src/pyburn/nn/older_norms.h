// Weight and spectral normalisation as PyTorch had them before parametrizations, for models whose checkpoints use their names: weight_g and
// weight_v, or weight_orig, weight_u and weight_v.
#pragma once
#include <optional>

#include "pyburn/nn/module.h"

namespace pyburn::nn {

// module.tensor(name) is `name`_g times the direction of `name`_v. `dim` as in parametrizations::weight_norm.
void weight_norm(Module& module, const std::string& name = "weight", std::optional<int64_t> dim = 0);
void remove_weight_norm(Module& module, const std::string& name = "weight");  // restores one parameter with the current value

// module.tensor(name) is `name`_orig divided by its largest singular value, estimated by power iterations on each read in training mode.
void spectral_norm(Module& module, const std::string& name = "weight", int64_t n_power_iterations = 1, double eps = 1e-12,
    std::optional<int64_t> dim = {});
void remove_spectral_norm(Module& module, const std::string& name = "weight");

}  // namespace pyburn::nn
