// pyburn._core._nn: modules and layers. Methods that need no C++ are added in python/pyburn/nn.
#include "layer_class.h"
#include "pyburn/nn/parameter.h"

namespace nb = nanobind;

namespace pyburn::python {

void bind_nn(nb::module_& m) {
  m.def("_make_parameter", [](nb::handle cls, const TensorHandle& data, bool requires_grad) {
    return nb::steal(wrap_as(reinterpret_cast<PyTypeObject*>(cls.ptr()), nn::Parameter(data, requires_grad)));
  });
  m.def("_set_parameter_class", [](nb::handle cls) { Py_XSETREF(parameter_type, cls.inc_ref().ptr()); });
  nb::module_ n = m.def_submodule("_nn");
  bind_module(n);
  bind_layers(n);
  bind_containers(n);
  bind_initialisers(n);
}

}  // namespace pyburn::python
