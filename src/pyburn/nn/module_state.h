// StateLoad: a checkpoint on its way into a model, and what did not fit.
#pragma once
#include <optional>

#include "pyburn/nn/module.h"

namespace pyburn::nn {

struct StateLoad {
  bool assign = false;                                         // put the tensors themselves in place instead of copying from them
  std::optional<int64_t> version;                              // of the module that is being loaded, as it was saved
  bool has_extra_state = false;                                // whether that module has more state than tensors, under "_extra_state"
  std::function<std::string(const std::string& key)> type_of;  // what an undefined tensor of the checkpoint was instead
  std::vector<std::string> missing_keys, unexpected_keys, errors;

  // Raises what is in the lists, all at once, as PyTorch words it.
  void raise_errors(const std::string& type_name, bool strict) const;
};

}  // namespace pyburn::nn
