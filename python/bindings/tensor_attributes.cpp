// Attributes and hand-written methods of the Tensor class. What needs no C++ is added in python/pyburn/tensor.
#include <cstring>

#include "objects.h"
#include "pyburn/ops/copy.h"
#include "pyburn/ops/functions.h"

namespace nb = nanobind;

namespace pyburn::python {
namespace {

// fn(tensor) -> PyObject*, with exceptions translated.
template <auto fn>
PyObject* getter(PyObject* self, void*) {
  try {
    return fn(unwrap(self));
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}
template <auto fn>
PyObject* method(PyObject* self, PyObject*) {
  return getter<fn>(self, nullptr);
}

PyObject* dims_tuple(const Dims& d) {
  PyObject* t = PyTuple_New(Py_ssize_t(d.size()));
  for (int64_t i = 0; t && i < d.size(); ++i) PyTuple_SET_ITEM(t, Py_ssize_t(i), PyLong_FromLongLong(d[i]));
  return t;
}

PyObject* size_class = nullptr;  // pyburn.Size, a tuple with torch.Size's extras

PyObject* shape(const TensorHandle& t) {
  Object tuple = checked(dims_tuple(t.shape()));
  return size_class ? PyObject_CallOneArg(size_class, tuple.get()) : tuple.release();
}
PyObject* stride(const TensorHandle& t) { return dims_tuple(t.strides()); }
PyObject* dtype(const TensorHandle& t) { return dtype_object(t.dtype()).release().ptr(); }
PyObject* device(const TensorHandle& t) { return device_object(t.device()).release().ptr(); }
PyObject* ndim(const TensorHandle& t) { return PyLong_FromLong(t.rank()); }
PyObject* numel(const TensorHandle& t) { return PyLong_FromLongLong(t.numel()); }
PyObject* itemsize(const TensorHandle& t) { return PyLong_FromLongLong(size_of(t.dtype())); }
PyObject* offset(const TensorHandle& t) { return PyLong_FromLongLong(t.layout().offset); }
PyObject* version(const TensorHandle& t) { return PyLong_FromUnsignedLong(t.storage()->version()); }
PyObject* is_contiguous(const TensorHandle& t) { return PyBool_FromLong(t.layout().is_contiguous()); }
PyObject* data_ptr(const TensorHandle& t) {
  const auto base = reinterpret_cast<uintptr_t>(t.storage()->host);
  return PyLong_FromUnsignedLongLong(base ? base + uintptr_t(t.layout().offset * size_of(t.dtype())) : 0);
}
PyObject* storage_id(const TensorHandle& t) { return PyLong_FromVoidPtr(t.storage()); }
PyObject* transposed(const TensorHandle& t) {
  Dims order;
  for (int i = t.rank() - 1; i >= 0; --i) order.push_back(i);
  return wrap(permute(t, order));
}
PyObject* matrix_transposed(const TensorHandle& t) { return wrap(transpose(t, -2, -1)); }

PyObject* length(const TensorHandle& t) {
  if (t.rank() == 0) {
    PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor");
    return nullptr;
  }
  return PyLong_FromLongLong(t.shape()[0]);
}

// Elements in plain order as bytes: what numpy, pickle and printing are made of.
PyObject* download(const TensorHandle& t) {
  Object bytes = checked(PyBytes_FromStringAndSize(nullptr, Py_ssize_t(t.numel() * size_of(t.dtype()))));
  HostArray host{PyBytes_AS_STRING(bytes.get()), t.meta()};
  {
    const GilRelease released;
    t.device().backend().download(t, host);
  }
  return bytes.release();
}

PyObject* item(const TensorHandle& t) {
  if (t.numel() != 1) {
    PyErr_Format(PyExc_RuntimeError, "a Tensor with %lld elements cannot be converted to a number", (long long)(t.numel()));
    return nullptr;
  }
  const DType wide = is_floating(t.dtype()) ? DType::float64 : t.dtype() == DType::uint64 ? DType::uint64 : DType::int64;
  const Tensor plain = detach(t);
  const Tensor w = t.dtype() == wide ? plain : cast(plain, wide);
  int64_t bits = 0;
  HostArray host{&bits, w.meta()};
  w.device().backend().download(w, host);
  if (wide == DType::float64) {
    double d;
    std::memcpy(&d, &bits, 8);
    return PyFloat_FromDouble(d);
  }
  if (t.dtype() == DType::boolean) return PyBool_FromLong(bits != 0);
  return wide == DType::uint64 ? PyLong_FromUnsignedLongLong(uint64_t(bits)) : PyLong_FromLongLong(bits);
}

PyObject* copy_(PyObject* self, PyObject* source) {
  try {
    if (!is_tensor(source)) {
      PyErr_Format(PyExc_TypeError, "[copy_] argument 'src' must be a Tensor: got %s", Py_TYPE(source)->tp_name);
      return nullptr;
    }
    const TensorHandle &x = unwrap(self), &y = unwrap(source);
    {
      const GilRelease released(x.numel() >= (1 << 16));
      copy_into(x, y);
    }
    return Py_NewRef(self);
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

PyObject* set_size_class(PyObject*, PyObject* type) {
  Py_XSETREF(size_class, Py_NewRef(type));
  Py_RETURN_NONE;
}

}  // namespace

PyGetSetDef* tensor_attributes() {
  static PyGetSetDef list[] = {
      {"shape", getter<shape>, nullptr, "The extents, a tuple.", nullptr},
      {"dtype", getter<dtype>, nullptr, "The element type.", nullptr},
      {"device", getter<device>, nullptr, "The stack of backends that holds the elements.", nullptr},
      {"ndim", getter<ndim>, nullptr, "The number of axes.", nullptr},
      {"itemsize", getter<itemsize>, nullptr, "Bytes per element.", nullptr},
      {"T", getter<transposed>, nullptr, "The axes in reverse order; a view.", nullptr},
      {"mT", getter<matrix_transposed>, nullptr, "The last two axes exchanged; a view.", nullptr},
      {"_version", getter<version>, nullptr, "How often the storage was written in place.", nullptr},
      {"_storage_id", getter<storage_id>, nullptr, "Equal for tensors that share memory.", nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr},
  };
  return list;
}

PyMethodDef* tensor_methods() {
  static PyMethodDef list[] = {
      {"stride", method<stride>, METH_NOARGS, "Distance of neighbours along each axis, in elements."},
      {"dim", method<ndim>, METH_NOARGS, "The number of axes."},
      {"numel", method<numel>, METH_NOARGS, "The number of elements."},
      {"element_size", method<itemsize>, METH_NOARGS, "Bytes per element."},
      {"storage_offset", method<offset>, METH_NOARGS, "Position of the first element in the storage."},
      {"is_contiguous", method<is_contiguous>, METH_NOARGS, "Do the elements lie in plain order, without holes?"},
      {"data_ptr", method<data_ptr>, METH_NOARGS, "Address of the first element; 0 where there is no host memory."},
      {"item", method<item>, METH_NOARGS, "The one element as a Python number."},
      {"copy_", copy_, METH_O, "Overwrites the elements with those of another tensor, which is broadcast and converted."},
      {"_download", method<download>, METH_NOARGS, "The elements in plain order, as bytes."},
      {"__len__", method<length>, METH_NOARGS, nullptr},
      {"_set_size_class", set_size_class, METH_O | METH_STATIC, nullptr},
      {nullptr, nullptr, 0, nullptr},
  };
  return list;
}

}  // namespace pyburn::python
