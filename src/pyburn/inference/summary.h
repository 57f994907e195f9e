// summary: a table of what a model is made of, and what a call of it costs.
//
//   std::puts(to_text(summary(*model, randn({1, 3, 224, 224}))).c_str());
#pragma once
#include "pyburn/nn/module.h"

namespace pyburn {

// One line: a call of a module. Calls that do not go through call(), as those of layers with several inputs, are counted where they
// are made, and have no line.
struct LayerSummary {
  std::string name, type_name;
  int depth = 0;
  Shape output;
  int64_t mult_adds = 0;                     // its own and of what it calls
  int64_t params = 0, trainable_params = 0;  // its own and of what is below it, without those of modules that were called before
  int64_t output_bytes = 0;
  bool is_leaf = false, is_repeated = false;  // repeated: all its parameters were counted before
};

struct ModelSummary {
  std::vector<LayerSummary> layers;
  int64_t total_params = 0, trainable_params = 0, total_mult_adds = 0;
  int64_t input_bytes = 0, output_bytes = 0, param_bytes = 0;  // output: of all calls of modules without children; param: buffers too
  int64_t total_bytes() const { return input_bytes + output_bytes + param_bytes; }
};

// Calls a model once, in evaluation mode unless `training`, and without computing where no value has to be known.
ModelSummary summary(nn::Module& model, const TensorHandle& input, bool training = false);
std::string to_text(const ModelSummary& summary, int depth = 100);

}  // namespace pyburn
