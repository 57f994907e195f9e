// Calls of a module with other tensors than its own: for gradients with respect to them, and for models whose weights are computed.
#pragma once
#include "pyburn/nn/module.h"

namespace pyburn::nn {

struct FunctionalCallOptions {
  bool tie_weights = true;  // a tensor that the module has under several names is replaced under all of them
  bool strict = false;      // the names must be all that the module has
};

// While it lives, `tensors` are in the place of the parameters and buffers of these dotted names. ValueError for other names.
class ReplacedTensors {
 public:
  ReplacedTensors(Module& module, const NamedTensors& tensors, FunctionalCallOptions options = {});
  ~ReplacedTensors();
  ReplacedTensors(const ReplacedTensors&) = delete;

 private:
  std::vector<std::pair<Ref<Module>, Entry>> before_;
};

inline TensorHandle functional_call(
    Module& module, const NamedTensors& tensors, const TensorHandle& x, FunctionalCallOptions options = {}) {
  const ReplacedTensors replaced(module, tensors, options);
  return module.call(x);
}

}  // namespace pyburn::nn
