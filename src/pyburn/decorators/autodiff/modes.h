// What this thread records: grad mode, inference mode, anomaly detection.
#pragma once
#include <string>

namespace pyburn::autograd {

struct Modes {
  bool grad = true;
  bool inference = false;
  bool anomaly = false;
};
Modes& modes();  // of this thread

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

// Where the user's program is now, for anomaly detection; set by the bindings.
extern std::string (*describe_caller)();

}  // namespace pyburn::autograd
