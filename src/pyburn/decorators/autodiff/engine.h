// The backward pass: processes nodes by decreasing sequence number, on the calling thread.
#pragma once
#include <functional>

#include "pyburn/decorators/autodiff/node.h"

namespace pyburn::autograd {

struct BackwardOptions {
  bool retain_graph = false;
  bool create_graph = false;  // record the gradients themselves
  bool accumulate = true;     // accumulate into the .grad of leaves
};

// Calls `then` after the pass that runs on this thread. GradientError if none runs.
void after_this_pass(std::function<void()> then);
// Calls `then` when that pass ends, even if it fails; for state that exists during a pass. It must not throw.
void at_end_of_this_pass(std::function<void()> then);
uint64_t current_pass();  // a unique number for each pass; 0 if none runs on this thread

// Runs from `roots` with their gradients. If `wanted` is not empty, computes only the paths to these edges and returns their gradients in
// order (undefined if none arrived).
Grads run_backward(std::span<const Edge> roots, const Grads& gradients, std::span<const Edge> wanted, const BackwardOptions&);

}  // namespace pyburn::autograd
