// The Python class Tensor, implemented with the C API because every operation creates one.
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
extern PyObject* parameter_type;   // pyburn.nn.Parameter, set when that module is imported

inline bool is_tensor(PyObject* p) { return Py_TYPE(p) == tensor_type || PyObject_TypeCheck(p, tensor_type); }
inline TensorHandle& unwrap(PyObject* p) { return reinterpret_cast<TensorObject*>(p)->handle; }

// The Python object of a tensor: the same one while the tensor lives, with its class and attributes. None if undefined.
PyObject* wrap(const TensorHandle& t);
PyObject* wrap(TensorHandle&& t);   // a result: the object takes over the reference
PyObject* wrap(const Tensors& ts);  // a tuple
// A new object of class `type` for a tensor that has none yet.
PyObject* wrap_as(PyTypeObject* type, TensorHandle t);

bool make_tensor_type(PyObject* module);  // false: a Python error is set
extern const PyType_Slot tensor_number_slots[];

}  // namespace pyburn::python
