#include "pyburn/optim/update.h"

#include "pyburn/ops/generated/fill.h"

namespace pyburn::optim {

const TensorHandle& started(TensorHandle& state, const TensorHandle& parameter, double value) {
  if (!state.defined()) state = fn::full_like(parameter, value);
  return state;
}

void check_not_negative(const char* what, double value) { require<ValueError>(value >= 0, "Invalid {}: {}", what, value); }
void check_beta(int index, double beta) {
  require<ValueError>(beta >= 0 && beta < 1, "Invalid beta parameter at index {}: {}", index, beta);
}

}  // namespace pyburn::optim
