// TensorImpl::py is null, a live TensorObject (borrowed), or a sleeping one: nothing references it, but its memory, class and attributes
// are kept for the next access, so that a parameter keeps its id(). The lowest bit distinguishes the last two.
#pragma once
#include "tensor_object.h"

namespace pyburn::python {

inline bool is_asleep(void* py) { return reinterpret_cast<uintptr_t>(py) & 1; }
inline PyObject* sleeper(void* py) { return reinterpret_cast<PyObject*>(reinterpret_cast<uintptr_t>(py) & ~uintptr_t(1)); }
inline void* asleep(PyObject* self) { return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(self) | 1); }

}  // namespace pyburn::python
