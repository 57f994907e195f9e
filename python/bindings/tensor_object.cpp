#include "tensor_object.h"

#include <structmember.h>

#include <utility>
#include <vector>

#include "arguments.h"
#include "pyburn/ops/generated/fill.h"
#include "tape_traverse.h"
#include "tensor_sleep.h"

namespace pyburn::python {

PyTypeObject* tensor_type = nullptr;
PyObject* parameter_type = nullptr;

namespace {

TensorObject* as_tensor(PyObject* p) { return reinterpret_cast<TensorObject*>(p); }
void forget_python(void* py) {
  if (!is_asleep(py)) return;
  if (as_tensor(sleeper(py))->dict) count_reachable_through_tape(-1);
  Py_SET_REFCNT(sleeper(py), 1);  // awake, without a tensor, to be deallocated under the GIL
  release_later(sleeper(py));
}

PyObject* wake(const TensorHandle& t) {
  PyObject* self = sleeper(t.impl()->py);
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Init(self, type);
  Py_DECREF(type);  // the sleeper has held it
  new (&as_tensor(self)->handle) TensorHandle(t);
  t.impl()->py = self;
  if (as_tensor(self)->dict) count_reachable_through_tape(-1);
  PyObject_GC_Track(self);
  return self;
}

// Objects of dead tensors, for the next ones: every operation makes one. Guarded by the GIL.
constexpr int kSpareObjects = 64;
PyObject* spare_objects[kSpareObjects];
int spare_count = 0;

PyObject* allocate(PyTypeObject* type) {
  if (type != tensor_type || spare_count == 0) return type->tp_alloc(type, 0);
  PyObject* self = PyObject_Init(spare_objects[--spare_count], type);
  as_tensor(self)->dict = as_tensor(self)->weakrefs = nullptr;
  PyObject_GC_Track(self);
  return self;
}
void release(PyObject* self, PyTypeObject* type) {
  if (type == tensor_type && spare_count < kSpareObjects) spare_objects[spare_count++] = self;
  else type->tp_free(self);
  Py_DECREF(type);
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  TensorObject* t = as_tensor(self);
  if (t->weakrefs) PyObject_ClearWeakRefs(self);
  if (TensorImpl* impl = t->handle.impl()) {
    if (t->dict && PyDict_GET_SIZE(t->dict) == 0) Py_CLEAR(t->dict);
    const bool sleeps = impl->use_count() > 1 && (t->dict || type != tensor_type);  // C++ still holds the tensor
    impl->py = sleeps ? asleep(self) : nullptr;
    if (sleeps) {
      if (t->dict) count_reachable_through_tape(1);
      t->weakrefs = nullptr;
      TensorHandle given_up = std::exchange(t->handle, TensorHandle());
      return;
    }
  }
  Py_CLEAR(t->dict);
  t->handle.~TensorHandle();
  release(self, type);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(as_tensor(self)->dict);
  return traverse_tensor(as_tensor(self)->handle, visit, arg);
}
int clear(PyObject* self) {
  Py_CLEAR(as_tensor(self)->dict);
  // What others hold too stays as it is. The elements stay in any case: a finaliser may still look at them.
  TensorImpl* impl = as_tensor(self)->handle.impl();
  if (impl && impl->use_count() == 1) std::exchange(impl->autograd, nullptr);
  return 0;
}

// Sizes: Tensor(2, 3), Tensor(x.shape).
bool are_sizes(PyObject* args) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i)
    if (!PyLong_CheckExact(PyTuple_GET_ITEM(args, i))) return PyTuple_GET_SIZE(args) == 1 && is_size(PyTuple_GET_ITEM(args, 0));
  return true;
}

// Tensor(data) and Tensor(2, 3), in the default dtype, as older PyTorch code makes tensors; subclasses in Python call
// Tensor.__new__(cls, tensor).
PyObject* create(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  const Py_ssize_t count = PyTuple_GET_SIZE(args);
  if (type == tensor_type && ((count > 1 && !are_sizes(args)) || keywords)) {  // subclasses may have parameters of their own
    PyErr_SetString(PyExc_TypeError, "Tensor() takes data or sizes; pyburn.tensor(data, dtype=..., device=...) takes more");
    return nullptr;
  }
  if (count >= 1 && is_tensor(PyTuple_GET_ITEM(args, 0))) {
    const TensorHandle& source = unwrap(PyTuple_GET_ITEM(args, 0));
    return wrap_as(type, alias(source, source.layout()));
  }
  Object made;
  try {
    if (are_sizes(args)) made = Object(wrap(fn::empty(count ? to_dims(args) : Dims{0})));
    else made = Object(tensor_from_data(PyTuple_GET_ITEM(args, 0), default_dtype(), nullptr));
  } catch (...) {
    set_python_error();
    return nullptr;
  }
  if (!made || type == tensor_type) return made.release();
  const TensorHandle& source = unwrap(made.get());
  return wrap_as(type, alias(source, source.layout()));
}

PyMemberDef members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(TensorObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

}  // namespace

PyObject* wrap_as(PyTypeObject* type, TensorHandle t) {
  PyObject* self = allocate(type);
  if (!self) return nullptr;
  t.impl()->py = self;
  new (&as_tensor(self)->handle) TensorHandle(std::move(t));
  return self;
}

PyObject* wrap(const TensorHandle& t) {
  if (!t.defined()) Py_RETURN_NONE;
  TensorImpl* impl = t.impl();
  if (!impl->py) return wrap(TensorHandle(t));
  return is_asleep(impl->py) ? wake(t) : Py_NewRef(static_cast<PyObject*>(impl->py));
}

PyObject* wrap(TensorHandle&& t) {
  if (!t.defined() || t.impl()->py) return wrap(std::as_const(t));
  const bool parameter = t.has(Flag::parameter) && parameter_type;
  return wrap_as(parameter ? reinterpret_cast<PyTypeObject*>(parameter_type) : tensor_type, std::move(t));
}

PyObject* wrap(const Tensors& ts) {
  PyObject* tuple = PyTuple_New(Py_ssize_t(ts.size()));
  for (int64_t i = 0; tuple && i < ts.size(); ++i) PyTuple_SET_ITEM(tuple, Py_ssize_t(i), wrap(ts[i]));
  return tuple;
}

bool make_tensor_type(PyObject* module) {
  TensorImpl::forget_python = forget_python;
  std::vector<PyType_Slot> slots = {
      {Py_tp_doc, const_cast<char*>("A multi-dimensional array with a dtype, a device and, if required, a gradient.")},
      {Py_tp_new, reinterpret_cast<void*>(create)},
      {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
      {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
      {Py_tp_clear, reinterpret_cast<void*>(clear)},
      {Py_tp_members, members},
      {Py_tp_getset, tensor_attributes()},
      {Py_tp_methods, tensor_methods()},
      {Py_tp_richcompare, reinterpret_cast<void*>(tensor_compare)},
      {Py_tp_hash, reinterpret_cast<void*>(+[](PyObject* self) { return Py_hash_t(reinterpret_cast<uintptr_t>(self) >> 4); })},
  };
  for (const PyType_Slot* more : {tensor_number_slots, tensor_protocol_slots, tensor_index_slots, tensor_buffer_slots})
    for (; more->slot; ++more) slots.push_back(*more);
  slots.push_back({0, nullptr});
  PyType_Spec spec = {
      "pyburn.Tensor", int(sizeof(TensorObject)), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots.data()};
  tensor_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return tensor_type && PyModule_AddObjectRef(module, "Tensor", reinterpret_cast<PyObject*>(tensor_type)) == 0 && add_functions(module);
}

}  // namespace pyburn::python
