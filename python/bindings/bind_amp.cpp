// The switch of mixed precision.
#include "objects.h"
#include "pyburn/runtime/autocast.h"

namespace nb = nanobind;

namespace pyburn::python {
namespace {

nb::tuple as_tuple(AutocastMode mode) { return nb::make_tuple(mode.enabled, dtype_object(mode.dtype), mode.cache); }
AutocastMode mode_from(bool enabled, nb::handle dtype, bool cache) { return {enabled, cache, to_dtype(dtype.ptr())}; }

}  // namespace

void bind_amp(nb::module_& m) {
  nb::module_ a = m.def_submodule("_amp");
  a.def("mode", [] { return as_tuple(autocast_mode()); });
  a.def("enter", [](bool enabled, nb::handle dtype, bool cache) { return as_tuple(enter_autocast(mode_from(enabled, dtype, cache))); });
  a.def("leave", [](bool enabled, nb::handle dtype, bool cache) { leave_autocast(mode_from(enabled, dtype, cache)); });
  a.def("clear_cache", clear_autocast_cache);
}

}  // namespace pyburn::python
