// StateLoad: the state of loading a checkpoint into a model, and the mismatches found.
#pragma once
#include <optional>

#include "pyburn/nn/module.h"

namespace pyburn::nn {

struct StateLoad {
  bool assign = false;                                         // assigns the tensors themselves instead of copying their values
  std::optional<int64_t> version;                              // version of the module being loaded, as saved
  bool has_extra_state = false;                                // whether that module has state other than tensors, under "_extra_state"
  std::function<std::string(const std::string& key)> type_of;  // type names of checkpoint entries that are not tensors
  std::vector<std::string> missing_keys, unexpected_keys, errors;

  // Raises all mismatches at once, with PyTorch's wording.
  void raise_errors(const std::string& type_name, bool strict) const;
};

}  // namespace pyburn::nn
