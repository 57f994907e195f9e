// The callable behind every function and method: matches arguments to the forms of the function and calls its thunk.
#include <algorithm>
#include <map>

#include "arguments.h"
#include "objects.h"
#include "pyburn/ops/aliases.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/runtime/fit_result.h"
#include "pyburn/support/error.h"
#include "row_call.h"

namespace pyburn::python {

namespace {

// One form of a function; most functions have one.
struct Form {
  const FunctionEntry* entry;
  Signature signature;
  const RowCall* row = nullptr;  // an operation of another package: the entry holds its texts alone

  PyObject* call(const Arguments& a) const { return row ? row->call(a) : entry->call(a); }
  bool writes_results() const { return row || entry->into; }
  void into(const Arguments& a, std::span<const TensorHandle> out) const { row ? row->into(a, out) : entry->into(a, out); }
};
struct Overloads {
  std::string name;
  std::vector<Form> forms;
  bool is_built_in() const { return !forms[0].row; }
};

struct FunctionObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  const Overloads* overloads;
  bool in_place;
};
PyTypeObject* function_type = nullptr;

constexpr const char* kResized =
    "An output with one or more elements was resized since its shape does not match the result's. This is deprecated: "
    "give an empty tensor, or call out.resize_(0) before.";

std::string types_of(PyObject* const* args, size_t nargs, PyObject* kwnames) {
  std::string text;
  const size_t keywords = kwnames ? size_t(PyTuple_GET_SIZE(kwnames)) : 0;
  for (size_t i = 0; i < nargs + keywords; ++i) {
    if (i) text += ", ";
    if (i >= nargs) text += std::string(PyUnicode_AsUTF8(PyTuple_GET_ITEM(kwnames, Py_ssize_t(i - nargs)))) + "=";
    text += Py_TYPE(args[i])->tp_name;
  }
  return text;
}

// What a function without a form for out= gives: a new tensor (zeros, arange) takes the dtype of the target.
void write_computed(const TensorHandle& target, const Object& made, const Signature& s) {
  const TensorHandle& result = unwrap(made.get());
  const bool factory = std::none_of(s.parameters.begin(), s.parameters.end(), [](const Parameter& p) { return takes_tensors(p.type); });
  if (!factory) return write_result(target, result);
  const bool is_row = s.name == "arange" || s.name == "range" || s.name == "linspace" || s.name == "logspace";
  if (is_row && target.numel() == result.numel()) return copy_into(target, fn::reshape(result, target.shape()));
  fit_result(target, result.shape());
  copy_into(target, result);
}

const Form& chosen(const FunctionObject& f, PyObject* const* args, size_t nargs, PyObject* kwnames) {
  const std::vector<Form>& forms = f.overloads->forms;
  if (forms.size() == 1) return forms[0];
  for (const bool tensors_as_numbers : {false, true})  // clamp(x, 0, limit) with a 0-d tensor
    for (const Form& form : forms)
      if ((!f.in_place || form.entry->flags & kInPlace) && accepts(form.signature, args, nargs, kwnames, tensors_as_numbers)) return form;
  std::string message =
      format("[{}] no form takes these arguments: got ({}); the forms are", f.overloads->name, types_of(args, nargs, kwnames));
  for (const Form& form : forms) message += std::string("\n    ") + form.entry->schema;
  PyErr_SetString(PyExc_TypeError, message.c_str());
  throw PythonError();
}

PyObject* call_function(PyObject* callable, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  const auto* f = reinterpret_cast<FunctionObject*>(callable);
  const size_t nargs = size_t(PyVectorcall_NARGS(nargsf));
  try {
    const Form& form = chosen(*f, args, nargs, kwnames);
    const Arguments a(form.signature, args, nargs, kwnames);
    if (f->in_place) {
      form.into(a, {&a.tensor(0), 1});
      return Py_NewRef(args[0]);
    }
    if (a.out()) {
      const auto targets = a.targets();
      const ResultScope scope;
      if (form.writes_results()) form.into(a, {targets.data(), size_t(targets.size())});
      else write_computed(targets[0], checked(form.call(a)), form.signature);
      if (scope.resized() && PyErr_WarnEx(PyExc_UserWarning, kResized, 1) < 0) return nullptr;
      return Py_NewRef(a.out());
    }
    if (a.memory_format()) {
      const MemoryOrder order = to_memory_order(a.memory_format());
      if (f->overloads->name == "contiguous") return wrap(in_order(a.tensor(0), order));
      return wrap(in_order(unwrap(checked(form.call(a)).get()), order));
    }
    return form.call(a);
  } catch (Error& e) {
    e.prefix(f->overloads->name);  // composites, which do not pass the door under their own name
    set_python_error();
    return nullptr;
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

std::string function_name(const FunctionObject* f) { return f->overloads->name + (f->in_place ? "_" : ""); }

PyObject* bind(PyObject* self, PyObject* instance, PyObject*) {
  return instance && instance != Py_None ? PyMethod_New(self, instance) : Py_NewRef(self);
}
PyObject* represent(PyObject* self) {
  return PyUnicode_FromFormat("<pyburn function %s>", function_name(reinterpret_cast<FunctionObject*>(self)).c_str());
}
PyObject* get_name(PyObject* self, void*) { return PyUnicode_FromString(function_name(reinterpret_cast<FunctionObject*>(self)).c_str()); }
PyObject* get_module(PyObject* self, void*) {
  return PyUnicode_FromString(reinterpret_cast<FunctionObject*>(self)->overloads->is_built_in() ? "pyburn" : "pyburn.plugins");
}
bool takes_out(const FunctionObject& f, const Form& form) { return form.signature.has_out && !f.in_place; }
// Pairs of a schema and whether the form takes out=.
PyObject* get_schemas(PyObject* self, void*) {
  const auto* f = reinterpret_cast<FunctionObject*>(self);
  const std::vector<Form>& forms = f->overloads->forms;
  Object schemas(PyTuple_New(Py_ssize_t(forms.size())));
  for (size_t i = 0; schemas && i < forms.size(); ++i) {
    PyObject* form = Py_BuildValue("(sO)", forms[i].entry->schema, takes_out(*f, forms[i]) ? Py_True : Py_False);
    if (!form) return nullptr;
    PyTuple_SET_ITEM(schemas.get(), Py_ssize_t(i), form);
  }
  return schemas.release();
}
PyObject* get_signature(PyObject* self, void*) {  // for inspect and editors
  const Object schemas(get_schemas(self, nullptr)), module(schemas ? PyImport_ImportModule("pyburn._schema") : nullptr);
  return module ? PyObject_CallMethod(module.get(), "signature_of_forms", "(O)", schemas.get()) : nullptr;
}
PyObject* get_doc(PyObject* self, void*) {
  const auto* f = reinterpret_cast<FunctionObject*>(self);
  std::string doc;
  for (const Form& form : f->overloads->forms) {
    if (!doc.empty()) doc += "\n\n";
    doc += std::string(form.entry->schema) + "\n\n" + form.entry->doc;
    if (form.entry->example && form.entry->example[0]) doc += std::string("\n\n>>> ") + form.entry->example;
  }
  return PyUnicode_FromString(doc.c_str());
}
// Pickles by name; operations of other packages through the table, which asks the packages that are installed.
PyObject* reduce(PyObject* self, PyObject*) {
  const auto* f = reinterpret_cast<FunctionObject*>(self);
  if (f->overloads->is_built_in()) return get_name(self, nullptr);
  const Object module(PyImport_ImportModule("pyburn.plugins"));
  const Object find(module ? PyObject_GetAttrString(module.get(), "operation") : nullptr);
  return find ? Py_BuildValue("O(s)", find.get(), function_name(f).c_str()) : nullptr;
}

PyGetSetDef function_attributes[] = {
    {"__name__", get_name, nullptr, nullptr, nullptr},
    {"__qualname__", get_name, nullptr, nullptr, nullptr},
    {"__module__", get_module, nullptr, nullptr, nullptr},
    {"__doc__", get_doc, nullptr, nullptr, nullptr},
    {"__signature__", get_signature, nullptr, nullptr, nullptr},
    {"__schemas__", get_schemas, nullptr, nullptr, nullptr},
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

Object make_function(const Overloads& overloads, bool in_place) {
  auto* f = PyObject_New(FunctionObject, function_type);
  if (!f) return Object();
  f->vectorcall = call_function;
  f->overloads = &overloads;
  f->in_place = in_place;
  return Object(reinterpret_cast<PyObject*>(f));
}

}  // namespace

PyObject* functions_of(std::span<const OpInfo* const> rows) {
  static auto* made = new std::map<std::vector<const OpInfo*>, Object>;  // what is made lives as long as the process, as rows do
  Object& result = (*made)[{rows.begin(), rows.end()}];
  if (result) return PyDict_Copy(result.get());
  std::map<std::string, Overloads*> functions;
  for (const OpInfo* row : rows) {
    Signature signature = parse_schema(row->schema);
    auto* call = new RowCall(*row, signature);
    signature.has_out = call->writes_results();
    auto* entry = new FunctionEntry{row->schema, row->doc, row->example, nullptr, nullptr, call->writes_in_place() ? kInPlace : uint8_t(0)};
    Overloads*& overloads = functions[signature.name];
    if (!overloads) overloads = new Overloads{signature.name, {}};
    overloads->forms.push_back({entry, std::move(signature), call});
  }
  Object all = checked(PyDict_New());
  for (const auto& [name, overloads] : functions) {
    const bool in_place =
        std::any_of(overloads->forms.begin(), overloads->forms.end(), [](const Form& form) { return (form.entry->flags & kInPlace) != 0; });
    for (const bool form : {false, true}) {
      if (form && !in_place) continue;
      const Object f = make_function(*overloads, form);
      if (!f || PyDict_SetItemString(all.get(), (form ? name + "_" : name).c_str(), f.get()) < 0) throw PythonError();
    }
  }
  result = all;
  return PyDict_Copy(all.get());
}

bool add_functions(PyObject* module) {
  if (!make_function_type()) return false;
  auto* functions = new std::map<std::string, Overloads>;  // lives as long as the process
  for (size_t i = 0; i < kFunctionCount; ++i) {
    Signature signature = parse_schema(kFunctions[i].schema);
    signature.has_out = kFunctions[i].into || signature.returns_tensor;
    Overloads& overloads = (*functions)[signature.name];
    overloads.name = signature.name;
    overloads.forms.push_back({&kFunctions[i], std::move(signature), nullptr});
  }
  std::vector<std::pair<std::string, const Overloads*>> names;
  for (const auto& [name, overloads] : *functions) names.emplace_back(name, &overloads);
  for (const Alias& alias : kAliases) names.emplace_back(alias.name, &functions->at(alias.function));
  PyObject* type = reinterpret_cast<PyObject*>(tensor_type);
  for (const auto& [name, given] : names) {
    const Overloads& overloads = *given;
    uint8_t flags = 0;
    for (const Form& form : overloads.forms) flags |= form.entry->flags;
    const Object f = make_function(overloads, false);
    if (!f || PyModule_AddObjectRef(module, name.c_str(), f.get()) < 0) return false;
    if (flags & kMethod && PyObject_SetAttrString(type, name.c_str(), f.get()) < 0) return false;
    if (!(flags & kInPlace)) continue;
    const Object g = make_function(overloads, true);
    if (!g || PyObject_SetAttrString(type, (name + "_").c_str(), g.get()) < 0) return false;
  }
  return PyModule_AddObjectRef(module, "_return_types", result_types()) == 0;
}

}  // namespace pyburn::python
