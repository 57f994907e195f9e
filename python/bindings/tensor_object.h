// The Python class Tensor, written by hand on the C API: it is what every operation makes.
#pragma once
#include "pyburn/runtime/run.h"
#include "python_api.h"

namespace pyburn {
class Generator;
class Tensor;
}  // namespace pyburn

namespace pyburn::python {

struct TensorObject {
  PyObject_HEAD TensorHandle handle;
  PyObject* dict;
  PyObject* weakrefs;
};

extern PyTypeObject* tensor_type;  // pyburn.Tensor
extern PyObject* parameter_type;   // pyburn.nn.Parameter, set when that module is loaded

inline bool is_tensor(PyObject* p) { return Py_TYPE(p) == tensor_type || PyObject_TypeCheck(p, tensor_type); }
inline TensorHandle& unwrap(PyObject* p) { return reinterpret_cast<TensorObject*>(p)->handle; }

// The Python object of a tensor: the same one while it lives; its class and attributes survive it. None if undefined.
PyObject* wrap(const TensorHandle& t);
PyObject* wrap(TensorHandle&& t);   // a result: the object takes the reference over
PyObject* wrap(const Tensors& ts);  // a tuple
// A fresh object of class `type` for a tensor that has none yet.
PyObject* wrap_as(PyTypeObject* type, TensorHandle t);

bool make_tensor_type(PyObject* module);  // false: a Python error is set
extern const PyType_Slot tensor_number_slots[];

}  // namespace pyburn::python
