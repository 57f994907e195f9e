#include "error_path.h"

#include "pyburn/nn/error_path.h"

namespace pyburn::python {
namespace {

using nn::ErrorOrigin;

constexpr const char* kOrigin = "_pb_origin";  // (address, layer, message)

// The error that is set, taken while this lives.
class Raised {
 public:
  Raised() {
    PyErr_Fetch(&type_, &value_, &trace_);
    PyErr_NormalizeException(&type_, &value_, &trace_);
  }
  Raised(const Raised&) = delete;
  Raised& operator=(const Raised&) = delete;
  ~Raised() {
    PyErr_Clear();
    PyErr_Restore(type_, value_, trace_);
  }
  bool is(PyObject* type) const { return PyErr_GivenExceptionMatches(type_, type); }
  std::string text() const {
    const Object text(PyObject_Str(value_));
    return text ? std::string(text_of(text.get())) : std::string();
  }
  void set_text(const std::string& text) {
    if (const Object args(Py_BuildValue("(s)", text.c_str())); args) PyObject_SetAttrString(value_, "args", args.get());
  }
  bool has_origin() const { return PyObject_HasAttrString(value_, kOrigin); }
  ErrorOrigin origin() const {
    unsigned long long module = 0;
    const char *layer = "", *message = "";
    const Object tuple(PyObject_GetAttrString(value_, kOrigin));
    if (!tuple || !PyArg_ParseTuple(tuple.get(), "Kss", &module, &layer, &message)) return {};
    return {reinterpret_cast<const void*>(uintptr_t(module)), layer, message};
  }
  void set_origin(const ErrorOrigin& o) {
    const Object tuple(Py_BuildValue("(Kss)", (unsigned long long)(uintptr_t(o.module)), o.layer.c_str(), o.message.c_str()));
    if (tuple) PyObject_SetAttrString(value_, kOrigin, tuple.get());
  }

 private:
  PyObject *type_ = nullptr, *value_ = nullptr, *trace_ = nullptr;
};

// What to do about arguments that are arrays or lists; empty if it is something else.
std::string advice(nn::Module& module, PyObject* args, const std::string& text) {
  if (!text.starts_with("forward(): incompatible function arguments")) return {};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
    PyObject* value = PyTuple_GET_ITEM(args, i);
    if (!is_tensor(value) && (PyList_Check(value) || PyObject_HasAttrString(value, "__array__")))
      return "[" + module.display_name() + "] expected a Tensor, got a " + type_text(value) + ": convert it with pyburn.as_tensor";
  }
  return {};
}

}  // namespace

void note_origin(const Error& error) noexcept {
  const ErrorOrigin origin = nn::take_origin(error);
  if (origin.module && PyErr_Occurred()) Raised().set_origin(origin);
}

void say_where(nn::Module& module, PyObject* args) noexcept {
  try {
    Raised error;
    if (error.has_origin()) {
      const std::string message = nn::message_at(module, error.origin());
      if (!message.empty()) error.set_text(message);
      return;
    }
    const std::string better = error.is(PyExc_TypeError) && !error.is(base_error) ? advice(module, args, error.text()) : "";
    if (!better.empty()) error.set_text(better);
    if (!better.empty() || error.is(base_error)) error.set_origin(nn::origin_of(module, error.text()));
  } catch (...) {  // the name of a class may raise: the error stays as it is
  }
}

}  // namespace pyburn::python
