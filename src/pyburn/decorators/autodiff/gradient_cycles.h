// Gradients with a history (create_graph) keep the graph alive, which keeps their leaves alive, which keep the gradients: a cycle that
// counting references does not end.
#pragma once
#include "pyburn/decorators/autodiff/node.h"

namespace pyburn::autograd {

// The .grad of this leaf has a history now.
void note_gradient_cycle(AccumulateGrad& leaf);
void forget_gradient_cycle(const AccumulateGrad& leaf) noexcept;
// Takes away those gradients that nothing else reaches. No other thread may use the graph meanwhile.
void free_gradient_cycles();

}  // namespace pyburn::autograd
