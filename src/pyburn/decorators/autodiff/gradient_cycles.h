// Gradients with a history (create_graph) keep the graph alive, which keeps their leaves alive, which keep the gradients: a cycle that
// counting references does not end.
#pragma once
#include "pyburn/decorators/autodiff/node.h"
#include "pyburn/support/fork_safe_mutex.h"

namespace pyburn::autograd {

// Backward passes of several threads may meet in one leaf: each adds its gradient to all that came before. Others may read or replace its
// .grad meanwhile.
ForkSafeMutex& gradient_mutex(const TensorHandle& leaf);

// The .grad of this leaf has a history now.
void note_gradient_cycle(AccumulateGrad& leaf);
void forget_gradient_cycle(const AccumulateGrad& leaf) noexcept;
// Takes away those gradients that nothing else reaches. No other thread may use the graph meanwhile.
void free_gradient_cycles();

}  // namespace pyburn::autograd
