// The user-facing interface of automatic differentiation.
#pragma once
#include "pyburn/decorators/autodiff/engine.h"
#include "pyburn/decorators/autodiff/modes.h"

namespace pyburn::autograd {

// d(tensors)/d(leaves), added to the gradients of the leaves. `gradients` may be undefined for single-element tensors.
void backward(const Tensors& tensors, const Grads& gradients, bool retain_graph, bool create_graph, const Tensors& inputs = {});
inline void backward(const TensorHandle& loss, const TensorHandle& gradient = {}, bool retain_graph = false, bool create_graph = false) {
  backward(Tensors{loss}, Grads{gradient}, retain_graph, create_graph);
}
// d(outputs)/d(inputs), returned. With allow_unused, undefined for an input that the outputs do not depend on.
Grads grad(const Tensors& outputs, const Tensors& inputs, const Grads& gradients, bool retain_graph, bool create_graph, bool allow_unused);

TensorHandle grad_of(const TensorHandle& t);                  // .grad
void set_grad(const TensorHandle& t, const TensorHandle& g);  // checks shape, dtype, device
void set_requires_grad(const TensorHandle& t, bool on);       // leaves of floating-point dtype only
void retain_grad(const TensorHandle& t);
bool retains_grad(const TensorHandle& t);  // false for leaves, which always keep their gradients
// Calls `hook` with each gradient that reaches t; the id removes it again.
int64_t register_hook(const TensorHandle& t, Ref<Hook> hook);
// Calls `hook` with the leaf t after a gradient was added to its .grad.
int64_t register_post_accumulate_grad_hook(const TensorHandle& t, Ref<Hook> hook);
void remove_hook(const TensorHandle& t, int64_t id);
int64_t register_node_hook(const Ref<Node>& node, Ref<NodeHook> hook);
void remove_node_hook(const Ref<Node>& node, int64_t id);
Ref<Node> grad_fn(const TensorHandle& t);     // null for leaves
void detach_in_place(const TensorHandle& t);  // not for views
TensorHandle data_of(const TensorHandle& t);  // .data: no history; writes do not change the version
void set_data(const TensorHandle& t, const TensorHandle& value);
// A differentiable copy on another device; t itself if it is already there.
TensorHandle move_recorded(Device& device, const TensorHandle& t);

}  // namespace pyburn::autograd
