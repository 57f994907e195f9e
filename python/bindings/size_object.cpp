// pyburn.Size: a tuple of sizes that counts elements and keeps its class when it is sliced or concatenated.
#include "arguments.h"
#include "printed_package.h"

namespace pyburn::python {
namespace {

PyTypeObject* size_type = nullptr;

// A result of one of tuple's own methods, as a Size.
PyObject* as_size(PyObject* owned) {
  if (!owned || !PyTuple_CheckExact(owned)) return owned;
  const Object tuple(owned);
  const Py_ssize_t n = PyTuple_GET_SIZE(owned);
  PyObject* size = size_type->tp_alloc(size_type, n);
  for (Py_ssize_t i = 0; size && i < n; ++i) PyTuple_SET_ITEM(size, i, Py_NewRef(PyTuple_GET_ITEM(owned, i)));
  return size;
}

// Extents are integers, as in x.shape.
PyObject* create(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject* given = nullptr;
  if (!PyArg_UnpackTuple(args, "Size", 0, 1, &given)) return nullptr;
  try {
    const Object list(given ? PySequence_List(given) : PyList_New(0));
    if (!list) return nullptr;
    const Py_ssize_t n = PyList_GET_SIZE(list.get());
    Object size = checked(type->tp_alloc(type, n));
    for (Py_ssize_t i = 0; i < n; ++i) PyTuple_SET_ITEM(size.get(), i, checked(PyNumber_Index(PyList_GET_ITEM(list.get(), i))).release());
    return size.release();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

PyObject* represent(PyObject* self) {
  const Object list(PySequence_List(self));
  return list ? PyUnicode_FromFormat("%s.Size(%R)", printed_package().c_str(), list.get()) : nullptr;
}
PyObject* subscript(PyObject* self, PyObject* key) { return as_size(PyTuple_Type.tp_as_mapping->mp_subscript(self, key)); }
PyObject* concatenate(PyObject* a, PyObject* b) {
  PyObject* joined = PyTuple_Type.tp_as_sequence->sq_concat(a, b);
  if (joined == a || joined == b) return joined;
  return as_size(joined);
}
PyObject* repeat(PyObject* self, Py_ssize_t n) { return as_size(PyTuple_Type.tp_as_sequence->sq_repeat(self, n)); }

PyObject* numel(PyObject* self, PyObject*) {
  Object product(PyLong_FromLong(1));
  for (Py_ssize_t i = 0; product && i < PyTuple_GET_SIZE(self); ++i)
    product = Object(PyNumber_Multiply(product.get(), PyTuple_GET_ITEM(self, i)));
  return product.release();
}
PyObject* reduce(PyObject* self, PyObject*) {
  const Object list(PySequence_List(self));
  return list ? Py_BuildValue("(O(O))", size_type, list.get()) : nullptr;
}

PyMethodDef methods[] = {
    {"numel", numel, METH_NOARGS, "The number of elements of a tensor of this size."},
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool is_size(PyObject* p) { return PyObject_TypeCheck(p, size_type); }

PyObject* make_size(const Dims& d) {
  PyObject* size = size_type->tp_alloc(size_type, Py_ssize_t(d.size()));
  for (int64_t i = 0; size && i < d.size(); ++i) PyTuple_SET_ITEM(size, Py_ssize_t(i), PyLong_FromLongLong(d[i]));
  return size;
}

bool make_size_type(PyObject* module) {
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("The extents of a tensor: a tuple of integers.")},
      {Py_tp_new, reinterpret_cast<void*>(create)},
      {Py_tp_repr, reinterpret_cast<void*>(represent)},
      {Py_tp_methods, methods},
      {Py_mp_subscript, reinterpret_cast<void*>(subscript)},
      {Py_sq_concat, reinterpret_cast<void*>(concatenate)},
      {Py_sq_repeat, reinterpret_cast<void*>(repeat)},
      {0, nullptr},
  };
  PyType_Spec spec = {"pyburn.Size", 0, 0, Py_TPFLAGS_DEFAULT, slots};
  const Object bases(PyTuple_Pack(1, &PyTuple_Type));
  size_type = bases ? reinterpret_cast<PyTypeObject*>(PyType_FromSpecWithBases(&spec, bases.get())) : nullptr;
  return size_type && PyModule_AddObjectRef(module, "Size", reinterpret_cast<PyObject*>(size_type)) == 0;
}

}  // namespace pyburn::python
