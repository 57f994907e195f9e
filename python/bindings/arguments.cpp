#include "arguments.h"

#include <structmember.h>

#include <cstring>
#include <string>
#include <vector>

#include "objects.h"
#include "pyburn/support/error.h"

namespace pyburn::python {

enum class ParameterType : uint8_t {
  tensor,
  optional_tensor,
  tensors,
  operand,
  scalar,
  optional_scalar,
  integer,
  optional_integer,
  dims,
  optional_dims,
  number,
  boolean,
  text,
  dtype,
  optional_dtype,
  optional_device,
  optional_generator,
};

struct Parameter {
  PyObject* name;      // interned
  PyObject* standard;  // default value, or null when required
  ParameterType type;
  bool keyword_only;
};

struct Signature {
  std::string name;
  std::vector<Parameter> parameters;
  int positional = 0;
  bool spreads = false;  // the last positional parameter may be given as several integers
  bool has_out = false;
};

namespace {

constexpr std::pair<std::string_view, ParameterType> kTypes[] = {
    {"Tensor", ParameterType::tensor},
    {"Tensor?", ParameterType::optional_tensor},
    {"Tensor[]", ParameterType::tensors},
    {"Tensor|Scalar", ParameterType::operand},
    {"Scalar", ParameterType::scalar},
    {"Scalar?", ParameterType::optional_scalar},
    {"int", ParameterType::integer},
    {"int?", ParameterType::optional_integer},
    {"int[]", ParameterType::dims},
    {"int[]?", ParameterType::optional_dims},
    {"float", ParameterType::number},
    {"bool", ParameterType::boolean},
    {"str", ParameterType::text},
    {"DType", ParameterType::dtype},
    {"DType?", ParameterType::optional_dtype},
    {"Device?", ParameterType::optional_device},
    {"Generator?", ParameterType::optional_generator},
};

PyObject* parse_default(std::string_view text) {
  const std::string s(text);
  if (s == "None") return Py_NewRef(Py_None);
  if (s == "True") return Py_NewRef(Py_True);
  if (s == "False") return Py_NewRef(Py_False);
  if (s[0] == '\'') return PyUnicode_FromStringAndSize(s.data() + 1, Py_ssize_t(s.size()) - 2);
  if (s.find_first_of(".e") != s.npos) return PyFloat_FromDouble(std::stod(s));
  return PyLong_FromString(s.c_str(), nullptr, 10);
}

// "add(Tensor|Scalar input, ..., *, Scalar alpha=1) -> Tensor"
Signature parse_schema(std::string_view schema) {
  Signature s;
  const size_t open = schema.find('('), close = schema.rfind(") ->");
  s.name = schema.substr(0, open);
  std::string_view body = schema.substr(open + 1, close - open - 1);
  bool keyword_only = false;
  while (!body.empty()) {
    const size_t comma = body.find(", ");
    const std::string_view part = body.substr(0, comma);
    body.remove_prefix(comma == body.npos ? body.size() : comma + 2);
    if (part == "*") {
      keyword_only = true;
      continue;
    }
    const size_t equals = part.find('='), space = part.substr(0, equals).rfind(' ');
    const std::string_view type = part.substr(0, space),
                           name = part.substr(space + 1, equals == part.npos ? part.npos : equals - space - 1);
    Parameter p{PyUnicode_InternFromString(std::string(name).c_str()),
        equals == part.npos ? nullptr : parse_default(part.substr(equals + 1)), {}, keyword_only};
    for (auto [text, t] : kTypes)
      if (text == type) p.type = t;
    s.parameters.push_back(p);
    if (!keyword_only) ++s.positional;
  }
  s.spreads = s.positional > 0 && s.parameters[size_t(s.positional - 1)].type == ParameterType::dims;
  return s;
}

[[noreturn]] void type_error(const std::string& message) {
  PyErr_SetString(PyExc_TypeError, message.c_str());
  throw PythonError();
}

constexpr int64_t kLarge = 1 << 16;

}  // namespace

Arguments::Arguments(const Signature& s, PyObject* const* args, size_t nargs, PyObject* kwnames) : signature_(s) {
  const int count = int(s.parameters.size());
  std::memset(values_, 0, sizeof(PyObject*) * size_t(count));
  size_t given = nargs;
  if (nargs >= size_t(s.positional) && s.spreads && nargs > 0) {  // zeros(2, 3): the rest are the sizes
    PyObject* first = args[s.positional - 1];
    if (PyLong_Check(first) || nargs > size_t(s.positional)) {
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
    int found = -1;
    for (int i = 0; i < count && found < 0; ++i)
      if (s.parameters[size_t(i)].name == name) found = i;
    for (int i = 0; i < count && found < 0; ++i)
      if (PyUnicode_Compare(s.parameters[size_t(i)].name, name) == 0) found = i;
    if (found < 0) {
      const char* text = PyUnicode_AsUTF8(name);
      if (s.has_out && text && std::strcmp(text, "out") == 0) {
        if (value != Py_None) out_ = value;
        continue;
      }
      type_error(format("[{}] unexpected keyword argument: got '{}'", s.name, text ? text : "?"));
    }
    if (values_[found]) type_error(format("[{}] argument given twice: got '{}'", s.name, PyUnicode_AsUTF8(name)));
    values_[found] = value;
  }
  if (out_ && !is_tensor(out_)) type_error(format("[{}] out must be a Tensor: got {}", s.name, Py_TYPE(out_)->tp_name));
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

Dims to_dims(PyObject* p) {
  Dims dims;
  auto add = [&](PyObject* item) {
    const int64_t v = PyLong_AsLongLong(item);
    if (v == -1 && PyErr_Occurred()) throw PythonError();
    dims.push_back(v);
  };
  if (PyLong_Check(p)) {
    add(p);
    return dims;
  }
  if (PyTuple_Check(p) && PyTuple_GET_SIZE(p) == 1 && PySequence_Check(PyTuple_GET_ITEM(p, 0))) return to_dims(PyTuple_GET_ITEM(p, 0));
  Object fast = checked(PySequence_Fast(p, "expected an int or a sequence of ints"));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.get()); ++i) {
    Object index = checked(PyNumber_Index(PySequence_Fast_GET_ITEM(fast.get(), i)));
    add(index.get());
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
  Object fast = checked(PySequence_Fast(get(i), "expected a sequence of Tensors"));
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
  if (!PyLong_Check(get(i)) && (!PySequence_Check(get(i)) || PyUnicode_Check(get(i)))) refuse(i, "an int or a sequence of ints");
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

// --- the callable ------------------------------------------------------------------------------------------------

namespace {

struct FunctionObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  const FunctionEntry* entry;
  const Signature* signature;
  bool in_place;
};
PyTypeObject* function_type = nullptr;

PyObject* call_function(PyObject* callable, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  const auto* f = reinterpret_cast<FunctionObject*>(callable);
  try {
    const Arguments a(*f->signature, args, size_t(PyVectorcall_NARGS(nargsf)), kwnames);
    if (f->in_place) {
      f->entry->into(a, a.tensor(0));
      return Py_NewRef(args[0]);
    }
    if (a.out()) {
      f->entry->into(a, unwrap(a.out()));
      return Py_NewRef(a.out());
    }
    return f->entry->call(a);
  } catch (Error& e) {
    e.prefix(f->signature->name);  // composites, which do not pass the door under their own name
    set_python_error();
    return nullptr;
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

std::string function_name(const FunctionObject* f) { return f->signature->name + (f->in_place ? "_" : ""); }

PyObject* bind(PyObject* self, PyObject* instance, PyObject*) {
  return instance && instance != Py_None ? PyMethod_New(self, instance) : Py_NewRef(self);
}
PyObject* represent(PyObject* self) {
  return PyUnicode_FromFormat("<pyburn function %s>", function_name(reinterpret_cast<FunctionObject*>(self)).c_str());
}
PyObject* get_name(PyObject* self, void*) { return PyUnicode_FromString(function_name(reinterpret_cast<FunctionObject*>(self)).c_str()); }
PyObject* get_module(PyObject*, void*) { return PyUnicode_FromString("pyburn"); }
PyObject* get_doc(PyObject* self, void*) {
  const auto* f = reinterpret_cast<FunctionObject*>(self);
  std::string doc = std::string(f->entry->schema) + "\n\n" + f->entry->doc;
  if (f->entry->example[0]) doc += std::string("\n\n>>> ") + f->entry->example;
  return PyUnicode_FromString(doc.c_str());
}
PyObject* reduce(PyObject* self, PyObject*) { return get_name(self, nullptr); }  // pickles by name

PyGetSetDef function_attributes[] = {
    {"__name__", get_name, nullptr, nullptr, nullptr},
    {"__qualname__", get_name, nullptr, nullptr, nullptr},
    {"__module__", get_module, nullptr, nullptr, nullptr},
    {"__doc__", get_doc, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyMethodDef function_methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyMemberDef function_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(FunctionObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

bool make_function_type() {
  PyType_Slot slots[] = {
      {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
      {Py_tp_descr_get, reinterpret_cast<void*>(bind)},
      {Py_tp_repr, reinterpret_cast<void*>(represent)},
      {Py_tp_getset, function_attributes},
      {Py_tp_methods, function_methods},
      {Py_tp_members, function_members},
      {0, nullptr},
  };
  PyType_Spec spec = {"pyburn._core.Function", int(sizeof(FunctionObject)), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  function_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return function_type;
}

Object make_function(const FunctionEntry& entry, const Signature& signature, bool in_place) {
  auto* f = PyObject_New(FunctionObject, function_type);
  if (!f) return Object();
  f->vectorcall = call_function;
  f->entry = &entry;
  f->signature = &signature;
  f->in_place = in_place;
  return Object(reinterpret_cast<PyObject*>(f));
}

}  // namespace

bool add_functions(PyObject* module) {
  if (!make_function_type()) return false;
  for (size_t i = 0; i < kFunctionCount; ++i) {
    const FunctionEntry& e = kFunctions[i];
    auto* signature = new Signature(parse_schema(e.schema));  // lives as long as the process
    signature->has_out = e.into != nullptr;
    const Object f = make_function(e, *signature, false);
    if (!f || PyModule_AddObjectRef(module, signature->name.c_str(), f.get()) < 0) return false;
    if (!(e.flags & kMethod)) continue;
    PyObject* type = reinterpret_cast<PyObject*>(tensor_type);
    if (PyObject_SetAttrString(type, signature->name.c_str(), f.get()) < 0) return false;
    if (!(e.flags & kInPlace)) continue;
    const Object g = make_function(e, *signature, true);
    if (!g || PyObject_SetAttrString(type, (signature->name + "_").c_str(), g.get()) < 0) return false;
  }
  return true;
}

}  // namespace pyburn::python
