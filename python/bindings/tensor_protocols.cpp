// What Python's own functions ask of a tensor: repr, bool, float, int, len, iter, in.
#include "objects.h"
#include "printed_package.h"
#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/decorators/autodiff/history.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/generated/reduce.h"
#include "pyburn/ops/print.h"
#include "pyburn/support/error.h"

namespace pyburn::python {
namespace {

// fn(), with exceptions translated and `failed` returned for them.
template <class Fn, class R = decltype(std::declval<Fn>()())>
R guarded(Fn fn, R failed = R()) {
  try {
    return fn();
  } catch (...) {
    set_python_error();
    return failed;
  }
}

PyObject* represent(PyObject* self) {
  return guarded([self] {
    const TensorHandle& t = unwrap(self);
    std::string name = "tensor";
    PyTypeObject* type = Py_TYPE(self);
    if (type != tensor_type && reinterpret_cast<PyObject*>(type) != parameter_type) {
      name = type->tp_name;
      if (const size_t dot = name.rfind('.'); dot != name.npos) name.erase(0, dot + 1);
    }
    std::string note;
    if (const Ref<autograd::Node> node = autograd::grad_fn(t)) note = "grad_fn=<" + node->name() + ">";
    else if (autograd::wants_gradient(t)) note = "requires_grad=True";
    std::string text;
    {
      const ComputesWith released(true, t);
      text = to_text(t, name, printed_package() + ".", {&note, note.empty() ? 0u : 1u});
    }
    return PyUnicode_FromStringAndSize(text.data(), Py_ssize_t(text.size()));
  });
}

// One element, for conversions to numbers.
Object single(PyObject* self) {
  const TensorHandle& t = unwrap(self);
  if (t.numel() != 1) {
    PyErr_Format(
        PyExc_ValueError, "only one element tensors can be converted to Python scalars: got %lld elements", (long long)(t.numel()));
    throw PythonError();
  }
  return checked(item_of(t));
}

int truth(PyObject* self) {
  return guarded(
      [self] {
        const int64_t n = unwrap(self).numel();
        if (n != 1) {
          PyErr_Format(PyExc_RuntimeError, "Boolean value of Tensor with %s is ambiguous", n == 0 ? "no values" : "more than one value");
          return -1;
        }
        return PyObject_IsTrue(single(self).get());
      },
      -1);
}
PyObject* to_float(PyObject* self) {
  return guarded([self] { return PyNumber_Float(single(self).get()); });
}
PyObject* to_int(PyObject* self) {
  return guarded([self] { return PyNumber_Long(single(self).get()); });
}
PyObject* to_index(PyObject* self) {
  return guarded([self]() -> PyObject* {
    const TensorHandle& t = unwrap(self);
    if (t.numel() != 1 || !is_integral(t.dtype())) {
      PyErr_SetString(PyExc_TypeError, "only integer tensors of a single element can be converted to an index");
      return nullptr;
    }
    return PyNumber_Index(single(self).get());
  });
}

Py_ssize_t length(PyObject* self) {
  const TensorHandle& t = unwrap(self);
  if (t.rank() > 0) return Py_ssize_t(t.shape()[0]);
  PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor");
  return -1;
}

PyObject* element(PyObject* self, Py_ssize_t i) {
  return guarded([self, i]() -> PyObject* {
    const TensorHandle& t = unwrap(self);
    if (t.rank() > 0 && i >= t.shape()[0]) {  // the end of an iteration
      PyErr_Format(PyExc_IndexError, "index %zd is out of bounds for dimension 0 with size %lld", i, (long long)(t.shape()[0]));
      return nullptr;
    }
    return wrap(fn::select(t, 0, i));
  });
}
PyObject* iterate(PyObject* self) {
  if (unwrap(self).rank() > 0) return PySeqIter_New(self);
  PyErr_SetString(PyExc_TypeError, "iteration over a 0-d tensor");
  return nullptr;
}

int contains(PyObject* self, PyObject* value) {
  return guarded(
      [=] {
        Scalar number;
        if (!is_tensor(value) && !to_scalar(value, number)) {
          PyErr_Format(PyExc_TypeError, "Tensor.__contains__ only supports Tensor or scalar: got %s", Py_TYPE(value)->tp_name);
          return -1;
        }
        const TensorHandle hits = fn::sum(fn::eq(fn::detach(unwrap(self)), is_tensor(value) ? Operand(unwrap(value)) : Operand(number)));
        return PyObject_IsTrue(checked(item_of(hits)).get());
      },
      -1);
}

}  // namespace

const PyType_Slot tensor_protocol_slots[] = {
    {Py_tp_repr, reinterpret_cast<void*>(represent)},
    {Py_tp_iter, reinterpret_cast<void*>(iterate)},
    {Py_nb_bool, reinterpret_cast<void*>(truth)},
    {Py_nb_float, reinterpret_cast<void*>(to_float)},
    {Py_nb_int, reinterpret_cast<void*>(to_int)},
    {Py_nb_index, reinterpret_cast<void*>(to_index)},
    {Py_mp_length, reinterpret_cast<void*>(length)},
    {Py_sq_length, reinterpret_cast<void*>(length)},
    {Py_sq_item, reinterpret_cast<void*>(element)},
    {Py_sq_contains, reinterpret_cast<void*>(contains)},
    {0, nullptr},
};

}  // namespace pyburn::python
