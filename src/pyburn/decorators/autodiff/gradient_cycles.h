// Gradients with a history (create_graph) keep the graph alive, which keeps their leaves alive, which keep the gradients alive: a cycle
// that reference counting cannot free.
#pragma once
#include "pyburn/decorators/autodiff/node.h"
#include "pyburn/support/fork_safe_mutex.h"

namespace pyburn::autograd {

// Serializes changes of a leaf's .grad: backward passes of several threads may meet in one leaf, and others may read or replace the
// gradient.
ForkSafeMutex& gradient_mutex(const TensorHandle& leaf);

// Registers that the .grad of this leaf has a history.
void note_gradient_cycle(AccumulateGrad& leaf);
void forget_gradient_cycle(const AccumulateGrad& leaf) noexcept;
// Releases the gradients that nothing else references. No other thread may use the graph meanwhile.
void free_gradient_cycles();

}  // namespace pyburn::autograd
