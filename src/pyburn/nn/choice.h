// Layers by name, for models whose configuration names an activation and a normalisation; as in Burn.
#pragma once
#include "pyburn/nn/module.h"

namespace pyburn::nn {

// The activation of that name with default options, ignoring case and underscores: "relu", "LeakyReLU", "gelu_approximate". ValueError for
// an unknown name.
Ref<Module> activation(std::string_view name);

struct NormalizationOptions {
  int64_t num_features = 1;
  int dims = 1;            // dimensions after the channels, for batch and instance
  int64_t num_groups = 1;  // for group
};
// The normalisation layer of that name for num_features channels: identity, batch, group, instance, layer or rms.
Ref<Module> normalization(std::string_view name, NormalizationOptions options);

}  // namespace pyburn::nn
