// Layers by name, for models whose configuration says which activation and which normalisation they use; after Burn.
#pragma once
#include "pyburn/nn/module.h"

namespace pyburn::nn {

// The activation of that name with its default options, in any case and with or without underscores: "relu", "LeakyReLU",
// "gelu_approximate". ValueError for a name that is not known.
Ref<Module> activation(std::string_view name);

struct NormalizationOptions {
  int64_t num_features = 1;
  int dims = 1;            // axes after the channels, for batch and instance
  int64_t num_groups = 1;  // for group
};
// The layer that normalises num_features channels in that way: identity, batch, group, instance, layer or rms.
Ref<Module> normalization(std::string_view name, NormalizationOptions options);

}  // namespace pyburn::nn
