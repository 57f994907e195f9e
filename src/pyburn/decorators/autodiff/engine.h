// The backward pass: nodes in order of decreasing sequence number, on the calling thread.
#pragma once
#include <functional>

#include "pyburn/decorators/autodiff/node.h"

namespace pyburn::autograd {

struct BackwardOptions {
  bool retain_graph = false;
  bool create_graph = false;  // record the gradients themselves
  bool accumulate = true;     // into the .grad of leaves
};

// Calls `then` when the pass that runs on this thread is through. GradientError where none runs.
void after_this_pass(std::function<void()> then);
// Calls `then` when that pass ends, also where it fails: for what is kept during a pass. It must not throw.
void at_end_of_this_pass(std::function<void()> then);
uint64_t current_pass();  // a number of its own for each pass; 0 where none runs on this thread

// Runs from `roots` with their gradients. Where `wanted` is not empty only what leads to these edges is computed, and
// their gradients are returned in order (undefined where none arrived).
Grads run_backward(std::span<const Edge> roots, const Grads& gradients, std::span<const Edge> wanted, const BackwardOptions&);

}  // namespace pyburn::autograd
