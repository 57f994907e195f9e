// Differentiation for Python: the Tensor class's autograd attributes, modes, hooks and custom functions.
#include <nanobind/stl/string.h>

#include "objects.h"
#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/decorators/autodiff/function.h"
#include "pyburn/decorators/autodiff/history.h"
#include "pyburn/support/error.h"
#include "pyburn/support/interrupt.h"
#include "pyburn/support/log.h"
#include "pyburn/support/patient_lock.h"
#include "python_exception.h"

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

std::string name_of(nb::handle function) {
  const GilAcquire gil;
  const nb::object name = nb::getattr(function, "__name__", nb::none());
  return nb::isinstance<nb::str>(name) ? nb::cast<std::string>(name) : Py_TYPE(function.ptr())->tp_name;
}

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
  std::string name() const override { return name_of(fn_.get()); }
  void* host_object() const override { return fn_.get().ptr(); }

 private:
  Held fn_;
};

// What a Function's backward returned.
Grads gradients_of(nb::handle result) {
  const nb::tuple list = nb::isinstance<nb::tuple>(result) ? nb::borrow<nb::tuple>(result) : nb::make_tuple(result);
  Grads grads;
  for (nb::handle item : list) {
    if (!item.is_none() && !is_tensor(item.ptr()))
      fail<GradientError>("expected a Tensor or None as a gradient (got {})", std::string(Py_TYPE(item.ptr())->tp_name));
    grads.push_back(item.is_none() ? TensorHandle() : unwrap(item.ptr()));
  }
  return grads;
}

// grad_fn.register_prehook and grad_fn.register_hook: what they return takes the place of the gradients.
class PythonNodeHook final : public NodeHook {
 public:
  PythonNodeHook(nb::object fn, bool before) : fn_(std::move(fn)), before_(before) {}
  void before(Grads& dy) override {
    if (!before_) return;
    const GilAcquire gil;
    replace(dy, fn_.get()(nb::steal(wrap(dy))));
  }
  void after(Grads& dx, const Grads& dy) override {
    if (before_) return;
    const GilAcquire gil;
    replace(dx, fn_.get()(nb::steal(wrap(dx)), nb::steal(wrap(dy))));
  }

 private:
  void replace(Grads& old, nb::handle result) const {
    if (result.is_none()) return;
    auto refuse = [](const char* expected, nb::handle got) {
      PyErr_Format(PyExc_TypeError, "expected %s, but hook returned '%s'", expected, Py_TYPE(got.ptr())->tp_name);
      throw nb::python_error();
    };
    if (!nb::isinstance<nb::tuple>(result)) refuse("a tuple", result);
    const nb::tuple fresh = nb::borrow<nb::tuple>(result);
    require<GradientError>(int64_t(fresh.size()) == old.size(),
        "hook '{}' has returned an incorrect number of values (got {}, but expected {})", name_of(fn_.get()), int64_t(fresh.size()),
        old.size());
    for (int64_t i = 0; i < old.size(); ++i) {
      const nb::object item = fresh[size_t(i)];
      if (item.is_none()) {
        old[i] = {};
        continue;
      }
      require<GradientError>(old[i].defined(), "can't replace a None gradient with a non-None value");
      if (!is_tensor(item.ptr())) refuse("a Tensor", item);
      check_hook_result(name_of(fn_.get()), old[i], unwrap(item.ptr()));
      old[i] = unwrap(item.ptr());
    }
  }
  Held fn_;
  bool before_;
};

// autograd.graph.saved_tensors_hooks.
class PythonSavedTensorHooks final : public SavedTensorHooks {
 public:
  PythonSavedTensorHooks(nb::object pack, nb::object unpack) : pack_(std::move(pack)), unpack_(std::move(unpack)) {}
  Ref<PackedTensor> pack(const TensorHandle& t) override {
    const GilAcquire gil;
    return Ref<PackedTensor>(new Packed(nb::borrow(unpack_.get()), pack_.get()(nb::cast(t))));
  }

 private:
  class Packed final : public PackedTensor {
   public:
    Packed(nb::object unpack, nb::object value) : unpack_(std::move(unpack)), value_(std::move(value)) {}
    TensorHandle unpack() const override {
      const GilAcquire gil;
      nb::object result = unpack_.get()(value_.get());
      if (is_tensor(result.ptr())) return unwrap(result.ptr());
      PyErr_Format(PyExc_TypeError, "the unpack hook of a saved tensor must return a Tensor: got %s", Py_TYPE(result.ptr())->tp_name);
      throw nb::python_error();
    }

   private:
    Held unpack_, value_;
  };
  Held pack_, unpack_;
};

struct NodeObject {
  Ref<Node> node;
};

// A tensor that a Function keeps while hooks on saved tensors are there.
struct KeptTensor {
  explicit KeptTensor(const TensorHandle& t) : saved(t), edge(edge_of(t)) {}
  TensorHandle unpack() const { return saved.unpack(edge); }
  SavedTensor saved;
  Edge edge;
};

// A node as an object of a class of its rule's name: programs that draw graphs print type(node).__name__.
nb::object node_object(const Ref<Node>& node) {
  if (!node) return nb::none();
  static PyObject* const classes = PyDict_New();
  const nb::str name(node->name().c_str());
  nb::object type = nb::borrow(PyDict_GetItem(classes, name.ptr()));
  const nb::object plain = nb::cast(NodeObject{node});
  if (!type.is_valid()) {
    type = nb::borrow(reinterpret_cast<PyObject*>(&PyType_Type))(name, nb::make_tuple(nb::type<NodeObject>()), nb::dict());
    if (PyDict_SetItem(classes, name.ptr(), type.ptr()) != 0) throw nb::python_error();
  }
  return type(plain);
}

Tensors tensors_of(nb::handle list) {
  Tensors result;
  for (nb::handle item : list) {
    if (!item.is_none() && !is_tensor(item.ptr())) {
      PyErr_Format(PyExc_TypeError, "expected tensors: got %s", Py_TYPE(item.ptr())->tp_name);
      throw nb::python_error();
    }
    result.push_back(item.is_none() ? TensorHandle() : unwrap(item.ptr()));
  }
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
    if (PyErr_CheckSignals() != 0) throw PythonInterrupt(nb::python_error());
  };
  set_warning_sink([](const std::string& message) {
    const GilAcquire gil;
    if (PyErr_WarnEx(PyExc_UserWarning, message.c_str(), 1) != 0) throw nb::python_error();
  });
  bind_modes(m);
  nb::class_<NodeObject>(m, "Node", "A node of the graph of recorded operations.")
      .def(nb::init<const NodeObject&>())
      .def(
          "name", [](const NodeObject& n) { return n.node->name(); }, "The name of the node's rule.")
      .def("__repr__", [](const NodeObject& n) { return "<" + n.node->name() + ">"; })
      .def_prop_ro(
          "next_functions",
          [](const NodeObject& n) {
            nb::list result;
            for (const Edge& e : n.node->edges) result.append(nb::make_tuple(node_object(e.node), e.output));
            return nb::tuple(result);
          },
          "The nodes that receive this node's gradients.")
      .def("_add_hook", [](const NodeObject& n, nb::object fn,
                            bool before) { return register_node_hook(n.node, make_ref<PythonNodeHook>(std::move(fn), before)); })
      .def("_remove_hook", [](const NodeObject& n, int64_t id) { remove_node_hook(n.node, id); })
      .def("_sequence_nr", [](const NodeObject& n) { return n.node->sequence; })
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
      "_set_grad",
      [](const TensorHandle& t, nb::handle g) {
        if (!g.is_none() && !is_tensor(g.ptr())) throw nb::type_error("assigned grad expected to be a Tensor or None");
        set_grad(t, g.is_none() ? TensorHandle() : nb::cast<TensorHandle>(g));
      },
      "t"_a, "g"_a.none());
  m.def("_requires_grad", [](const TensorHandle& t) { return wants_gradient(t); });
  m.def("_set_requires_grad", [](const TensorHandle& t, bool on) { set_requires_grad(t, on); });
  m.def("_is_leaf", [](const TensorHandle& t) { return is_leaf(t); });
  m.def("_base", [](const TensorHandle& t) { return is_view(t) ? history_of(t)->base : TensorHandle(); });
  m.def("_grad_fn", [](const TensorHandle& t) { return node_object(grad_fn(t)); });
  m.def("_gradient_edge", [](const TensorHandle& t) {
    const Edge e = edge_of(t);
    return nb::make_tuple(node_object(e.node), e.output);
  });
  m.def("_push_saved_tensor_hooks", [](nb::object pack, nb::object unpack) {
    saved_tensor_hooks().push_back(make_ref<PythonSavedTensorHooks>(std::move(pack), std::move(unpack)));
  });
  m.def("_pop_saved_tensor_hooks", [] {
    require<GradientError>(!saved_tensor_hooks().empty(), "there are no hooks on saved tensors to leave on this thread");
    saved_tensor_hooks().pop_back();
  });
  m.def("_has_saved_tensor_hooks", [] { return !saved_tensor_hooks().empty(); });
  nb::class_<KeptTensor>(m, "_KeptTensor").def(nb::init<const TensorHandle&>()).def("unpack", &KeptTensor::unpack);
  m.def("_increment_version", [](const TensorHandle& t) { t.storage()->bump_version(); });
  m.def("_current_pass", [] { return current_pass(); });
  m.def("_after_this_pass", [](nb::object then) {
    const auto held = std::make_shared<Held>(std::move(then));
    after_this_pass([held] {
      const GilAcquire gil;
      held->get()();
    });
  });
  m.def("_retain_grad", [](const TensorHandle& t) { retain_grad(t); });
  m.def("_check_hook_result", &check_hook_result);
  m.def("_retains_grad", [](const TensorHandle& t) { return retains_grad(t); });
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
    std::vector<bool> was_written;
    for (nb::handle w : written) was_written.push_back(nb::cast<bool>(w));
    const auto held = std::make_shared<Held>(std::move(backward));
    const auto call = [held](const Grads& dy) {
      const GilAcquire gil;
      return gradients_of(held->get()(nb::steal(wrap(dy))));
    };
    attach_function(name, tensors_of(inputs), tensors_of(outputs), call, was_written);
  });
  m.def("_set_parameter_class", [](nb::object type) { parameter_type = type.release().ptr(); });
}

}  // namespace pyburn::python
