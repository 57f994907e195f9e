#include "signature.h"

#include <algorithm>
#include <utility>

#include "pyburn/ir/op_info.h"
#include "pyburn/support/error.h"
#include "tensor_object.h"

namespace pyburn::python {

PyObject* result_types() {
  static PyObject* types = PyDict_New();
  return types;
}

namespace {

PyObject* parse_default(std::string_view text) {
  const std::string s(text);
  if (s == "None") return Py_NewRef(Py_None);
  if (s == "True") return Py_NewRef(Py_True);
  if (s == "False") return Py_NewRef(Py_False);
  if (s[0] == '\'') return PyUnicode_FromStringAndSize(s.data() + 1, Py_ssize_t(s.size()) - 2);
  if (s[0] == '(') {  // "(0,1)"
    Object list(PyList_New(0));
    for (size_t at = 1, end; (end = s.find_first_of(",)", at)) != s.npos; at = end + 1) {
      const Object number(parse_default(s.substr(at, end - at)));
      if (PyList_Append(list.get(), number.get()) < 0) return nullptr;
    }
    return PyList_AsTuple(list.get());
  }
  if (s.find_first_of(".e") != s.npos) return PyFloat_FromDouble(std::stod(s));
  return PyLong_FromString(s.c_str(), nullptr, 10);
}

// As PyTorch prints it: a field per line.
PyObject* represent_results(PyObject* self) {
  const Py_ssize_t n = PyTuple_GET_SIZE(self);
  Object text(PyUnicode_FromFormat("%s(", Py_TYPE(self)->tp_name));
  for (Py_ssize_t i = 0; i < n && text; ++i) {
    const char* name = Py_TYPE(self)->tp_members[i].name;
    Object line(PyUnicode_FromFormat("\n%s=%R%s", name, PyTuple_GET_ITEM(self, i), i + 1 < n ? "," : ")"));
    if (!line) return nullptr;
    text = Object(PyUnicode_Concat(text.get(), line.get()));
  }
  return text.release();
}

bool has_fields(const PyTypeObject* type, const std::vector<std::string>& names) {
  const PyMemberDef* member = type->tp_members;
  for (const std::string& name : names)
    if (!member->name || name != (member++)->name) return false;
  return !member->name;
}

// "Tensor values, Tensor indices" -> a named tuple, one for all forms of a function; it lives as long as the process.
PyTypeObject* make_result_type(const std::string& function, std::string_view results) {
  PyObject* made = result_types();
  auto* names = new std::vector<std::string>;
  while (!results.empty()) {
    const size_t space = results.find(' '), comma = results.find(',');
    names->emplace_back(results.substr(space + 1, comma == results.npos ? results.npos : comma - space - 1));
    results.remove_prefix(comma == results.npos ? results.size() : comma + 2);
  }
  auto* known = reinterpret_cast<PyTypeObject*>(made ? PyDict_GetItemString(made, function.c_str()) : nullptr);
  if (known && has_fields(known, *names)) {  // an operation that was registered again may have others
    delete names;
    return known;
  }
  auto* fields = new std::vector<PyStructSequence_Field>;
  for (const std::string& name : *names) fields->push_back({name.c_str(), nullptr});
  fields->push_back({nullptr, nullptr});
  const auto* full_name = new std::string("pyburn.return_types." + function);
  PyStructSequence_Desc description{full_name->c_str(), "The results by name.", fields->data(), int(names->size())};
  PyTypeObject* type = PyStructSequence_NewType(&description);
  if (!type) return nullptr;
  type->tp_repr = represent_results;
  PyDict_SetItemString(made, function.c_str(), reinterpret_cast<PyObject*>(type));
  return type;
}

bool is_number(PyObject* p) { return !is_tensor(p) && !PySequence_Check(p) && PyNumber_Check(p); }
bool is_integer(PyObject* p) { return PyIndex_Check(p) && !PyBool_Check(p) && !is_tensor(p); }
bool is_list(PyObject* p) { return PySequence_Check(p) && !PyUnicode_Check(p) && !is_tensor(p); }
// One that `is`, or a list of them.
template <auto is>
bool one_or_more(PyObject* p) {
  if (!is_list(p)) return is(p);
  const Py_ssize_t n = PySequence_Size(p);
  if (n == 0) return true;
  const Object first(n > 0 ? PySequence_GetItem(p, 0) : nullptr);
  if (first) return is(first.get());
  PyErr_Clear();  // the next form of the function may accept it
  return false;
}
bool is_dims(PyObject* p) { return one_or_more<is_integer>(p); }
bool is_extent(PyObject* p) { return is_integer(p) || (is_tensor(p) && unwrap(p).rank() == 0 && is_integral(unwrap(p).dtype())); }
bool is_extents(PyObject* p) { return is_list(p) ? one_or_more<is_extent>(p) : is_integer(p); }
bool is_numbers(PyObject* p) { return one_or_more<is_number>(p); }

// A tensor that is accepted in place of a number.
bool holds_number(PyObject* p) { return is_tensor(p) && unwrap(p).rank() == 0 && !unwrap(p).requires_grad(); }

bool fits(ParameterType type, PyObject* p, bool tensors_as_numbers) {
  const bool none = p == Py_None, number = is_number(p) || (tensors_as_numbers && holds_number(p));
  const bool integer = is_integer(p) || (tensors_as_numbers && holds_number(p) && is_integral(unwrap(p).dtype()));
  switch (type) {
    case ParameterType::tensor:
      return is_tensor(p);
    case ParameterType::optional_tensor:
      return none || is_tensor(p);
    case ParameterType::tensors:
      return is_list(p) && !is_dims(p);
    case ParameterType::operand:
      return is_tensor(p) || is_number(p);
    case ParameterType::optional_scalar:
    case ParameterType::optional_number:
      return none || number;
    case ParameterType::scalar:
    case ParameterType::number:
      return number;
    case ParameterType::integer:
      return integer;
    case ParameterType::optional_integer:
      return none || integer;
    case ParameterType::dims:
      return is_extents(p);
    case ParameterType::optional_dims:
      return none || is_extents(p);
    case ParameterType::numbers:
      return is_numbers(p);
    case ParameterType::optional_numbers:
      return none || is_numbers(p);
    case ParameterType::boolean:
      return PyBool_Check(p);
    case ParameterType::optional_boolean:
      return none || PyBool_Check(p);
    case ParameterType::text:
      return PyUnicode_Check(p);
    case ParameterType::optional_text:
      return none || PyUnicode_Check(p);
    case ParameterType::dtype:
    case ParameterType::optional_dtype:
    case ParameterType::optional_device:
    case ParameterType::optional_generator:
      return !is_tensor(p) && !is_number(p) && !is_list(p);
  }
  return false;
}

}  // namespace

Signature parse_schema(std::string_view schema) {
  Signature s;
  s.name = function_in(schema);
  SchemaParameters parameters(schema);
  for (SchemaParameter p; parameters.next(p);) {
    require<ValueError>(s.parameters.size() < kMostParameters, "[schema] more than {} arguments: got '{}'", kMostParameters, schema);
    s.parameters.push_back({PyUnicode_InternFromString(std::string(p.name).c_str()),
        p.standard.empty() ? nullptr : parse_default(p.standard), p.type, p.keyword_only});
    if (!p.keyword_only) ++s.positional;
  }
  const ParameterType last = s.positional > 0 ? s.parameters[size_t(s.positional - 1)].type : ParameterType::text;
  s.spreads = last == ParameterType::dims || last == ParameterType::tensors;
  const std::string_view results = results_in(schema);
  s.returns_tensor = results == "Tensor";
  if (results.starts_with('(')) {
    s.results = result_count(schema);
    s.result_type = make_result_type(s.name, results.substr(1, results.size() - 2));
  }
  return s;
}

int parameter_named(const Signature& s, PyObject* name) {
  // Words that PyTorch takes as well: NumPy's, and those of its methods split and tensor_split.
  static constexpr std::pair<const char*, const char*> others[] = {{"axis", "dim"}, {"keepdims", "keepdim"}, {"x", "input"}, {"a", "input"},
      {"x1", "input"}, {"x2", "other"}, {"split_size", "split_size_or_sections"}, {"sections", "indices_or_sections"},
      {"indices", "indices_or_sections"}};
  const int count = int(s.parameters.size());
  for (int i = 0; i < count; ++i)  // literals are interned
    if (s.parameters[size_t(i)].name == name) return i;
  for (int i = 0; i < count; ++i)
    if (PyUnicode_Compare(s.parameters[size_t(i)].name, name) == 0) return i;
  for (auto [other, usual] : others) {
    if (PyUnicode_CompareWithASCIIString(name, other) != 0) continue;
    for (int i = 0; i < count; ++i)
      if (PyUnicode_CompareWithASCIIString(s.parameters[size_t(i)].name, usual) == 0) return i;
  }
  return -1;
}

bool accepts(const Signature& s, PyObject* const* args, size_t nargs, PyObject* kwnames, bool tensors_as_numbers) {
  const size_t count = s.parameters.size();
  uint32_t given = 0;
  for (size_t i = 0; i < nargs; ++i) {
    const bool spread = s.spreads && i + 1 >= size_t(s.positional);
    if (i >= size_t(s.positional) && !spread) return false;
    const size_t at = spread ? size_t(s.positional) - 1 : i;
    const ParameterType type = s.parameters[at].type;  // x.view(2, n) with a tensor n is as good as with a number
    const bool one_of_several =
        spread && (type == ParameterType::tensors ? is_tensor(args[i]) : type == ParameterType::dims && is_extent(args[i]));
    if (spread && nargs > size_t(s.positional) && is_list(args[i])) return false;  // randint(0, n, (3,)) is not a size of n and (3,)
    if (!one_of_several && !fits(type, args[i], tensors_as_numbers)) return false;
    given |= 1u << at;
  }
  for (Py_ssize_t k = 0; kwnames && k < PyTuple_GET_SIZE(kwnames); ++k) {
    PyObject* name = PyTuple_GET_ITEM(kwnames, k);
    const int at = parameter_named(s, name);
    if (at < 0) {
      if (s.has_out && PyUnicode_CompareWithASCIIString(name, "out") == 0) continue;
      const auto is = [&](const char* word) { return PyUnicode_CompareWithASCIIString(name, word) == 0; };
      if (s.returns_tensor && (is("memory_format") || is("layout") || is("pin_memory"))) continue;
      return false;
    }
    if (given >> at & 1 || !fits(s.parameters[size_t(at)].type, args[nargs + size_t(k)], tensors_as_numbers)) return false;
    given |= 1u << at;
  }
  for (size_t i = 0; i < count; ++i)
    if (!s.parameters[i].standard && !(given >> i & 1)) return false;
  return true;
}

}  // namespace pyburn::python
