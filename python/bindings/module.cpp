// The extension module pyburn._core.
#include "interop.h"
#include "objects.h"
#include "pyburn/start.h"
#include "step_objects.h"

namespace nb = nanobind;

NB_MODULE(_core, m) {
  using namespace pyburn::python;
  nb::set_leak_warnings(false);  // dtypes and classes live as long as the process
  m.attr("__version__") = PYBURN_VERSION;
  pyburn::start();
  bind_errors(m);
  stop_threads_at_exit();
  bind_objects(m);
  if (!make_size_type(m.ptr()) || !make_tensor_type(m.ptr())) throw nb::python_error();
  bind_op_table(m);
  bind_autograd(m);
  bind_data(m);
  bind_nested_data(m);
  bind_dlpack(m);
  bind_inference(m);
  bind_steps(m);
  bind_onnx_export(m);
  bind_nn(m);
  bind_onnx(m);
  bind_optim(m);
  bind_schedule(m);
  bind_amp(m);
  bind_io(m);
  bind_plugins(m);
  bind_python_operations(m);
  bind_interop(m);
  bind_backend(m);
}
