#include "arguments.h"

#include <cstring>
#include <string>

#include "objects.h"
#include "pyburn/support/error.h"
#include "signature.h"

namespace pyburn::python {

namespace {

[[noreturn]] void type_error(const std::string& message) {
  PyErr_SetString(PyExc_TypeError, message.c_str());
  throw PythonError();
}

// Arguments of PyTorch that have one meaning here: elements are strided, and there is no pinned memory.
bool means_nothing(const char* name, PyObject* value) {
  if (std::strcmp(name, "pin_memory") == 0) return true;
  if (std::strcmp(name, "layout") != 0) return false;
  const Object kind(PyObject_GetAttrString(value, "name"));
  PyErr_Clear();
  return value == Py_None || (kind && PyUnicode_Check(kind.get()) && PyUnicode_CompareWithASCIIString(kind.get(), "strided") == 0);
}

constexpr int64_t kLarge = 1 << 16;

bool is_index(PyObject* p) { return PyLong_Check(p) || (PyIndex_Check(p) && !PySequence_Check(p)); }  // also those of numpy

}  // namespace

Arguments::Arguments(const Signature& s, PyObject* const* args, size_t nargs, PyObject* kwnames) : signature_(s) {
  const int count = int(s.parameters.size());
  std::memset(values_, 0, sizeof(PyObject*) * size_t(count));
  size_t given = nargs;
  if (nargs >= size_t(s.positional) && s.spreads &&
      nargs > 0) {  // zeros(2, 3): the rest are the sizes; einsum(equation, x, y): the tensors
    PyObject* first = args[s.positional - 1];
    if (is_index(first) || is_tensor(first) || nargs > size_t(s.positional)) {
      gathered_ = PyTuple_New(Py_ssize_t(nargs) - s.positional + 1);
      if (!gathered_) throw PythonError();
      for (size_t i = size_t(s.positional) - 1; i < nargs; ++i)
        PyTuple_SET_ITEM(gathered_, Py_ssize_t(i) - s.positional + 1, Py_NewRef(args[i]));
      values_[s.positional - 1] = gathered_;
      given = size_t(s.positional) - 1;
    }
  }
  if (given > size_t(s.positional))
    type_error(format("[{}] takes at most {} positional arguments: got {}", s.name, s.positional, int64_t(nargs)));
  for (size_t i = 0; i < given; ++i) values_[i] = args[i];
  const Py_ssize_t keywords = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  for (Py_ssize_t k = 0; k < keywords; ++k) {
    PyObject* name = PyTuple_GET_ITEM(kwnames, k);
    PyObject* value = args[nargs + size_t(k)];
    const int found = parameter_named(s, name);
    if (found < 0) {
      const char* text = PyUnicode_AsUTF8(name);
      if (s.has_out && text && std::strcmp(text, "out") == 0) {
        if (value != Py_None) out_ = value;
        continue;
      }
      if (s.returns_tensor && text && std::strcmp(text, "memory_format") == 0) {
        if (value != Py_None) memory_format_ = value;
        continue;
      }
      if (s.returns_tensor && text && means_nothing(text, value)) continue;
      type_error(format("[{}] unexpected keyword argument: got '{}'", s.name, text ? text : "?"));
    }
    if (values_[found]) type_error(format("[{}] argument given twice: got '{}'", s.name, PyUnicode_AsUTF8(name)));
    values_[found] = value;
  }
  if (out_ && !s.result_type && !is_tensor(out_)) type_error(format("[{}] out must be a Tensor: got {}", s.name, Py_TYPE(out_)->tp_name));
  for (int i = 0; i < count; ++i) {
    const Parameter& p = s.parameters[size_t(i)];
    if (!values_[i]) {
      if (!p.standard) type_error(format("[{}] missing argument: '{}'", s.name, PyUnicode_AsUTF8(p.name)));
      values_[i] = p.standard;
    } else if (is_tensor(values_[i]) && unwrap(values_[i]).numel() >= kLarge) {
      large_ = true;
    }
  }
}

void Arguments::add_tensors_to(TensorsInUse& used) const {
  const auto add = [&](PyObject* p) {
    if (p && is_tensor(p)) used.add(unwrap(p));
  };
  const auto add_all = [&](PyObject* p) {
    add(p);
    if (p && (PyList_Check(p) || PyTuple_Check(p)))
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(p); ++i) add(PySequence_Fast_GET_ITEM(p, i));
  };
  for (size_t i = 0; i < signature_.parameters.size(); ++i) add_all(values_[i]);
  add_all(out_);
}

void Arguments::refuse(int i, const char* expected) const {
  type_error(format("[{}] argument '{}' must be {}: got {}", signature_.name, PyUnicode_AsUTF8(signature_.parameters[size_t(i)].name),
      expected, Py_TYPE(get(i))->tp_name));
}

bool to_scalar(PyObject* p, Scalar& out) {
  if (PyFloat_Check(p)) {
    out = PyFloat_AS_DOUBLE(p);
  } else if (PyBool_Check(p)) {
    out = p == Py_True;
  } else if (PyLong_Check(p)) {
    int overflow = 0;
    const long long v = PyLong_AsLongLongAndOverflow(p, &overflow);
    if (overflow) {
      const unsigned long long u = overflow > 0 ? PyLong_AsUnsignedLongLong(p) : 0;
      if (overflow < 0 || PyErr_Occurred()) {
        PyErr_SetString(PyExc_OverflowError, "integer is too large for any dtype");
        throw PythonError();
      }
      out = int64_t(u);  // the bits of a uint64
    } else {
      out = int64_t(v);
    }
  } else if (is_tensor(p)) {
    return false;
  } else if (PyNumber_Check(p) && !PySequence_Check(p)) {  // numpy scalars and the like
    if (PyIndex_Check(p)) {
      Object i = checked(PyNumber_Index(p));
      return to_scalar(i.get(), out);
    }
    Object f(PyNumber_Float(p));
    if (!f) {
      PyErr_Clear();
      return false;
    }
    out = PyFloat_AS_DOUBLE(f.get());
  } else {
    return false;
  }
  return true;
}

MemoryOrder to_memory_order(PyObject* p) {
  const Object name(PyObject_GetAttrString(p, "name"));
  const char* text = name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : nullptr;
  PyErr_Clear();
  constexpr std::pair<const char*, MemoryOrder> orders[] = {{"contiguous_format", MemoryOrder::plain},
      {"preserve_format", MemoryOrder::any}, {"channels_last", MemoryOrder::channels_last},
      {"channels_last_3d", MemoryOrder::channels_last_3d}};
  for (auto [known, order] : orders)
    if (text && std::strcmp(text, known) == 0) return order;
  type_error(format("expected a memory format: got {}", Py_TYPE(p)->tp_name));
}

namespace {

// What an iterable of sizes, numbers or tensors gives, as a list or tuple. It may have no end, or be a tensor of any length.
Object items_of(PyObject* p, const char* expected) {
  constexpr Py_ssize_t kMostItems = 1 << 20;
  if (PyList_Check(p) || PyTuple_Check(p)) return Object::borrowed(p);
  const Object items(PyObject_GetIter(p));
  if (!items) {
    if (PyErr_ExceptionMatches(PyExc_TypeError)) type_error(expected);
    throw PythonError();
  }
  Object list = checked(PyList_New(0));
  while (const Object item{PyIter_Next(items.get())}) {
    require<ValueError>(PyList_GET_SIZE(list.get()) < kMostItems, "{}: got more than {} items", expected, int64_t(kMostItems));
    if (PyList_Append(list.get(), item.get()) < 0) throw PythonError();
  }
  if (PyErr_Occurred()) throw PythonError();
  return list;
}

}  // namespace

Dims to_dims(PyObject* p) {
  Dims dims;
  auto add = [&](PyObject* item) {
    const int64_t v = PyLong_AsLongLong(item);
    if (v == -1 && PyErr_Occurred()) throw PythonError();
    dims.push_back(v);
  };
  if (is_index(p) || (is_tensor(p) && unwrap(p).rank() == 0)) {
    add(checked(PyNumber_Index(p)).get());
    return dims;
  }
  if (PyTuple_Check(p) && PyTuple_GET_SIZE(p) == 1 && PySequence_Check(PyTuple_GET_ITEM(p, 0))) return to_dims(PyTuple_GET_ITEM(p, 0));
  const Object fast = items_of(p, "expected an int or a sequence of ints");
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.get()); ++i) {
    const Object item = Object::borrowed(PySequence_Fast_GET_ITEM(fast.get(), i));  // its __index__ may change the list
    add(checked(PyNumber_Index(item.get())).get());
  }
  return dims;
}

namespace {
const TensorHandle kNone;
}

const TensorHandle& Arguments::tensor(int i) const {
  if (!is_tensor(get(i))) refuse(i, "a Tensor");
  return unwrap(get(i));
}
const TensorHandle& Arguments::optional_tensor(int i) const {
  if (get(i) == Py_None) return kNone;
  if (!is_tensor(get(i))) refuse(i, "a Tensor or None");
  return unwrap(get(i));
}
Tensors Arguments::tensors(int i) const {
  if (!PySequence_Check(get(i)) || is_tensor(get(i))) refuse(i, "a sequence of Tensors");
  const Object fast = items_of(get(i), "expected a sequence of Tensors");
  Tensors result;
  for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(fast.get()); ++k) {
    PyObject* item = PySequence_Fast_GET_ITEM(fast.get(), k);
    if (!is_tensor(item)) refuse(i, "a sequence of Tensors");
    result.push_back(unwrap(item));
  }
  return result;
}
Operand Arguments::operand(int i) const {
  if (is_tensor(get(i))) return Operand(unwrap(get(i)));
  Scalar s;
  if (!to_scalar(get(i), s)) refuse(i, "a Tensor or a number");
  return Operand(s);
}
Scalar Arguments::scalar(int i) const {
  Scalar s;
  if (is_tensor(get(i)) && unwrap(get(i)).rank() == 0) {  // a number in a tensor
    const Object number = checked(PyObject_CallMethod(get(i), "item", nullptr));
    if (to_scalar(number.get(), s)) return s;
  }
  if (!to_scalar(get(i), s)) refuse(i, "a number");
  return s;
}
std::optional<Scalar> Arguments::optional_scalar(int i) const { return get(i) == Py_None ? std::optional<Scalar>() : scalar(i); }
int64_t Arguments::integer(int i) const {
  if (!PyIndex_Check(get(i))) refuse(i, "an int");
  Object index = checked(PyNumber_Index(get(i)));
  const int64_t v = PyLong_AsLongLong(index.get());
  if (v == -1 && PyErr_Occurred()) throw PythonError();
  return v;
}
std::optional<int64_t> Arguments::optional_integer(int i) const { return get(i) == Py_None ? std::optional<int64_t>() : integer(i); }
Dims Arguments::dims(int i) const {
  if (!is_index(get(i)) && (!PySequence_Check(get(i)) || PyUnicode_Check(get(i)))) refuse(i, "an int or a sequence of ints");
  try {
    return to_dims(get(i));
  } catch (PythonError&) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw;
    PyErr_Clear();
    refuse(i, "an int or a sequence of ints");
  }
}
OptionalDims Arguments::optional_dims(int i) const { return get(i) == Py_None ? OptionalDims() : dims(i); }
double Arguments::number(int i) const { return scalar(i).to_double(); }
std::optional<double> Arguments::optional_number(int i) const { return get(i) == Py_None ? std::optional<double>() : number(i); }
OptionalNumbers Arguments::optional_numbers(int i) const { return get(i) == Py_None ? OptionalNumbers() : numbers(i); }
Numbers Arguments::numbers(int i) const {
  Scalar s;
  if (to_scalar(get(i), s)) return Numbers{s.to_double()};
  if (!PySequence_Check(get(i)) || is_tensor(get(i))) refuse(i, "a number or a sequence of numbers");
  const Object fast = items_of(get(i), "expected a sequence of numbers");
  Numbers numbers;
  for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(fast.get()); ++k) {
    if (!to_scalar(PySequence_Fast_GET_ITEM(fast.get(), k), s)) refuse(i, "a number or a sequence of numbers");
    numbers.push_back(s.to_double());
  }
  return numbers;
}
std::optional<bool> Arguments::optional_boolean(int i) const { return get(i) == Py_None ? std::optional<bool>() : boolean(i); }
std::optional<std::string> Arguments::optional_text(int i) const { return get(i) == Py_None ? std::optional<std::string>() : text(i); }
bool Arguments::boolean(int i) const {
  if (!PyBool_Check(get(i))) refuse(i, "a bool");
  return get(i) == Py_True;
}
std::string Arguments::text(int i) const {
  if (!PyUnicode_Check(get(i))) refuse(i, "a str");
  return PyUnicode_AsUTF8(get(i));
}
DType Arguments::dtype(int i) const { return to_dtype(get(i)); }
std::optional<DType> Arguments::optional_dtype(int i) const { return get(i) == Py_None ? std::optional<DType>() : dtype(i); }
Device* Arguments::optional_device(int i) const { return get(i) == Py_None ? nullptr : &to_device(get(i)); }
Generator* Arguments::optional_generator(int i) const {
  if (get(i) == Py_None) return nullptr;
  Generator* g = to_generator(get(i));
  if (!g) refuse(i, "a Generator or None");
  return g;
}

SmallVector<TensorHandle, 4> Arguments::targets() const {
  SmallVector<TensorHandle, 4> targets;
  if (!signature_.result_type) {
    targets.push_back(unwrap(out_));
    return targets;
  }
  const Py_ssize_t expected = signature_.results;
  const bool tuple = PyTuple_Check(out_) || PyList_Check(out_);
  if (!tuple || PySequence_Size(out_) != expected)
    type_error(format("[{}] out must be a tuple of {} Tensors: got {}", signature_.name, int64_t(expected), Py_TYPE(out_)->tp_name));
  Object fast = checked(PySequence_Fast(out_, "expected a tuple"));
  for (Py_ssize_t i = 0; i < expected; ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(fast.get(), i);
    if (!is_tensor(item)) type_error(format("[{}] out must hold Tensors: got {}", signature_.name, Py_TYPE(item)->tp_name));
    targets.push_back(unwrap(item));
  }
  return targets;
}

PyObject* Arguments::wrapped_many(std::span<const TensorHandle* const> results) const {
  Object tuple = checked(PyStructSequence_New(signature_.result_type));
  for (size_t i = 0; i < results.size(); ++i) {
    PyObject* item = wrap(*results[i]);
    if (!item) throw PythonError();
    PyStructSequence_SET_ITEM(tuple.get(), Py_ssize_t(i), item);
  }
  return tuple.release();
}

}  // namespace pyburn::python
