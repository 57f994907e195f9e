// Tensors from numbers and nested sequences, and back.
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "objects.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/extremum.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/error.h"
#include "pyburn/tensor/half.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pyburn::python {
namespace {

[[noreturn]] void raise(PyObject* type, const std::string& message) {
  PyErr_SetString(type, message.c_str());
  throw PythonError();
}

bool is_text(PyObject* p) { return PyUnicode_Check(p) || PyBytes_Check(p); }
bool is_nested(PyObject* p) {
  return !is_text(p) && !is_tensor(p) && !PyFloat_Check(p) && !PyLong_Check(p) && PySequence_Check(p) && !PyDict_Check(p);
}

class NestedReader {
 public:
  explicit NestedReader(std::optional<DType> wanted) : wanted_(wanted) {}

  TensorHandle read(PyObject* data, Device& device) {
    find_shape(data);
    values_.reserve(size_t(checked_numel(shape_)));
    collect(data, 0);
    const DType dtype = wanted_ ? *wanted_ : found_.value_or(default_dtype());
    std::vector<std::byte> bytes(size_t(bytes_of(dtype, int64_t(values_.size()))));
    write(dtype, bytes.data());
    return from_host(device, {bytes.data(), {shape_, dtype}});
  }

 private:
  // The first element of each level tells the extents; collect() checks the others.
  void find_shape(PyObject* data) {
    Object level = Object::borrowed(data);
    while (is_nested(level.get())) {
      const Py_ssize_t n = PySequence_Size(level.get());
      if (n < 0) {  // a numpy scalar or 0-d array
        PyErr_Clear();
        return;
      }
      shape_.push_back(n);
      if (shape_.rank() > kMaxRank)  // also ends the search in a list that holds itself
        raise(PyExc_ValueError, format("[tensor] too many dimensions: more than {}", kMaxRank));
      if (n == 0) return;
      level = checked(PySequence_GetItem(level.get(), 0));
    }
  }

  void collect(PyObject* data, int axis) {
    if (axis == shape_.rank()) return add(data);
    const Py_ssize_t n = is_nested(data) ? PySequence_Size(data) : -1;
    if (n < 0) {
      PyErr_Clear();
      raise(PyExc_ValueError,
          format("[tensor] expected a sequence of length {} at dim {}: got {}", shape_[axis], axis, Py_TYPE(data)->tp_name));
    }
    if (n != shape_[axis])
      raise(PyExc_ValueError, format("[tensor] expected sequence of length {} at dim {}: got {}", shape_[axis], axis, int64_t(n)));
    const Object fast = checked(PySequence_Fast(data, "[tensor] expected a sequence"));
    for (Py_ssize_t i = 0; i < n; ++i) {
      if (i >= PySequence_Fast_GET_SIZE(fast.get())) raise(PyExc_ValueError, "[tensor] the sequence changed while it was read");
      const Object item = Object::borrowed(PySequence_Fast_GET_ITEM(fast.get(), i));  // converting may run Python code
      collect(item.get(), axis + 1);
    }
  }

  void add(PyObject* p) {
    if (PyFloat_CheckExact(p)) return keep(PyFloat_AS_DOUBLE(p), default_dtype());
    if (PyBool_Check(p)) return keep(p == Py_True, DType::boolean);
    if (PyLong_CheckExact(p)) return add_integer(p, DType::int64);
    if (is_tensor(p)) {
      const TensorHandle& t = unwrap(p);
      if (t.numel() != 1)
        raise(PyExc_ValueError, format("[tensor] only one element tensors can be converted to Python scalars: got shape {}", t.shape()));
      return add_number(checked(item_of(t)).get(), t.dtype());
    }
    if (is_nested(p) && PySequence_Size(p) >= 0)
      raise(PyExc_ValueError, format("[tensor] expected a number at dim {}: got a sequence ({})", shape_.rank(), Py_TYPE(p)->tp_name));
    PyErr_Clear();
    if (is_text(p) || PyComplex_Check(p) || !PyNumber_Check(p))
      raise(PyExc_TypeError, format("[tensor] expected numbers, sequences or arrays: got {}", Py_TYPE(p)->tp_name));
    const Object dtype(PyObject_GetAttrString(p, "dtype"));  // numpy's scalars know theirs
    if (!dtype) PyErr_Clear();
    const bool whole = PyIndex_Check(p);
    add_number(checked(whole ? PyNumber_Index(p) : PyNumber_Float(p)).get(), dtype   ? to_dtype(dtype.get())
                                                                             : whole ? DType::int64
                                                                                     : default_dtype());
  }
  void add_number(PyObject* number, DType dtype) {
    if (PyFloat_Check(number)) keep(PyFloat_AS_DOUBLE(number), dtype);
    else if (PyBool_Check(number)) keep(number == Py_True, dtype);
    else add_integer(number, dtype);
  }
  void add_integer(PyObject* p, DType dtype) {
    int overflow = 0;
    const long long v = PyLong_AsLongLongAndOverflow(p, &overflow);
    if (!overflow) return keep(int64_t(v), dtype);
    if (wanted_ && is_floating(*wanted_)) {
      const double d = PyLong_AsDouble(p);
      if (d == -1 && PyErr_Occurred()) throw PythonError();
      return keep(d, dtype);
    }
    const unsigned long long u = PyLong_AsUnsignedLongLong(p);
    if (PyErr_Occurred()) PyErr_Clear();
    else if (wanted_.value_or(dtype) == DType::uint64) return keep(int64_t(u), DType::uint64);  // the bits
    raise(PyExc_ValueError, format("[tensor] overflow: the integer is out of range for {}", wanted_.value_or(DType::int64)));
  }
  void keep(Scalar value, DType dtype) {
    values_.push_back(value);
    if (!wanted_) found_ = found_ ? promote(*found_, dtype) : dtype;
  }

  // As in PyTorch: a value out of range is an error, but negative numbers wrap around in unsigned dtypes.
  template <class T>
  static T converted(const Scalar& s, DType dtype) {
    if constexpr (!std::is_integral_v<T> || std::is_same_v<T, bool>) {
      return T(s.to<std::conditional_t<std::is_same_v<T, bool>, bool, double>>());
    } else {
      using Limits = std::numeric_limits<T>;
      if (s.is_floating()) {
        const double d = s.to_double(), top = std::ldexp(1.0, Limits::digits);
        if (!(d > (std::is_signed_v<T> ? -top - 1 : -top) && d < top))
          raise(PyExc_ValueError, format("[tensor] value cannot be converted to type {} without overflow: got {}", dtype, d));
        return std::is_signed_v<T> || d >= 0 ? T(d) : T(-T(-d));
      }
      const int64_t v = s.to_int();
      if constexpr (sizeof(T) < 8)
        if (v > int64_t(Limits::max()) || v < (std::is_signed_v<T> ? int64_t(Limits::min()) : -int64_t(Limits::max())))
          raise(PyExc_ValueError, format("[tensor] value cannot be converted to type {} without overflow: got {}", dtype, v));
      return T(v);
    }
  }
  template <class T>
  void write_as(DType dtype, std::byte* out) const {
    for (const Scalar& s : values_) {
      T v;
      if constexpr (sizeof(T) == 2 && !std::is_integral_v<T>) v = T(float(s.to_double()));
      else v = converted<T>(s, dtype);
      std::memcpy(out, &v, sizeof(T));
      out += sizeof(T);
    }
  }
  void write(DType t, std::byte* out) const {
    switch (t) {
      case DType::float64:
        return write_as<double>(t, out);
      case DType::float32:
        return write_as<float>(t, out);
      case DType::float16:
        return write_as<Half>(t, out);
      case DType::bfloat16:
        return write_as<BFloat16>(t, out);
      case DType::int8:
        return write_as<int8_t>(t, out);
      case DType::int16:
        return write_as<int16_t>(t, out);
      case DType::int32:
        return write_as<int32_t>(t, out);
      case DType::int64:
        return write_as<int64_t>(t, out);
      case DType::uint8:
        return write_as<uint8_t>(t, out);
      case DType::uint16:
        return write_as<uint16_t>(t, out);
      case DType::uint32:
        return write_as<uint32_t>(t, out);
      case DType::uint64:
        return write_as<uint64_t>(t, out);
      case DType::boolean:
        return write_as<bool>(t, out);
    }
  }

  std::optional<DType> wanted_, found_;
  Shape shape_;
  std::vector<Scalar> values_;
};

template <class T>
PyObject* number(const std::byte* p) {
  if constexpr (std::is_same_v<T, bool>) return PyBool_FromLong(*p != std::byte{0});  // a view of other data holds any byte
  T v;
  std::memcpy(&v, p, sizeof(T));
  if constexpr (!std::is_integral_v<T>) return PyFloat_FromDouble(double(v));
  else if constexpr (std::is_signed_v<T>) return PyLong_FromLongLong(v);
  else return PyLong_FromUnsignedLongLong(v);
}
PyObject* number(DType t, const std::byte* p) {
  switch (t) {
    case DType::float64:
      return number<double>(p);
    case DType::float32:
      return number<float>(p);
    case DType::float16:
      return number<Half>(p);
    case DType::bfloat16:
      return number<BFloat16>(p);
    case DType::int8:
      return number<int8_t>(p);
    case DType::int16:
      return number<int16_t>(p);
    case DType::int32:
      return number<int32_t>(p);
    case DType::int64:
      return number<int64_t>(p);
    case DType::uint8:
      return number<uint8_t>(p);
    case DType::uint16:
      return number<uint16_t>(p);
    case DType::uint32:
      return number<uint32_t>(p);
    case DType::uint64:
      return number<uint64_t>(p);
    default:
      return number<bool>(p);
  }
}

Object nested_list(const Meta& meta, int axis, const std::byte*& p) {
  if (axis == meta.shape.rank()) {
    Object n = checked(number(meta.dtype, p));
    p += size_of(meta.dtype);
    return n;
  }
  Object list = checked(PyList_New(Py_ssize_t(meta.shape[axis])));
  for (int64_t i = 0; i < meta.shape[axis]; ++i) PyList_SET_ITEM(list.get(), Py_ssize_t(i), nested_list(meta, axis + 1, p).release());
  return list;
}

// Arrays of numpy and similar; not Python sequences that also have a buffer.
bool is_array(PyObject* p) {
  return PyMemoryView_Check(p) || (PyObject_CheckBuffer(p) && PyObject_HasAttrString(p, "__array_interface__"));
}

}  // namespace

PyObject* tensor_from_data(PyObject* data, std::optional<DType> dtype, Device* device) {
  Device& target = device ? *device : default_device();
  if (is_tensor(data)) {
    const TensorHandle plain = fn::detach(unwrap(data));
    return wrap(moved_to(target, fn::cast(plain, dtype.value_or(plain.dtype()))));
  }
  if (!PyList_CheckExact(data) && !PyTuple_CheckExact(data) && !PyFloat_CheckExact(data) && !PyLong_CheckExact(data)) {
    if (is_array(data)) return wrap(tensor_from_array(data, dtype, target));
    if (PyObject_HasAttrString(data, "__array__")) {  // pandas and others
      const Object array = checked(PyObject_CallMethod(data, "__array__", nullptr));
      if (is_array(array.get())) return wrap(tensor_from_array(array.get(), dtype, target));
    }
  }
  return wrap(NestedReader(dtype).read(data, target));
}

void bind_nested_data(nb::module_& m) {
  m.def(
      "_tensor",
      [](nb::handle data, nb::handle dtype, nb::handle device, bool requires_grad) {
        const std::optional<DType> wanted = dtype.is_none() ? std::optional<DType>() : to_dtype(dtype.ptr());
        nb::object t = nb::steal(tensor_from_data(data.ptr(), wanted, device.is_none() ? nullptr : &to_device(device.ptr())));
        asking_for_gradient(unwrap(t.ptr()), requires_grad);
        return t;
      },
      "data"_a.none(), "dtype"_a.none(), "device"_a.none(), "requires_grad"_a);
  m.def("_tolist", [](const TensorHandle& t) {
    const std::vector<std::byte> bytes = host_bytes(t);
    const std::byte* p = bytes.data();
    return nb::steal(nested_list(t.meta(), 0, p).release());
  });
}

}  // namespace pyburn::python
