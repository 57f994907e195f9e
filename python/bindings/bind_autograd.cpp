// Differentiation for Python: the Tensor class's autograd attributes, modes, hooks and custom functions.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "module_object.h"
#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/decorators/autodiff/function.h"
#include "pyburn/decorators/autodiff/gradient_cycles.h"
#include "pyburn/decorators/autodiff/history.h"
#include "pyburn/support/error.h"
#include "pyburn/support/interrupt.h"
#include "pyburn/support/log.h"
#include "pyburn/support/patient_lock.h"
#include "python_exception.h"
#include "tape_traverse.h"
#include "waits_inside.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pyburn::python {
namespace {

using namespace autograd;

using Held = HeldByTape;

std::string name_of(nb::handle function) {
  const GilAcquire gil;
  const nb::object name = nb::getattr(function, "__name__", nb::none());
  return nb::isinstance<nb::str>(name) ? nb::cast<std::string>(name) : Py_TYPE(function.ptr())->tp_name;
}

class PythonHook final : public Hook {
 public:
  explicit PythonHook(nb::object fn) : fn_(fn.release().ptr()) {}
  TensorHandle call(const TensorHandle& g) override {
    const GilAcquire gil;
    nb::object result = nb::handle(fn_.get())(nb::cast(g));
    if (result.is_none()) return {};
    if (!is_tensor(result.ptr())) {
      PyErr_Format(PyExc_TypeError, "a hook must return a Tensor or None: got %s", Py_TYPE(result.ptr())->tp_name);
      throw nb::python_error();
    }
    return unwrap(result.ptr());
  }
  std::string name() const override { return name_of(fn_.get()); }
  void visit_host(void (*visit)(void*, void*), void* with) const override { visit(fn_.get(), with); }

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
  PythonNodeHook(nb::object fn, bool before) : fn_(fn.release().ptr()), before_(before) {}
  void before(Grads& dy) override {
    if (!before_) return;
    const GilAcquire gil;
    replace(dy, nb::handle(fn_.get())(nb::steal(wrap(dy))));
  }
  void after(Grads& dx, const Grads& dy) override {
    if (before_) return;
    const GilAcquire gil;
    replace(dx, nb::handle(fn_.get())(nb::steal(wrap(dx)), nb::steal(wrap(dy))));
  }
  void visit_host(void (*visit)(void*, void*), void* with) const override { visit(fn_.get(), with); }

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
  PythonSavedTensorHooks(nb::object pack, nb::object unpack) : pack_(pack.release().ptr()), unpack_(unpack.release().ptr()) {}
  Ref<PackedTensor> pack(const TensorHandle& t) override {
    const GilAcquire gil;
    return Ref<PackedTensor>(new Packed(nb::borrow(unpack_.get()), nb::handle(pack_.get())(nb::cast(t))));
  }

 private:
  class Packed final : public PackedTensor {
   public:
    Packed(nb::object unpack, nb::object value) : unpack_(unpack.release().ptr()), value_(value.release().ptr()) {}
    TensorHandle unpack() const override {
      const GilAcquire gil;
      nb::object result = nb::handle(unpack_.get())(nb::handle(value_.get()));
      if (is_tensor(result.ptr())) return unwrap(result.ptr());
      PyErr_Format(PyExc_TypeError, "the unpack hook of a saved tensor must return a Tensor: got %s", Py_TYPE(result.ptr())->tp_name);
      throw nb::python_error();
    }

    void visit_host(void (*visit)(void*, void*), void* with) const override {
      visit(unpack_.get(), with);
      visit(value_.get(), with);
    }

   private:
    Held unpack_, value_;
  };
  Held pack_, unpack_;
};

// The backward of a Function.
class PythonFunction final : public HostReferences {
 public:
  explicit PythonFunction(nb::object fn) : fn_(fn.release().ptr()) {}
  Grads call(const Grads& dy) const {
    const GilAcquire gil;
    return gradients_of(nb::handle(fn_.get())(nb::steal(wrap(dy))));
  }
  void visit_host(void (*visit)(void*, void*), void* with) const override { visit(fn_.get(), with); }

 private:
  Held fn_;
};

// A node as an object of a class of its rule's name: programs that draw graphs print type(node).__name__. One at a time.
struct NodeObject {
  NodeObject(Ref<Node> n, PyObject* self) : node(std::move(n)), self(self) { node->host_object = self; }
  ~NodeObject() { forget(); }
  NodeObject(const NodeObject&) = delete;
  void forget() {
    if (node->host_object == self) node->host_object = nullptr;
  }
  Ref<Node> node;
  PyObject* self;
};

int traverse_node_object(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return nb::inst_ready(self) ? traverse_node(*nb::inst_ptr<NodeObject>(self)->node, visit, arg) : 0;
}
int clear_node_object(PyObject* self) {
  auto* n = nb::inst_ptr<NodeObject>(self);
  n->forget();
  n->node = make_ref<Overwrite>();  // a finaliser may still look at it
  return 0;
}

nb::object node_object(const Ref<Node>& node) {
  if (!node) return nb::none();
  if (auto* known = static_cast<PyObject*>(node->host_object); known && Py_REFCNT(known) > 0) return nb::borrow(known);
  static PyObject* const classes = PyDict_New();
  const nb::str name(node->name().c_str());
  nb::object type = nb::borrow(PyDict_GetItem(classes, name.ptr()));
  if (!type.is_valid()) {
    type = nb::borrow(reinterpret_cast<PyObject*>(&PyType_Type))(name, nb::make_tuple(nb::type<NodeObject>()), nb::dict());
    if (PyDict_SetItem(classes, name.ptr(), type.ptr()) != 0) throw nb::python_error();
  }
  nb::object made = nb::inst_alloc(type);
  new (nb::inst_ptr<NodeObject>(made)) NodeObject(node, made.ptr());
  nb::inst_mark_ready(made);
  return made;
}

// A tensor that a Function keeps for its backward pass in another form than that of a tensor: where hooks on saved tensors are there, and
// where it is a result of the Function, which leads to the Function and would keep it.
struct KeptTensor {
  explicit KeptTensor(const TensorHandle& t) : saved(t), edge(edge_of(t)) {}
  KeptTensor(const TensorHandle& t, Ref<WeakNode> function, int32_t output) : saved(t), function(std::move(function)), output(output) {}
  TensorHandle unpack() const { return saved.unpack(function ? Edge{function->lock(), output} : edge); }
  SavedTensor saved;
  Edge edge;
  Ref<WeakNode> function;
  int32_t output = 0;
};

int traverse_kept_tensor(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  const auto* kept = nb::inst_ptr<KeptTensor>(self);
  return traverse_held(kept->edge.node.get(), kept->saved.packed.get(), visit, arg);
}
int clear_kept_tensor(PyObject* self) {
  auto* kept = nb::inst_ptr<KeptTensor>(self);
  kept->edge = {};
  kept->saved = {};
  return 0;
}

struct WeakNodeObject {
  Ref<WeakNode> node;
};

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

// Cycles of gradients and graphs alone have no object in Python that the collector could find: they are freed after its collections, from
// the second generation on.
void free_gradient_cycles_with_garbage() {
  [[maybe_unused]] static const bool once = [] {
    nb::module_::import_("gc").attr("callbacks").attr("append")(nb::cpp_function([](std::string_view phase, nb::dict about) {
      if (phase == "stop" && nb::cast<int>(about["generation"]) > 0 && threads_without_gil.load() == 0) free_gradient_cycles();
    }));
    return true;
  }();
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
      "Returns whether operations are recorded on this thread.\n\n>>> pyburn.is_grad_enabled()\nTrue");
  m.def(
      "is_inference_mode_enabled", [] { return modes().inference; },
      "Returns whether this thread is in inference mode.\n\n>>> pyburn.is_inference_mode_enabled()\nFalse");
  m.def(
      "is_anomaly_enabled", [] { return modes().anomaly; },
      "Returns whether anomaly detection is on.\n\n>>> pyburn.is_anomaly_enabled()\nFalse");
  m.def("_set_modes", [](bool grad, bool inference, bool anomaly) { modes() = {grad, inference, anomaly}; });
  m.def("_get_modes", [] { return nb::make_tuple(modes().grad, modes().inference, modes().anomaly); });
}

}  // namespace

void bind_autograd(nb::module_& m) {
  describe_caller = python_stack;
  watch_replacements();
  while_waiting = [](void (*wait)(void*), void* on) {  // the thread that holds the lock may need the GIL
    const bool has_gil = PyGILState_Check();
    const WaitsInside inside(has_gil);
    const GilRelease released(has_gil);
    wait(on);
  };
  poll_interrupt = [] {
    {  // for other threads, where this one keeps the lock while it works
      const bool has_gil = PyGILState_Check();
      const WaitsInside inside(has_gil);
      const GilRelease turn(has_gil);
    }
    const GilAcquire gil;
    drain_released();
    if (PyErr_CheckSignals() != 0) throw PythonInterrupt(nb::python_error());
  };
  set_warning_sink([](const std::string& message) {
    const GilAcquire gil;
    if (PyErr_WarnEx(PyExc_UserWarning, message.c_str(), 1) != 0) throw nb::python_error();
  });
  bind_modes(m);
  static PyType_Slot node_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse_node_object)},
      {Py_tp_clear, reinterpret_cast<void*>(clear_node_object)}, {0, nullptr}};
  nb::class_<NodeObject>(m, "Node", nb::type_slots(node_slots), "A node of the autograd graph.")
      .def(
          "name", [](const NodeObject& n) { return n.node->name(); }, "The name of the node, as in PyTorch: AddBackward0.")
      .def("__repr__", [](const NodeObject& n) { return "<" + n.node->name() + ">"; })
      .def_prop_ro(
          "next_functions",
          [](const NodeObject& n) {
            nb::list result;
            for (const Edge& e : n.node->edges) result.append(nb::make_tuple(node_object(e.node), e.output));
            return nb::tuple(result);
          },
          "The nodes that receive this node's gradients, with the index of their output.")
      .def("_add_hook", [](const NodeObject& n, nb::object fn,
                            bool before) { return register_node_hook(n.node, make_ref<PythonNodeHook>(std::move(fn), before)); })
      .def("_remove_hook", [](const NodeObject& n, int64_t id) { remove_node_hook(n.node, id); })
      .def("_sequence_nr", [](const NodeObject& n) { return n.node->sequence; })
      .def("__eq__", [](const NodeObject& a, const NodeObject& b) { return a.node == b.node; })
      .def("__hash__", [](const NodeObject& n) { return reinterpret_cast<uintptr_t>(n.node.get()) >> 4; });

  m.def("_backward", [](nb::handle tensors, nb::handle gradients, bool retain_graph, bool create_graph, nb::handle inputs) {
    const Tensors roots = tensors_of(tensors), leaves = tensors_of(inputs);
    const Grads g = tensors_of(gradients);
    if (create_graph) free_gradient_cycles_with_garbage();
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
        const TensorHandle gradient = g.is_none() ? TensorHandle() : nb::cast<TensorHandle>(g);
        if (gradient.defined() && wants_gradient(gradient)) free_gradient_cycles_with_garbage();
        set_grad(t, gradient);
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
    require<GradientError>(!saved_tensor_hooks().empty(), "no saved-tensor hooks are active on this thread");
    saved_tensor_hooks().pop_back();
  });
  m.def("_has_saved_tensor_hooks", [] { return !saved_tensor_hooks().empty(); });
  static PyType_Slot kept_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse_kept_tensor)},
      {Py_tp_clear, reinterpret_cast<void*>(clear_kept_tensor)}, {0, nullptr}};
  nb::class_<WeakNodeObject>(m, "_WeakNode");
  nb::class_<KeptTensor>(m, "_KeptTensor", nb::type_slots(kept_slots))
      .def(nb::init<const TensorHandle&>())
      .def("__init__", [](KeptTensor* self, const TensorHandle& t, const WeakNodeObject& f,
                           int32_t output) { new (self) KeptTensor(t, f.node, output); })
      .def("unpack", &KeptTensor::unpack);
  m.def("_increment_version", [](const TensorHandle& t) { t.storage()->bump_version(); });
  m.def("_current_pass", [] { return current_pass(); });
  m.def("_after_this_pass", [](nb::object then) {
    const auto held = std::make_shared<Held>(then.release().ptr());
    after_this_pass([held] {
      const GilAcquire gil;
      nb::handle(held->get())();
    });
  });
  m.def("_at_end_of_this_pass", [](nb::object then) {
    const auto held = std::make_shared<Held>(then.release().ptr());
    at_end_of_this_pass([held] {
      const GilAcquire gil;
      const Object result(PyObject_CallNoArgs(held->get()));
      if (!result) PyErr_WriteUnraisable(held->get());
    });
  });
  m.def("_retain_grad", [](const TensorHandle& t) { retain_grad(t); });
  m.def("_check_hook_result", &check_hook_result);
  m.def("_retains_grad", [](const TensorHandle& t) { return retains_grad(t); });
  m.def("_detach_in_place", [](const TensorHandle& t) {
    wait_until_unused(t, "detach_");
    detach_in_place(t);
  });
  m.def("_data", [](const TensorHandle& t) { return data_of(t); });
  m.def(
      "_set_data",
      [](const TensorHandle& t, nb::handle value) {
        if (!is_tensor(value.ptr())) type_error("[data] expected a Tensor: got " + type_text(value.ptr()));
        wait_until_unused(t, "data");
        set_data(t, unwrap(value.ptr()));
      },
      nb::arg(), nb::arg().none());
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
    const auto held = make_ref<PythonFunction>(std::move(backward));
    const auto call = [python = held.get()](const Grads& dy) { return python->call(dy); };  // the node holds both
    return WeakNodeObject{attach_function(name, tensors_of(inputs), tensors_of(outputs), call, was_written, held)};
  });
  m.def("_set_parameter_class", [](nb::object type) { parameter_type = type.release().ptr(); });
}

}  // namespace pyburn::python
