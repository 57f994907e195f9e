// summary: a table of the layers of a model, with shapes, parameters and cost.
//
//   std::puts(to_text(summary(*model, randn({1, 3, 224, 224}))).c_str());
#pragma once
#include "pyburn/nn/module.h"

namespace pyburn {

// A row: one call of a module. Calls that bypass call(), such as those of layers with several inputs, are counted in the caller and have no
// row.
struct LayerSummary {
  std::string name, type_name;
  int depth = 0;
  Shape output;
  int64_t mult_adds = 0;                     // including the modules that it calls
  int64_t params = 0, trainable_params = 0;  // including submodules, without modules that were counted before
  int64_t output_bytes = 0;
  bool is_leaf = false, is_repeated = false;  // repeated: all its parameters were counted before
};

struct ModelSummary {
  std::vector<LayerSummary> layers;
  int64_t total_params = 0, trainable_params = 0, total_mult_adds = 0;
  int64_t input_bytes = 0, output_bytes = 0, param_bytes = 0;  // output: of all calls of modules without children; param: includes buffers
  int64_t total_bytes() const { return input_bytes + output_bytes + param_bytes; }
};

// Calls a model once, in evaluation mode unless `training` is set, and without computing unless a value is needed.
ModelSummary summary(nn::Module& model, const TensorHandle& input, bool training = false);
std::string to_text(const ModelSummary& summary, int depth = 100);

}  // namespace pyburn
