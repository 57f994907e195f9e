// Mixed precision: while autocast is on, operations that gain by it (products) compute in a lower dtype, and those that need it
// (exponentials, sums, norms) in float32. A row says which it is; the door casts, above autodiff, so that gradients flow back.
#pragma once
#include "pyburn/ir/op_info.h"

namespace pyburn {

struct AutocastMode {
  bool enabled = false;
  bool cache = true;  // casts of parameters are kept until the outermost scope ends
  DType dtype = DType::bfloat16;
};
AutocastMode autocast_mode();  // of this thread

AutocastMode enter_autocast(AutocastMode mode);  // gives the mode before; DTypeError unless float16, bfloat16 or float32
void leave_autocast(AutocastMode previous);      // the last one to leave clears the cache

class AutocastScope {
 public:
  explicit AutocastScope(AutocastMode mode) : previous_(enter_autocast(mode)) {}
  ~AutocastScope() { leave_autocast(previous_); }
  AutocastScope(const AutocastScope&) = delete;

 private:
  AutocastMode previous_;
};
void clear_autocast_cache();

// For functions that look at dtypes before they reach the door. Without autocast: x, and d.
TensorHandle lowered(const TensorHandle& x);
TensorHandle widened(const TensorHandle& x);
DType full_precision(DType d);

// What the door does to an input of an operation of that class.
TensorHandle autocast(Autocast wanted, const TensorHandle& x);
bool autocast_active();  // is on, and this is not inside of an operation

}  // namespace pyburn
