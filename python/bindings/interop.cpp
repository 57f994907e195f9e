// What pyburn/python.h asks for: extension modules of other packages take and return tensors and modules.
#include "interop.h"

#include "module_class.h"
#include "pyburn/python.h"

namespace nb = nanobind;

namespace pyburn::python {
namespace {

template <class F>
auto translated(F function, decltype(function()) failed) noexcept {
  try {
    return function();
  } catch (...) {
    set_python_error();
    return failed;
  }
}

bool refuse(const char* expected, PyObject* p) {
  PyErr_Format(PyExc_TypeError, "expected %s: got %s", expected, Py_TYPE(p)->tp_name);
  return false;
}

PyObject* wrap_tensor(const TensorHandle& t) {
  return translated([&] { return wrap(t); }, nullptr);
}
bool unwrap_tensor(PyObject* p, TensorHandle& to) {
  if (!is_tensor(p)) return refuse("a Tensor", p);
  to = unwrap(p);
  return true;
}

PyObject* wrap_module(const Ref<nn::Module>& m) {
  return translated([&] { return module_object(m).release().ptr(); }, nullptr);
}
bool unwrap_module(PyObject* p, Ref<nn::Module>& to) {
  if (!is_module(p)) return refuse("a Module", p);
  return translated(
      [&] {
        to = to_module(p);
        return true;
      },
      false);
}

PyObject* wrap_device(Device& d) {
  return translated([&] { return device_object(d).release().ptr(); }, nullptr);
}
bool unwrap_device(PyObject* p, Device*& to) {
  return translated(
      [&] {
        to = &to_device(p);
        return true;
      },
      false);
}

constinit const interop::Interface kInterface = {
    {}, wrap_tensor, unwrap_tensor, wrap_module, unwrap_module, wrap_device, unwrap_device, set_python_error};

}  // namespace

void bind_interop(nb::module_& m) { m.attr("_interop") = nb::capsule(&kInterface, interop::kCapsule); }

}  // namespace pyburn::python
