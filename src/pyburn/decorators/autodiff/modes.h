// Recording modes of this thread: grad mode, inference mode, anomaly detection.
#pragma once
#include <string>

#include "pyburn/decorators/autodiff/node.h"

namespace pyburn::autograd {

// User functions applied to tensors that are saved for backward: pack now, unpack in the backward pass.
class SavedTensorHooks : public Counted {
 public:
  virtual Ref<PackedTensor> pack(const TensorHandle& t) = 0;
};

struct Modes {
  bool grad = true;
  bool inference = false;
  bool anomaly = false;
};
Modes& modes();                                            // of this thread
std::vector<Ref<SavedTensorHooks>>& saved_tensor_hooks();  // of this thread; the innermost one is used

class GradMode {  // RAII: no_grad, enable_grad, set_grad_enabled
 public:
  explicit GradMode(bool on) : previous_(modes().grad) { modes().grad = on; }
  ~GradMode() { modes().grad = previous_; }
  GradMode(const GradMode&) = delete;

 private:
  bool previous_;
};
struct NoGrad : GradMode {
  NoGrad() : GradMode(false) {}
};

// The user's current source line, for anomaly detection; set by the bindings.
extern std::string (*describe_caller)();

}  // namespace pyburn::autograd
