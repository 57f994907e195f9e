// Differentiation for Python: the Tensor class's autograd attributes, modes, hooks and custom functions.
#include <nanobind/stl/string.h>

#include "objects.h"
#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/decorators/autodiff/history.h"
#include "pyburn/support/error.h"
#include "pyburn/support/patient_lock.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pyburn::python {
namespace {

using namespace autograd;

// A Python object held by C++ that may die on any thread.
class Held {
 public:
  explicit Held(nb::object o) : p_(o.release().ptr()) {}
  ~Held() { release_later(p_); }
  Held(const Held&) = delete;
  nb::handle get() const { return p_; }

 private:
  PyObject* p_;
};

class PythonHook final : public Hook {
 public:
  explicit PythonHook(nb::object fn) : fn_(std::move(fn)) {}
  TensorHandle call(const TensorHandle& g) override {
    const GilAcquire gil;
    nb::object result = fn_.get()(nb::cast(g));
    if (result.is_none()) return {};
    if (!is_tensor(result.ptr())) {
      PyErr_Format(PyExc_TypeError, "a hook must return a Tensor or None: got %s", Py_TYPE(result.ptr())->tp_name);
      throw nb::python_error();
    }
    return unwrap(result.ptr());
  }
  void* host_object() const override { return fn_.get().ptr(); }

 private:
  Held fn_;
};

// The node of a pyburn.autograd.Function: backward is a Python callable from a tuple of gradients to a tuple.
class PythonNode final : public Node {
 public:
  PythonNode(nb::object backward, std::string name, const Tensors& inputs) : backward_(std::move(backward)), name_(std::move(name)) {
    for (const TensorHandle& t : inputs) edges.push_back(t.defined() ? edge_of(t) : Edge());
    number();
  }
  Grads apply(Grads& dy) override {
    const GilAcquire gil;
    dy.resize(outputs);
    nb::object result = backward_.get()(nb::steal(wrap(dy)));
    nb::tuple list = nb::isinstance<nb::tuple>(result) ? nb::borrow<nb::tuple>(result) : nb::make_tuple(result);
    Grads grads;
    for (nb::handle item : list) {
      if (!item.is_none() && !is_tensor(item.ptr())) {
        PyErr_Format(
            PyExc_TypeError, "function %s returned a gradient that is no Tensor: got %s", name_.c_str(), Py_TYPE(item.ptr())->tp_name);
        throw nb::python_error();
      }
      grads.push_back(item.is_none() ? TensorHandle() : unwrap(item.ptr()));
    }
    return grads;
  }
  std::string name() const override { return name_ + "Backward"; }
  int outputs = 1;

 private:
  Held backward_;
  std::string name_;
};

struct NodeObject {
  Ref<Node> node;
};

Tensors tensors_of(nb::handle list) {
  Tensors result;
  for (nb::handle item : list) result.push_back(item.is_none() ? TensorHandle() : nb::cast<TensorHandle>(item));
  return result;
}

// Python errors travel through C++ as nb::python_error; the GIL is free while the pass runs.
template <class Fn>
auto without_gil(Fn fn) {
  const GilRelease released;
  return fn();
}

std::string python_stack() {
  const GilAcquire gil;
  try {
    return nb::cast<std::string>(nb::str("").attr("join")(nb::module_::import_("traceback").attr("format_stack")()));
  } catch (...) {
    PyErr_Clear();
    return {};
  }
}

void bind_modes(nb::module_& m) {
  m.def(
      "is_grad_enabled", [] { return modes().grad; },
      "Are operations being recorded on this thread?\n\n>>> pyburn.is_grad_enabled()\nTrue");
  m.def(
      "is_inference_mode_enabled", [] { return modes().inference; },
      "Is this thread in inference mode?\n\n>>> pyburn.is_inference_mode_enabled()\nFalse");
  m.def(
      "is_anomaly_enabled", [] { return modes().anomaly; }, "Is anomaly detection on?\n\n>>> pyburn.is_anomaly_enabled()\nFalse");
  m.def("_set_modes", [](bool grad, bool inference, bool anomaly) { modes() = {grad, inference, anomaly}; });
  m.def("_get_modes", [] { return nb::make_tuple(modes().grad, modes().inference, modes().anomaly); });
}

}  // namespace

void bind_autograd(nb::module_& m) {
  describe_caller = python_stack;
  while_waiting = [](void (*wait)(void*), void* on) {  // the thread that holds the lock may need the GIL
    const GilRelease released(PyGILState_Check());
    wait(on);
  };
  poll_interrupt = [] {
    const GilAcquire gil;
    drain_released();
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  };
  bind_modes(m);
  nb::class_<NodeObject>(m, "Node", "A node of the graph of recorded operations.")
      .def(
          "name", [](const NodeObject& n) { return n.node->name(); }, "The name of the node's rule.")
      .def("__repr__", [](const NodeObject& n) { return "<" + n.node->name() + ">"; })
      .def_prop_ro(
          "next_functions",
          [](const NodeObject& n) {
            nb::list result;
            for (const Edge& e : n.node->edges) result.append(nb::make_tuple(e.node ? nb::cast(NodeObject{e.node}) : nb::none(), e.output));
            return nb::tuple(result);
          },
          "The nodes that receive this node's gradients.")
      .def("__eq__", [](const NodeObject& a, const NodeObject& b) { return a.node == b.node; })
      .def("__hash__", [](const NodeObject& n) { return reinterpret_cast<uintptr_t>(n.node.get()) >> 4; });

  m.def("_backward", [](nb::handle tensors, nb::handle gradients, bool retain_graph, bool create_graph, nb::handle inputs) {
    const Tensors roots = tensors_of(tensors), leaves = tensors_of(inputs);
    const Grads g = tensors_of(gradients);
    without_gil([&] { backward(roots, g, retain_graph, create_graph, leaves); });
  });
  m.def("_grad", [](nb::handle outputs, nb::handle inputs, nb::handle gradients, bool retain_graph, bool create_graph, bool allow_unused) {
    const Tensors out = tensors_of(outputs), in = tensors_of(inputs);
    const Grads g = tensors_of(gradients);
    const Grads result = without_gil([&] { return grad(out, in, g, retain_graph, create_graph, allow_unused); });
    return nb::steal(wrap(result));
  });
  m.def("_grad_of", [](const TensorHandle& t) { return grad_of(t); });
  m.def(
      "_set_grad", [](const TensorHandle& t, nb::handle g) { set_grad(t, g.is_none() ? TensorHandle() : nb::cast<TensorHandle>(g)); },
      "t"_a, "g"_a.none());
  m.def("_requires_grad", [](const TensorHandle& t) { return wants_gradient(t); });
  m.def("_set_requires_grad", [](const TensorHandle& t, bool on) { set_requires_grad(t, on); });
  m.def("_is_leaf", [](const TensorHandle& t) { return is_leaf(t); });
  m.def("_base", [](const TensorHandle& t) { return is_view(t) ? history_of(t)->base : TensorHandle(); });
  m.def("_grad_fn", [](const TensorHandle& t) -> nb::object {
    Ref<Node> n = grad_fn(t);
    return n ? nb::cast(NodeObject{n}) : nb::none();
  });
  m.def("_retain_grad", [](const TensorHandle& t) { retain_grad(t); });
  m.def("_detach_in_place", [](const TensorHandle& t) { detach_in_place(t); });
  m.def("_data", [](const TensorHandle& t) { return data_of(t); });
  m.def("_set_data", [](const TensorHandle& t, const TensorHandle& value) { set_data(t, value); });
  m.def("_set_flag_parameter", [](const TensorHandle& t, bool on) { t.set(Flag::parameter, on); });
  m.def("_is_inference", [](const TensorHandle& t) { return t.has(Flag::inference); });
  m.def("_register_hook", [](const TensorHandle& t, nb::object fn) { return register_hook(t, make_ref<PythonHook>(std::move(fn))); });
  m.def("_register_post_accumulate_grad_hook",
      [](const TensorHandle& t, nb::object fn) { return register_post_accumulate_grad_hook(t, make_ref<PythonHook>(std::move(fn))); });
  m.def("_remove_hook", [](const TensorHandle& t, int64_t id) { remove_hook(t, id); });
  // A custom function: the outputs of its forward become results of a node that calls `backward`.
  m.def("_attach_function", [](nb::object backward, const std::string& name, nb::handle inputs, nb::handle outputs, nb::handle written) {
    const Tensors in = tensors_of(inputs), out = tensors_of(outputs);
    Ref<PythonNode> node(new PythonNode(std::move(backward), name, in));
    node->outputs = int(out.size());
    int32_t i = 0;
    for (nb::handle was_written : written) {
      if (out[i].defined()) set_history(node, out[i], i, nb::cast<bool>(was_written));
      ++i;
    }
  });
  m.def("_set_parameter_class", [](nb::object type) { parameter_type = type.release().ptr(); });
}

}  // namespace pyburn::python
