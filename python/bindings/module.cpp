// The extension module pyburn._core.
#include "objects.h"
#include "pyburn/start.h"

namespace nb = nanobind;

NB_MODULE(_core, m) {
  using namespace pyburn::python;
  nb::set_leak_warnings(false);  // dtypes and classes live as long as the process
  m.attr("__version__") = PYBURN_VERSION;
  pyburn::start();
  bind_errors(m);
  bind_objects(m);
  if (!make_tensor_type(m.ptr())) throw nb::python_error();
  bind_op_table(m);
  bind_autograd(m);
  bind_plugins(m);
}
