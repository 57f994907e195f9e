// One step of stochastic gradient descent on a list of parameters. The optimisers of both languages call this.
#pragma once
#include <vector>

#include "pyburn/ir/fields.h"
#include "pyburn/tensor/handle.h"

namespace pyburn::optim {

struct SgdOptions {
  double lr = 1e-3, momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false, maximize = false;
  PB_FIELDS(lr, momentum, dampening, weight_decay, nesterov, maximize)
  void check() const;  // ValueError
};

// What is remembered of one parameter.
struct SgdState {
  TensorHandle momentum_buffer;  // undefined before the first step, and without momentum
  template <class Visit>
  void visit(Visit visit) {
    visit("momentum_buffer", momentum_buffer);
  }
};

// `states[i]` belongs to `parameters[i]`; a parameter without a gradient is left alone. One operation per dtype and device.
void update(const SgdOptions&, const std::vector<TensorHandle>& parameters, const std::vector<SgdState*>& states);

}  // namespace pyburn::optim
