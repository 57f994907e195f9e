// x[...] and x[...] = y. Integers, slices, None and ... give views; lists and tensors of integers or bools give copies.
#include "objects.h"
#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/ops/copy.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/index_tensors.h"
#include "pyburn/support/error.h"

namespace pyburn::python {
namespace {

[[noreturn]] void raise(PyObject* type, const std::string& message) {
  PyErr_SetString(type, message.c_str());
  throw PythonError();
}

bool is_mask(const TensorHandle& t) { return t.dtype() == DType::boolean || t.dtype() == DType::uint8; }  // uint8 as in PyTorch

// A list with more than numbers is treated as a tuple, as in PyTorch and older NumPy: x[[rows, columns]].
bool stands_for_tuple(PyObject* key) {
  if (!PyList_Check(key) || PyList_GET_SIZE(key) >= 32) return false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(key); ++i) {
    PyObject* part = PyList_GET_ITEM(key, i);
    if (is_tensor(part) || PySequence_Check(part) || PySlice_Check(part) || part == Py_None || part == Py_Ellipsis) return true;
  }
  return false;
}

void warn_of_list() {
  constexpr const char* text =
      "a list with sequences in it is a tuple of indices here, as in PyTorch, which deprecates it: use x[tuple(list)]";
  if (PyErr_WarnEx(PyExc_UserWarning, text, 1) < 0) throw PythonError();
}

// The parts of an index: lists and arrays have become tensors, tensors of one integer or bool plain numbers.
struct Key {
  SmallVector<Object, 4> parts;

  explicit Key(PyObject* key, Device& device) {
    Object tuple;
    if (stands_for_tuple(key)) {
      warn_of_list();
      tuple = checked(PyList_AsTuple(key));
      key = tuple.get();
    }
    if (!PyTuple_Check(key)) {
      add(key, device);
      return;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i) add(PyTuple_GET_ITEM(key, i), device);
  }

 private:
  void add(PyObject* part, Device& device) {
    Object p = Object::borrowed(part);
    const bool plain = PyLong_Check(part) || PySlice_Check(part) || part == Py_None || part == Py_Ellipsis;
    if (!plain && !is_tensor(part)) p = converted(part, device);
    if (is_tensor(p.get()) && unwrap(p.get()).rank() == 0) {
      const TensorHandle& t = unwrap(p.get());
      if (!is_integral(t.dtype())) refuse(part);
      p = checked(item_of(t));
      if (t.dtype() == DType::uint8) p = Object(PyBool_FromLong(PyObject_IsTrue(p.get())));
    }
    parts.push_back(std::move(p));
  }
  static Object converted(PyObject* part, Device& device) {
    if (PyUnicode_Check(part) || PyBytes_Check(part) || PyFloat_Check(part) || !(PySequence_Check(part) || PyIndex_Check(part)))
      refuse(part);
    if (PyIndex_Check(part) && !PySequence_Check(part)) return checked(PyNumber_Index(part));
    Object t = checked(tensor_from_data(part, {}, &device));
    const TensorHandle& h = unwrap(t.get());
    if (h.numel() == 0 && is_floating(h.dtype())) return Object(wrap(fn::cast(h, DType::int64)));  // x[[]]
    return t;
  }
  [[noreturn]] static void refuse(PyObject* part) {
    raise(PyExc_IndexError,
        format("only integers, slices (`:`), ellipsis (`...`), None and integer or bool tensors are valid indices: got {}",
            Py_TYPE(part)->tp_name));
  }
};

// A bool adds a dimension that is indexed by [0], or by nothing.
TensorHandle index_of(bool truth, Device& device) { return fn::zeros(Dims{truth ? 1 : 0}, DType::int64, &device, false); }

void warn_of_bytes() {
  constexpr const char* text = "indexing with dtype uint8 is deprecated: use dtype bool";
  if (PyErr_WarnEx(PyExc_UserWarning, text, 1) < 0) throw PythonError();
}

// x after all parts that give views, and the tensors that index the rest: integers, or masks over as many axes as they have.
struct Place {
  TensorHandle view;
  SmallVector<AxisIndex, 4> tensors;

  SmallVector<AxisIndex, 4> indices() const {
    SmallVector<AxisIndex, 4> at;
    for (const AxisIndex& t : tensors) {
      if (!is_mask(t.index)) at.push_back(t);
      else
        for (AxisIndex& a : mask_indices(view, t.axis, t.index)) at.push_back(std::move(a));
    }
    return at;
  }
};

int axes_taken(const Key& key) {
  int taken = 0;
  for (const Object& o : key.parts) {
    PyObject* p = o.get();
    if (p == Py_None || p == Py_Ellipsis || PyBool_Check(p)) continue;
    taken += is_tensor(p) && is_mask(unwrap(p)) ? unwrap(p).rank() : 1;
  }
  return taken;
}

TensorHandle sliced(const TensorHandle& x, int axis, PyObject* part) {
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(part, &start, &stop, &step) < 0) throw PythonError();
  if (step <= 0) raise(PyExc_ValueError, format("step must be greater than zero: got {}", int64_t(step)));
  PySlice_AdjustIndices(Py_ssize_t(x.shape()[axis]), &start, &stop, step);
  if (start == 0 && stop == x.shape()[axis] && step == 1) return x;
  return fn::slice(x, axis, start, stop, step);
}

Place locate(const TensorHandle& x, PyObject* given) {
  const Key key(given, x.device());
  const int taken = axes_taken(key);
  if (taken > x.rank()) {
    if (x.rank() == 0) raise(PyExc_IndexError, "invalid index of a 0-dim tensor; use tensor.item() to convert a 0-dim tensor to a number");
    raise(PyExc_IndexError, format("too many indices for tensor of dimension {}: got {}", x.rank(), taken));
  }
  Place place{x, {}};
  int axis = 0, of_x = 0;  // which axis comes next: of the view, of x
  bool seen_ellipsis = false;
  for (const Object& o : key.parts) {
    PyObject* p = o.get();
    if (p == Py_Ellipsis) {
      if (!seen_ellipsis) axis += x.rank() - taken, of_x += x.rank() - taken;
      seen_ellipsis = true;
    } else if (p == Py_None || PyBool_Check(p)) {
      place.view = fn::unsqueeze(place.view, axis);
      if (p != Py_None) place.tensors.push_back({axis, index_of(p == Py_True, x.device())});
      ++axis;
    } else if (PySlice_Check(p)) {
      place.view = sliced(place.view, axis++, p);
      ++of_x;
    } else if (is_tensor(p)) {
      const TensorHandle& t = unwrap(p);
      if (is_floating(t.dtype()))
        raise(PyExc_IndexError, format("tensors used as indices must be of an integer dtype or bool: got {}", t.dtype()));
      if (t.dtype() == DType::uint8) warn_of_bytes();
      place.tensors.push_back({axis, t});
      axis += is_mask(t) ? t.rank() : 1;
      of_x += is_mask(t) ? t.rank() : 1;
    } else {
      const int64_t i = PyLong_AsLongLong(p);
      if (i == -1 && PyErr_Occurred()) throw PythonError();
      const int64_t extent = place.view.shape()[axis];
      if (i < -extent || i >= extent) fail<IndexError>("[select] index {} is out of bounds for dimension {} with size {}", i, of_x, extent);
      place.view = fn::select(place.view, axis, i);
      ++of_x;
    }
  }
  return place;
}

PyObject* get(PyObject* self, PyObject* key) {
  try {
    const TensorHandle& x = unwrap(self);
    if (PyLong_CheckExact(key)) {  // the common case, without the machinery
      const int64_t i = PyLong_AsLongLong(key);
      if (i == -1 && PyErr_Occurred()) return nullptr;
      if (x.rank() > 0) return wrap(fn::select(x, 0, i));
    }
    const Place place = locate(x, key);
    if (!place.tensors.empty()) {
      const SmallVector<AxisIndex, 4> at = place.indices();
      return wrap(read_at(place.view, {at.data(), size_t(at.size())}));
    }
    // x[...] and x[:] are new tensors on the same memory, as in PyTorch.
    return wrap(place.view.is_same(x) ? fn::view(x, x.shape()) : TensorHandle(place.view));
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

// The value to be written, without leading axes of extent 1, as in PyTorch.
TensorHandle value_for(const TensorHandle& target, PyObject* value) {
  if (Scalar number; !is_tensor(value) && to_scalar(value, number))
    return fn::full(Dims{}, number, target.dtype(), &target.device(), false);
  const Object made = is_tensor(value) ? Object::borrowed(value) : checked(tensor_from_data(value, target.dtype(), &target.device()));
  const TensorHandle& t = unwrap(made.get());
  Shape shape = t.shape();
  while (shape.rank() > 0 && shape[0] == 1) shape.erase(0);
  return shape == t.shape() ? TensorHandle(t) : fn::reshape(t, shape);
}

// x[mask] = number: no indices are needed.
void fill_where(const TensorHandle& x, const AxisIndex& mask, const TensorHandle& number) {
  check_mask(x, mask.axis, mask.index);
  Dims shape(x.rank(), 1);
  for (int i = 0; i < mask.index.rank(); ++i) shape[mask.axis + i] = mask.index.shape()[i];
  const TensorHandle truth = fn::reshape(mask.index.dtype() == DType::boolean ? TensorHandle(mask.index) : fn::ne(mask.index, 0), shape);
  fn::where_into(x, truth, number.dtype() == x.dtype() ? number : fn::cast(number, x.dtype()), x);
}

int set(PyObject* self, PyObject* key, PyObject* value) {
  try {
    if (!value) raise(PyExc_TypeError, "elements of a tensor cannot be deleted");
    const Place place = locate(unwrap(self), key);
    const TensorHandle v = value_for(place.view, value);
    if (place.tensors.empty()) {
      copy_into(place.view, autograd::move_recorded(place.view.device(), v));
    } else if (place.tensors.size() == 1 && is_mask(place.tensors[0].index) && v.rank() == 0) {
      fill_where(place.view, place.tensors[0], v);
    } else {
      const SmallVector<AxisIndex, 4> at = place.indices();
      write_at(place.view, {at.data(), size_t(at.size())}, v);
    }
    return 0;
  } catch (...) {
    set_python_error();
    return -1;
  }
}

}  // namespace

const PyType_Slot tensor_index_slots[] = {
    {Py_mp_subscript, reinterpret_cast<void*>(get)},
    {Py_mp_ass_subscript, reinterpret_cast<void*>(set)},
    {0, nullptr},
};

}  // namespace pyburn::python
