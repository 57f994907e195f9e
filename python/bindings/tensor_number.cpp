// Operators of the Tensor class. A number beside a tensor stays a number.
#include "arguments.h"
#include "pyburn/ops/functions.h"

namespace pyburn::python {
namespace {

constexpr int64_t kLarge = 1 << 16;

// A numpy array beside a tensor is a tensor; an undefined one for anything else.
TensorHandle array_beside(const TensorHandle& x, PyObject* p) {
  if (!PyObject_CheckBuffer(p) || !PyObject_HasAttrString(p, "__array_interface__")) return {};
  return tensor_from_array(p, {}, x.device());
}

// Where p is neither tensor, number nor array the other side may know: NotImplemented.
template <class Fn>
PyObject* binary(PyObject* a, PyObject* b, Fn fn) {
  try {
    Scalar s;
    if (is_tensor(a)) {
      const TensorHandle& x = unwrap(a);
      if (is_tensor(b)) {
        Tensor result;
        {
          const GilRelease released(x.numel() >= kLarge);
          result = fn(Operand(x), Operand(unwrap(b)));
        }
        return wrap(result);
      }
      if (to_scalar(b, s)) return wrap(fn(Operand(x), Operand(s)));
      if (const TensorHandle y = array_beside(x, b); y.defined()) return wrap(fn(Operand(x), Operand(y)));
    } else if (to_scalar(a, s)) {
      return wrap(fn(Operand(s), Operand(unwrap(b))));
    } else if (const TensorHandle x = array_beside(unwrap(b), a); x.defined()) {
      return wrap(fn(Operand(x), Operand(unwrap(b))));
    }
    Py_RETURN_NOTIMPLEMENTED;
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

template <class Fn>
PyObject* in_place(PyObject* a, PyObject* b, Fn fn) {
  try {
    Scalar s;
    if (is_tensor(b)) fn(unwrap(a), Operand(unwrap(b)));
    else if (to_scalar(b, s)) fn(unwrap(a), Operand(s));
    else if (const TensorHandle y = array_beside(unwrap(a), b); y.defined()) fn(unwrap(a), Operand(y));
    else Py_RETURN_NOTIMPLEMENTED;
    return Py_NewRef(a);
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

template <class Fn>
PyObject* unary(PyObject* a, Fn fn) {
  try {
    return wrap(fn(unwrap(a)));
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

PyObject* matrix_multiply(PyObject* a, PyObject* b) {
  if (!is_tensor(a) || !is_tensor(b)) Py_RETURN_NOTIMPLEMENTED;
  try {
    Tensor result;
    {
      const GilRelease released(unwrap(a).numel() + unwrap(b).numel() >= kLarge / 8);
      result = matmul(unwrap(a), unwrap(b));
    }
    return wrap(result);
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

}  // namespace

PyNumberMethods tensor_number_slots = [] {
  PyNumberMethods n{};
  n.nb_add = [](PyObject* a, PyObject* b) { return binary(a, b, [](const Operand& x, const Operand& y) { return add(x, y); }); };
  n.nb_subtract = [](PyObject* a, PyObject* b) { return binary(a, b, [](const Operand& x, const Operand& y) { return sub(x, y); }); };
  n.nb_multiply = [](PyObject* a, PyObject* b) { return binary(a, b, [](const Operand& x, const Operand& y) { return mul(x, y); }); };
  n.nb_true_divide = [](PyObject* a, PyObject* b) { return binary(a, b, [](const Operand& x, const Operand& y) { return div(x, y); }); };
  n.nb_power = [](PyObject* a, PyObject* b, PyObject*) {
    return binary(a, b, [](const Operand& x, const Operand& y) { return pow(x, y); });
  };
  n.nb_matrix_multiply = matrix_multiply;
  n.nb_negative = [](PyObject* a) { return unary(a, [](const TensorHandle& x) { return neg(x); }); };
  n.nb_absolute = [](PyObject* a) { return unary(a, [](const TensorHandle& x) { return abs(x); }); };
  n.nb_inplace_add = [](PyObject* a, PyObject* b) {
    return in_place(a, b, [](const TensorHandle& x, const Operand& y) { add_into(x, x, y); });
  };
  n.nb_inplace_subtract = [](PyObject* a, PyObject* b) {
    return in_place(a, b, [](const TensorHandle& x, const Operand& y) { sub_into(x, x, y); });
  };
  n.nb_inplace_multiply = [](PyObject* a, PyObject* b) {
    return in_place(a, b, [](const TensorHandle& x, const Operand& y) { mul_into(x, x, y); });
  };
  n.nb_inplace_true_divide = [](PyObject* a, PyObject* b) {
    return in_place(a, b, [](const TensorHandle& x, const Operand& y) { div_into(x, x, y); });
  };
  return n;
}();

PyObject* tensor_compare(PyObject* a, PyObject* b, int op) {
  return binary(a, b, [op](const Operand& x, const Operand& y) {
    switch (op) {
      case Py_LT:
        return lt(x, y);
      case Py_LE:
        return le(x, y);
      case Py_EQ:
        return eq(x, y);
      case Py_NE:
        return ne(x, y);
      case Py_GT:
        return gt(x, y);
      default:
        return ge(x, y);
    }
  });
}

}  // namespace pyburn::python
