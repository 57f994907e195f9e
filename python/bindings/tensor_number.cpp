// Operators of the Tensor class. A number beside a tensor stays a number.
#include "arguments.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/binary_math.h"
#include "pyburn/ops/generated/logic.h"
#include "pyburn/ops/generated/matmul.h"
#include "pyburn/ops/generated/unary.h"

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
PyObject* binary(PyObject* a, PyObject* b, Fn function) {
  try {
    Scalar s;
    if (is_tensor(a)) {
      const TensorHandle& x = unwrap(a);
      if (is_tensor(b)) {
        TensorHandle result;
        {
          const ComputesWith released(x.numel() >= kLarge, x, unwrap(b));
          result = function(Operand(x), Operand(unwrap(b)));
        }
        return wrap(std::move(result));
      }
      if (to_scalar(b, s)) return wrap(function(Operand(x), Operand(s)));
      if (const TensorHandle y = array_beside(x, b); y.defined()) return wrap(function(Operand(x), Operand(y)));
    } else if (to_scalar(a, s)) {
      return wrap(function(Operand(s), Operand(unwrap(b))));
    } else if (const TensorHandle x = array_beside(unwrap(b), a); x.defined()) {
      return wrap(function(Operand(x), Operand(unwrap(b))));
    }
    Py_RETURN_NOTIMPLEMENTED;
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

template <class Fn>
PyObject* in_place(PyObject* a, PyObject* b, Fn function) {
  try {
    Scalar s;
    if (is_tensor(b)) function(unwrap(a), Operand(unwrap(b)));
    else if (to_scalar(b, s)) function(unwrap(a), Operand(s));
    else if (const TensorHandle y = array_beside(unwrap(a), b); y.defined()) function(unwrap(a), Operand(y));
    else Py_RETURN_NOTIMPLEMENTED;
    return Py_NewRef(a);
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

template <class Fn>
PyObject* unary(PyObject* a, Fn function) {
  try {
    return wrap(function(unwrap(a)));
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

PyObject* matrix_multiply(PyObject* a, PyObject* b) {
  if (!is_tensor(a) || !is_tensor(b)) Py_RETURN_NOTIMPLEMENTED;
  try {
    TensorHandle result;
    {
      const ComputesWith released(unwrap(a).numel() + unwrap(b).numel() >= kLarge / 8, unwrap(a), unwrap(b));
      result = fn::matmul(unwrap(a), unwrap(b));
    }
    return wrap(std::move(result));
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

// x op y: a tensor on at least one side.
template <TensorHandle (*function)(const Operand&, const Operand&)>
PyObject* binary_slot(PyObject* a, PyObject* b) {
  return binary(a, b, function);
}
// x op= y
template <void (*function)(const TensorHandle&, const Operand&, const Operand&)>
PyObject* in_place_slot(PyObject* a, PyObject* b) {
  return in_place(a, b, [](const TensorHandle& x, const Operand& y) { function(x, x, y); });
}
template <TensorHandle (*function)(const TensorHandle&)>
PyObject* unary_slot(PyObject* a) {
  return unary(a, function);
}

TensorHandle plain_add(const Operand& x, const Operand& y) { return fn::add(x, y); }
TensorHandle plain_sub(const Operand& x, const Operand& y) { return fn::sub(x, y); }
void plain_add_into(const TensorHandle& out, const Operand& x, const Operand& y) { fn::add_into(out, x, y); }
void plain_sub_into(const TensorHandle& out, const Operand& x, const Operand& y) { fn::sub_into(out, x, y); }

PyObject* power(PyObject* a, PyObject* b, PyObject*) { return binary_slot<fn::pow>(a, b); }
PyObject* power_in_place(PyObject* a, PyObject* b, PyObject*) { return in_place_slot<fn::pow_into>(a, b); }
PyObject* quotient_and_rest(PyObject* a, PyObject* b) {
  const Object quotient(binary_slot<fn::floor_divide>(a, b)), rest(quotient ? binary_slot<fn::remainder>(a, b) : nullptr);
  if (!rest || rest.get() == Py_NotImplemented) return rest ? Py_NewRef(rest.get()) : nullptr;
  return PyTuple_Pack(2, quotient.get(), rest.get());
}

void* slot(auto* function) { return reinterpret_cast<void*>(function); }

}  // namespace

const PyType_Slot tensor_number_slots[] = {
    {Py_nb_add, slot(binary_slot<plain_add>)},
    {Py_nb_subtract, slot(binary_slot<plain_sub>)},
    {Py_nb_multiply, slot(binary_slot<fn::mul>)},
    {Py_nb_remainder, slot(binary_slot<fn::remainder>)},
    {Py_nb_divmod, slot(quotient_and_rest)},
    {Py_nb_power, slot(power)},
    {Py_nb_negative, slot(unary_slot<fn::neg>)},
    {Py_nb_positive, slot(unary_slot<fn::positive>)},
    {Py_nb_absolute, slot(unary_slot<fn::abs>)},
    {Py_nb_invert, slot(unary_slot<fn::bitwise_not>)},
    {Py_nb_lshift, slot(binary_slot<fn::bitwise_left_shift>)},
    {Py_nb_rshift, slot(binary_slot<fn::bitwise_right_shift>)},
    {Py_nb_and, slot(binary_slot<fn::bitwise_and>)},
    {Py_nb_xor, slot(binary_slot<fn::bitwise_xor>)},
    {Py_nb_or, slot(binary_slot<fn::bitwise_or>)},
    {Py_nb_inplace_add, slot(in_place_slot<plain_add_into>)},
    {Py_nb_inplace_subtract, slot(in_place_slot<plain_sub_into>)},
    {Py_nb_inplace_multiply, slot(in_place_slot<fn::mul_into>)},
    {Py_nb_inplace_remainder, slot(in_place_slot<fn::remainder_into>)},
    {Py_nb_inplace_power, slot(power_in_place)},
    {Py_nb_inplace_lshift, slot(in_place_slot<fn::bitwise_left_shift_into>)},
    {Py_nb_inplace_rshift, slot(in_place_slot<fn::bitwise_right_shift_into>)},
    {Py_nb_inplace_and, slot(in_place_slot<fn::bitwise_and_into>)},
    {Py_nb_inplace_xor, slot(in_place_slot<fn::bitwise_xor_into>)},
    {Py_nb_inplace_or, slot(in_place_slot<fn::bitwise_or_into>)},
    {Py_nb_floor_divide, slot(binary_slot<fn::floor_divide>)},
    {Py_nb_true_divide, slot(binary_slot<fn::div>)},
    {Py_nb_inplace_floor_divide, slot(in_place_slot<fn::floor_divide_into>)},
    {Py_nb_inplace_true_divide, slot(in_place_slot<fn::div_into>)},
    {Py_nb_matrix_multiply, slot(matrix_multiply)},
    {0, nullptr},
};

PyObject* tensor_compare(PyObject* a, PyObject* b, int op) {
  return binary(a, b, [op](const Operand& x, const Operand& y) {
    switch (op) {
      case Py_LT:
        return fn::lt(x, y);
      case Py_LE:
        return fn::le(x, y);
      case Py_EQ:
        return fn::eq(x, y);
      case Py_NE:
        return fn::ne(x, y);
      case Py_GT:
        return fn::gt(x, y);
      default:
        return fn::ge(x, y);
    }
  });
}

}  // namespace pyburn::python
