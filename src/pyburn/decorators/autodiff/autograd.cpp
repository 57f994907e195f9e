#include "pyburn/decorators/autodiff/autograd.h"

#include <atomic>

#include "pyburn/decorators/autodiff/gradient_cycles.h"
#include "pyburn/decorators/autodiff/history.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/runtime/run_observer.h"
#include "pyburn/support/error.h"
#include "pyburn/support/patient_lock.h"

namespace pyburn::autograd {
namespace {

// The roots of a pass and their gradients, checked; 1 where a scalar has none.
struct Roots {
  std::vector<Edge> edges;
  Grads gradients;

  Roots(const Tensors& tensors, const Grads& given, bool create_graph) {
    require<GradientError>(
        given.empty() || given.size() == tensors.size(), "got {} tensors and {} gradients", tensors.size(), given.size());
    for (int64_t i = 0; i < tensors.size(); ++i) {
      const TensorHandle& t = tensors[i];
      require<GradientError>(t.defined(), "element {} of tensors is None: expected a Tensor", i);
      edges.push_back(edge_of(t));
      require<GradientError>(bool(edges.back().node), "element {} of tensors does not require grad and does not have a grad_fn", i);
      TensorHandle g = i < given.size() ? given[i] : TensorHandle();
      if (!g.defined()) {
        require<GradientError>(t.numel() == 1, "grad can be implicitly created only for scalar outputs: got {}", t.shape());
        g = fn::ones_like(t);
      }
      require(g.shape() == t.shape(), "Mismatch in shape: grad_output[{}] has a shape of {} and output[{}] has a shape of {}", i, g.shape(),
          i, t.shape());
      require<GradientError>(
          &g.device() == &t.device(), "invalid gradient at index {} - expected device {} but got {}", i, t.device(), g.device());
      if (g.dtype() != t.dtype()) g = fn::cast(g, t.dtype());
      gradients.push_back(create_graph ? g : TensorHandle(fn::detach(g)));
    }
  }
};

std::vector<Edge> edges_of(const Tensors& inputs) {
  std::vector<Edge> edges;
  for (int64_t i = 0; i < inputs.size(); ++i) {
    require<GradientError>(inputs[i].defined(), "element {} of inputs is None: expected a Tensor", i);
    edges.push_back(edge_of(inputs[i]));
    require<GradientError>(bool(edges.back().node), "one of the differentiated Tensors does not require grad: got element {}", i);
  }
  return edges;
}

std::vector<OutputHook>& hook_list(const TensorHandle& t, int32_t& output) {
  const Edge e = edge_of(t);
  require<GradientError>(bool(e.node), "cannot register a hook on a tensor that doesn't require gradient");
  output = e.output;
  auto& list = is_leaf(t) ? ensure_history(t).hooks : e.node->hooks;
  if (!list) list = std::make_unique<std::vector<OutputHook>>();
  return *list;
}

}  // namespace

void backward(const Tensors& tensors, const Grads& gradients, bool retain_graph, bool create_graph, const Tensors& inputs) {
  const Roots roots(tensors, gradients, create_graph);
  const std::vector<Edge> wanted = edges_of(inputs);
  for (const TensorHandle& t : inputs) retain_grad(t);  // results may be requested as well as leaves
  run_backward(roots.edges, roots.gradients, wanted, {retain_graph || create_graph, create_graph, true});
}

Grads grad(const Tensors& outputs, const Tensors& inputs, const Grads& gradients, bool retain_graph, bool create_graph, bool allow_unused) {
  require<ValueError>(!inputs.empty(), "[grad] `inputs` argument cannot be empty");
  const Roots roots(outputs, gradients, create_graph);
  const std::vector<Edge> wanted = edges_of(inputs);
  Grads result = run_backward(roots.edges, roots.gradients, wanted, {retain_graph || create_graph, create_graph, false});
  for (int64_t i = 0; i < result.size(); ++i) {
    if (result[i].defined() && is_leaf(inputs[i])) result[i] = laid_out_as(inputs[i], result[i]);
    require<GradientError>(allow_unused || result[i].defined(),
        "one of the differentiated Tensors appears to not have been used in the graph: got input {}. Set allow_unused=True "
        "if this is the desired behavior",
        i);
  }
  return result;
}

TensorHandle grad_of(const TensorHandle& t) {
  if (!history_of(t)) return {};
  const PatientLock lock(gradient_mutex(t));
  const History* h = history_of(t);
  return h->retained ? h->retained->grad : h->grad;
}

void set_grad(const TensorHandle& t, const TensorHandle& g) {
  if (g.defined()) {
    require<GradientError>(!g.is_same(t), "can't assign a tensor as its own grad");
    require(g.shape() == t.shape(), "the gradient must have the shape of the tensor: got {} for {}", g.shape(), t.shape());
    require<DTypeError>(g.dtype() == t.dtype(), "the gradient must have the dtype of the tensor: got {} for {}", g.dtype(), t.dtype());
    require<DeviceError>(
        &g.device() == &t.device(), "the gradient must be on the device of the tensor: got {} for {}", g.device(), t.device());
  } else if (!history_of(t)) {
    return;
  }
  if (RunObserver* observer = run_observer()) observer->gradient_replaced(t);
  TensorHandle old = g;  // dies after the lock: that may run Python
  {
    const PatientLock lock(gradient_mutex(t));
    History& h = ensure_history(t);
    std::swap(h.retained ? h.retained->grad : h.grad, old);
  }
  if (g.defined() && g.requires_grad() && is_leaf(t) && t.requires_grad()) note_gradient_cycle(*accumulator_of(t));
}

void set_requires_grad(const TensorHandle& t, bool on) {
  if (on == wants_gradient(t)) return;
  require<GradientError>(is_leaf(t), "you can only change requires_grad flags of leaf variables; use detach() to cut the history");
  require<DTypeError>(!on || is_floating(t.dtype()), "only Tensors of floating point dtype can require gradients: got {}", t.dtype());
  require<GradientError>(
      !on || !t.has(Flag::inference), "setting requires_grad=True on an inference tensor is not allowed; clone it first");
  t.set(Flag::requires_grad, on);
}

void retain_grad(const TensorHandle& t) {
  require<GradientError>(wants_gradient(t), "can't retain_grad on Tensor that has requires_grad=False");
  History& h = ensure_history(t);
  if (is_leaf(t) || h.retained) return;
  h.retained = make_ref<GradBox>();
  keep_gradient(*h.node, h.output, h.retained);
}

bool retains_grad(const TensorHandle& t) {
  const History* h = history_of(t);
  return h && h->retained && !is_leaf(t);
}

namespace {

std::atomic<int64_t> next_hook{0};

int64_t add_hook(const TensorHandle& t, Ref<Hook> hook, bool after) {
  int32_t output = 0;
  std::vector<OutputHook>& list = hook_list(t, output);
  list.push_back({after ? OutputHook::kAfter : output, next_hook++, std::move(hook)});
  return list.back().id;
}

}  // namespace

int64_t register_hook(const TensorHandle& t, Ref<Hook> hook) { return add_hook(t, std::move(hook), false); }
int64_t register_post_accumulate_grad_hook(const TensorHandle& t, Ref<Hook> hook) {
  require<GradientError>(is_leaf(t), "post accumulate grad hooks can only be registered on leaf tensors");
  return add_hook(t, std::move(hook), true);
}

void remove_hook(const TensorHandle& t, int64_t id) {
  if (!wants_gradient(t)) return;
  int32_t output = 0;
  std::erase_if(hook_list(t, output), [id](const OutputHook& h) { return h.id == id; });
}

int64_t register_node_hook(const Ref<Node>& node, Ref<NodeHook> hook) {
  if (!node->node_hooks) node->node_hooks = std::make_unique<std::vector<NumberedNodeHook>>();
  node->node_hooks->push_back({next_hook++, std::move(hook)});
  return node->node_hooks->back().id;
}

void remove_node_hook(const Ref<Node>& node, int64_t id) {
  if (!node->node_hooks) return;
  std::erase_if(*node->node_hooks, [id](const NumberedNodeHook& h) { return h.id == id; });
  if (node->node_hooks->empty()) node->node_hooks = nullptr;
}

Ref<Node> grad_fn(const TensorHandle& t) {
  wants_gradient(t);  // refreshes a view
  const History* h = history_of(t);
  return h ? h->node : Ref<Node>();
}

void detach_in_place(const TensorHandle& t) {
  require<GradientError>(!is_view(t), "can't detach views in-place; use detach() instead");
  if (History* h = history_of(t)) h->node = nullptr;
  t.set(Flag::requires_grad, false);
}

TensorHandle data_of(const TensorHandle& t) {
  TensorHandle d = alias(t, t.layout());
  d.set(Flag::untracked);
  return d;
}

void set_data(const TensorHandle& t, const TensorHandle& value) {
  require<GradientError>(!is_view(t), "the data of a view cannot be replaced");
  TensorImpl& impl = *t.impl();
  impl.dtype = value.dtype();
  impl.device = &value.device();
  impl.layout = value.layout();
  impl.storage = value.impl()->storage;
}

}  // namespace pyburn::autograd
