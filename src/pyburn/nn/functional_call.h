// Calls a module with replaced parameters and buffers: for gradients with respect to them, and for computed weights.
#pragma once
#include "pyburn/nn/module.h"

namespace pyburn::nn {

struct FunctionalCallOptions {
  bool tie_weights = true;  // a tensor with several names in the module is replaced under all of them
  bool strict = false;      // the names must be exactly those of the module
};

// While it lives, `tensors` replace the parameters and buffers with these dotted names. ValueError for other names.
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
