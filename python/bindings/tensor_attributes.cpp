// Attributes and hand-written methods of the Tensor class. What needs no C++ is added in python/pyburn/tensor.
#include <cstring>

#include "objects.h"
#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/ops/copy.h"
#include "pyburn/ops/generated/axes.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/runtime/transfer.h"

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

PyObject* shape(const TensorHandle& t) { return make_size(t.shape()); }
PyObject* dtype(const TensorHandle& t) { return dtype_object(t.dtype()).release().ptr(); }
PyObject* device(const TensorHandle& t) { return device_object(t.device()).release().ptr(); }
PyObject* ndim(const TensorHandle& t) { return PyLong_FromLong(t.rank()); }
PyObject* numel(const TensorHandle& t) { return PyLong_FromLongLong(t.numel()); }
PyObject* itemsize(const TensorHandle& t) { return PyLong_FromLongLong(size_of(t.dtype())); }
PyObject* offset(const TensorHandle& t) { return PyLong_FromLongLong(t.layout().offset); }
PyObject* version(const TensorHandle& t) { return PyLong_FromUnsignedLong(t.storage()->version()); }
PyObject* is_contiguous(const TensorHandle& t) { return PyBool_FromLong(t.layout().is_contiguous()); }
PyObject* is_contiguous_in(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  try {
    const TensorHandle& t = unwrap(self);
    const Py_ssize_t given = nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    if (given == 0) return is_contiguous(t);
    if (given > 1 || (kwnames && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, 0), "memory_format") != 0)) {
      PyErr_SetString(PyExc_TypeError, "expected one argument at most: memory_format");
      return nullptr;
    }
    return PyBool_FromLong(is_in_order(t.layout(), to_memory_order(args[0])));
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}
PyObject* is_floating_point(const TensorHandle& t) { return PyBool_FromLong(is_floating(t.dtype())); }
PyObject* has_sign(const TensorHandle& t) { return PyBool_FromLong(is_floating(t.dtype()) || is_signed_integer(t.dtype())); }
PyObject* is_parameter(const TensorHandle& t) { return PyBool_FromLong(t.has(Flag::parameter)); }
PyObject* bytes(const TensorHandle& t) { return PyLong_FromLongLong(bytes_of(t.dtype(), t.numel())); }
PyObject* data_ptr(const TensorHandle& t) {
  t.storage()->exposed = true;
  const auto base = reinterpret_cast<uintptr_t>(t.storage()->host);
  return PyLong_FromUnsignedLongLong(base ? base + uintptr_t(t.layout().offset * size_of(t.dtype())) : 0);
}
PyObject* storage_id(const TensorHandle& t) { return PyLong_FromVoidPtr(t.storage()); }
PyObject* storage_bytes(const TensorHandle& t) { return PyLong_FromLongLong(t.storage()->bytes); }
PyObject* transposed(const TensorHandle& t) {
  Dims order;
  for (int i = t.rank() - 1; i >= 0; --i) order.push_back(i);
  return wrap(fn::permute(t, order));
}
PyObject* matrix_transposed(const TensorHandle& t) { return wrap(t.rank() ? fn::transpose(t, -2, -1) : TensorHandle(t)); }
PyObject* conjugate_transposed(const TensorHandle& t) {
  require(t.rank() == 2 || t.rank() == 0, "[H] expected a matrix: got {}", t.shape());
  return wrap(t.rank() ? fn::transpose(t, 0, 1) : TensorHandle(t));
}
PyObject* matrix_adjoint(const TensorHandle& t) { return wrap(t.rank() ? fn::adjoint(t) : TensorHandle(t)); }

// size(), size(dim), stride(), stride(dim): all of them, or one.
template <auto all>
PyObject* all_or_one(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  try {
    const TensorHandle& t = unwrap(self);
    if (nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0) == 0) return all(t, -1);
    auto names_dim = [](PyObject* name) {
      return PyUnicode_CompareWithASCIIString(name, "dim") == 0 || PyUnicode_CompareWithASCIIString(name, "axis") == 0;
    };
    if (nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0) > 1 || (kwnames && !names_dim(PyTuple_GET_ITEM(kwnames, 0)))) {
      PyErr_SetString(PyExc_TypeError, "expected one argument at most: dim");
      return nullptr;
    }
    if (args[0] == Py_None) return all(t, -1);
    Object index = checked(PyNumber_Index(args[0]));
    const int64_t dim = PyLong_AsLongLong(index.get());
    if (dim == -1 && PyErr_Occurred()) return nullptr;
    return all(t, normalise_dim(dim, t.rank()));
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}
PyObject* size(const TensorHandle& t, int dim) { return dim < 0 ? make_size(t.shape()) : PyLong_FromLongLong(t.shape()[dim]); }
PyObject* stride(const TensorHandle& t, int dim) { return dim < 0 ? dims_tuple(t.strides()) : PyLong_FromLongLong(t.strides()[dim]); }

// Contiguous elements as bytes: used by numpy, pickle and printing.
PyObject* download(const TensorHandle& t) {
  Object bytes = checked(PyBytes_FromStringAndSize(nullptr, Py_ssize_t(bytes_of(t.dtype(), t.numel()))));
  HostArray host{PyBytes_AS_STRING(bytes.get()), t.meta()};
  {
    const ComputesWith released(true, t);
    to_host(t, host);
  }
  return bytes.release();
}

}  // namespace

PyObject* item_of(const TensorHandle& t) {
  if (t.numel() != 1) {
    PyErr_Format(PyExc_RuntimeError, "a Tensor with %lld elements cannot be converted to a number", (long long)(t.numel()));
    return nullptr;
  }
  const DType wide = is_floating(t.dtype()) ? DType::float64 : t.dtype() == DType::uint64 ? DType::uint64 : DType::int64;
  const TensorHandle plain = where_float64_is(fn::detach(t));
  const TensorHandle w = t.dtype() == wide ? plain : fn::cast(plain, wide);
  int64_t bits = 0;
  HostArray host{&bits, w.meta()};
  to_host(w, host);
  if (wide == DType::float64) {
    double d;
    std::memcpy(&d, &bits, 8);
    return PyFloat_FromDouble(d);
  }
  if (t.dtype() == DType::boolean) return PyBool_FromLong(bits != 0);
  return wide == DType::uint64 ? PyLong_FromUnsignedLongLong(uint64_t(bits)) : PyLong_FromLongLong(bits);
}

namespace {

PyObject* copy_(PyObject* self, PyObject* source) {
  try {
    if (!is_tensor(source)) {
      PyErr_Format(PyExc_TypeError, "[copy_] argument 'src' must be a Tensor: got %s", Py_TYPE(source)->tp_name);
      return nullptr;
    }
    const TensorHandle &x = unwrap(self), &y = unwrap(source);
    {
      const ComputesWith released(x.numel() >= (1 << 16), x, y);
      copy_into(x, autograd::move_recorded(x.device(), y));
    }
    return Py_NewRef(self);
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

// Each of two objects becomes the other tensor: how an object keeps its place in lists and attributes when its shape changes.
PyObject* swap(PyObject* self, PyObject* other) {
  if (!is_tensor(other)) {
    PyErr_Format(PyExc_TypeError, "[swap] expected a Tensor: got %s", Py_TYPE(other)->tp_name);
    return nullptr;
  }
  try {
    wait_until_unused(unwrap(self), "swap");
    std::swap(unwrap(self), unwrap(other));  // the other one is a temporary of the caller
    unwrap(self).impl()->py = self;
    unwrap(other).impl()->py = other;
    Py_RETURN_NONE;
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

}  // namespace

PyGetSetDef* tensor_attributes() {
  static PyGetSetDef list[] = {
      {"shape", getter<shape>, nullptr, "The extents, a tuple.\n\n>>> pyburn.ones(2, 3).shape", nullptr},
      {"dtype", getter<dtype>, nullptr, "The element type.\n\n>>> pyburn.ones(2).dtype", nullptr},
      {"device", getter<device>, nullptr, "The stack of backends that holds the elements.\n\n>>> pyburn.ones(2).device", nullptr},
      {"ndim", getter<ndim>, nullptr, "The number of axes.\n\n>>> pyburn.ones(2, 3).ndim", nullptr},
      {"itemsize", getter<itemsize>, nullptr, "Bytes per element.\n\n>>> pyburn.ones(2).itemsize", nullptr},
      {"nbytes", getter<bytes>, nullptr, "Bytes of all elements.\n\n>>> pyburn.ones(2).nbytes", nullptr},
      {"T", getter<transposed>, nullptr, "The axes in reverse order; a view.\n\n>>> pyburn.ones(2, 3).T.shape", nullptr},
      {"mT", getter<matrix_transposed>, nullptr, "The last two axes exchanged; a view.\n\n>>> pyburn.ones(4, 2, 3).mT.shape", nullptr},
      {"H", getter<conjugate_transposed>, nullptr, "The transpose of a matrix; a view.\n\n>>> pyburn.ones(2, 3).H.shape", nullptr},
      {"mH", getter<matrix_adjoint>, nullptr, "The last two axes exchanged; a view.\n\n>>> pyburn.ones(4, 2, 3).mH.shape", nullptr},
      {"_version", getter<version>, nullptr, "How often the storage was written in place.", nullptr},
      {"_is_parameter", getter<is_parameter>, nullptr, "Was it made by Parameter()?", nullptr},
      {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
      {"_storage_bytes", getter<storage_bytes>, nullptr, "Bytes of the memory that the tensor is a view of.", nullptr},
      {"_storage_id", getter<storage_id>, nullptr, "Equal for tensors that share memory.", nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr},
  };
  return list;
}

PyMethodDef* tensor_methods() {
  static PyMethodDef list[] = {
      {"size", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(all_or_one<size>)), METH_FASTCALL | METH_KEYWORDS,
          "size($self, dim=None)\n--\n\nThe extents, or one of them.\n\n>>> pyburn.ones(2, 3).size(1)"},
      {"stride", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(all_or_one<stride>)), METH_FASTCALL | METH_KEYWORDS,
          "stride($self, dim=None)\n--\n\nDistance of neighbours along each axis, in elements.\n\n>>> pyburn.ones(2, 3).stride()"},
      {"dim", method<ndim>, METH_NOARGS, "dim($self)\n--\n\nThe number of axes.\n\n>>> pyburn.ones(2, 3).dim()"},
      {"ndimension", method<ndim>, METH_NOARGS, "ndimension($self)\n--\n\nThe number of axes.\n\n>>> pyburn.ones(2, 3).ndimension()"},
      {"numel", method<numel>, METH_NOARGS, "numel($self)\n--\n\nThe number of elements.\n\n>>> pyburn.ones(2, 3).numel()"},
      {"nelement", method<numel>, METH_NOARGS, "nelement($self)\n--\n\nThe number of elements.\n\n>>> pyburn.ones(2, 3).nelement()"},
      {"is_floating_point", method<is_floating_point>, METH_NOARGS,
          "is_floating_point($self)\n--\n\nIs the dtype a floating one?\n\n>>> pyburn.ones(2).is_floating_point()"},
      {"is_signed", method<has_sign>, METH_NOARGS,
          "is_signed($self)\n--\n\nCan the dtype hold negative numbers?\n\n>>> pyburn.ones(2).is_signed()"},
      {"element_size", method<itemsize>, METH_NOARGS, "element_size($self)\n--\n\nBytes per element.\n\n>>> pyburn.ones(2).element_size()"},
      {"storage_offset", method<offset>, METH_NOARGS,
          "storage_offset($self)\n--\n\nPosition of the first element in the storage.\n\n>>> pyburn.arange(4)[2:].storage_offset()"},
      {"is_contiguous", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(is_contiguous_in)), METH_FASTCALL | METH_KEYWORDS,
          "is_contiguous($self, memory_format=None)\n--\n\nReturns whether the elements are contiguous in memory.\n\n>>> pyburn.ones(2, "
          "3).T.is_contiguous()"},
      {"data_ptr", method<data_ptr>, METH_NOARGS,
          "data_ptr($self)\n--\n\nReturns the address of the first element; 0 without host memory.\n\n>>> pyburn.ones(2).data_ptr() > 0"},
      {"item", method<item_of>, METH_NOARGS, "item($self)\n--\n\nThe one element as a Python number.\n\n>>> pyburn.tensor([2.5]).item()"},
      {"copy_", copy_, METH_O,
          "copy_($self, src)\n--\n\nOverwrites the elements with those of another tensor, which is broadcast and converted.\n\n>>> "
          "pyburn.zeros(2).copy_(pyburn.ones(2))"},
      {"_swap", swap, METH_O, "_swap($self, other)\n--\n\nExchanges the tensors of two Python objects."},
      {"_download", method<download>, METH_NOARGS, "_download($self)\n--\n\nReturns the elements in row-major order, as bytes."},
      {nullptr, nullptr, 0, nullptr},
  };
  return list;
}

}  // namespace pyburn::python
