// Mixed precision: while autocast is on, products run in a lower-precision dtype, and operations that need precision (exponentials, sums,
// norms) in float32, as their rows say. The door casts, above autodiff, so that gradients flow back.
#pragma once
#include "pyburn/ir/op_info.h"

namespace pyburn {

struct AutocastMode {
  bool enabled = false;
  bool cache = true;  // casts of parameters are cached until the outermost scope ends
  DType dtype = DType::bfloat16;
};
AutocastMode autocast_mode();  // of this thread

AutocastMode enter_autocast(AutocastMode mode);  // returns the previous mode; DTypeError unless float16, bfloat16 or float32
void leave_autocast(AutocastMode previous);      // the last scope clears the cache

class AutocastScope {
 public:
  explicit AutocastScope(AutocastMode mode) : previous_(enter_autocast(mode)) {}
  ~AutocastScope() { leave_autocast(previous_); }
  AutocastScope(const AutocastScope&) = delete;

 private:
  AutocastMode previous_;
};
void clear_autocast_cache();

// For functions that depend on dtypes before they reach the door. Without autocast: x, and d.
TensorHandle lowered(const TensorHandle& x);
TensorHandle widened(const TensorHandle& x);
DType full_precision(DType d);

// Casts an input of an operation of that class.
TensorHandle autocast(Autocast wanted, const TensorHandle& x);
bool autocast_active();  // is on, and the call is not nested in an operation

}  // namespace pyburn
