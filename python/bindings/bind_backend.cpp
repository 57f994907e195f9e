// Registering backends from Python and stacking them by hand.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>

#include "objects.h"
#include "pyburn/backends/cpu/simd_level.h"
#include "pyburn/backends/wgpu/wgpu_backend.h"
#include "pyburn/backends/wgpu/wgsl_kernel.h"
#include "pyburn/ops/random.h"
#include "pyburn/runtime/device.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/error.h"
#include "python_backend.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pyburn::python {
namespace {

nb::object backend_class() { return nb::module_::import_("pyburn.backend").attr("Backend"); }

// The one C++ object of a backend written in Python. Both live as long as the process, as devices do.
Ref<Backend> backend_of(nb::object self) {
  static auto* known = new std::map<PyObject*, Ref<Backend>>;
  if (!nb::isinstance(self, backend_class())) {
    PyErr_Format(PyExc_TypeError, "expected a pyburn.backend.Backend: got %s", Py_TYPE(self.ptr())->tp_name);
    throw nb::python_error();
  }
  Ref<Backend>& backend = (*known)[self.ptr()];
  if (!backend) backend = make_ref<PythonBackend>(self);
  return backend;
}

// A Python function that the registry keeps forever.
nb::handle kept(nb::object o) { return o.release(); }

void register_python_backend(
    const std::string& name, nb::object factory, std::vector<std::string> aliases, const std::string& doc, nb::object unavailable) {
  BackendEntry e{.name = name, .aliases = std::move(aliases), .doc = doc};
  e.make = [factory = kept(std::move(factory))](std::span<const Ref<Backend>>, std::string_view text) {
    const GilAcquire gil;
    return backend_of(text.empty() ? factory() : factory(nb::str(text.data(), text.size())));
  };
  if (!unavailable.is_none())
    e.unavailable = [unavailable = kept(std::move(unavailable))] {
      const GilAcquire gil;
      const nb::object why = unavailable();
      return why.is_none() ? std::string() : nb::cast<std::string>(why);
    };
  register_backend(std::move(e));
}

nb::object stack(const std::vector<std::string>& decorators, nb::object leaf) {
  Ref<Backend> b = nb::isinstance(leaf, backend_class()) ? backend_of(leaf)
                   : nb::isinstance<nb::str>(leaf)       ? make_backend(nb::cast<std::string>(leaf))
                                                         : Ref<Backend>(&to_device(leaf.ptr()).backend());
  for (auto name = decorators.rbegin(); name != decorators.rend(); ++name) b = decorate(*name, {&b, 1});
  return device_object(device_of(b));
}

// What a device can do, for programs that test it.
nb::dict capabilities(nb::handle device) {
  const Capabilities c = to_device(device.ptr()).backend().capabilities();
  nb::list dtypes;
  for (DType t : all_dtypes())
    if (c.dtypes.contains(t)) dtypes.append(dtype_object(t));
  nb::dict result;
  result["dtypes"] = dtypes, result["host_memory"] = c.host_memory, result["asynchronous"] = c.asynchronous;
  result["channels_last"] = c.channels_last, result["values"] = c.values;
  return result;
}

nb::list adapters() {
  nb::list out;
  for (const WgpuAdapter& a : wgpu_adapters()) {
    nb::dict row;
    row["name"] = a.name, row["driver"] = a.driver, row["kind"] = a.kind, row["api"] = a.api, row["largest_tensor"] = a.largest_tensor;
    out.append(row);
  }
  return out;
}

nb::object gpu_counters(nb::handle device) {
  const std::optional<WgpuCounters> c = wgpu_counters(to_device(device.ptr()));
  if (!c) return nb::none();
  nb::dict out;
  out["dispatches"] = c->dispatches, out["submissions"] = c->submissions, out["pipelines"] = c->pipelines;
  out["host_calls"] = c->host_calls, out["uploaded"] = c->uploaded, out["downloaded"] = c->downloaded;
  out["reads"] = c->reads;
  return out;
}

// results: pairs of shape and dtype. The caller has checked the types.
nb::list run_user_kernel(const WgslKernel& kernel, nb::sequence tensors, nb::sequence results, nb::dict numbers, int64_t count) {
  Tensors in;
  MetaList out;
  WgslNumbers values;
  InputList list;
  for (nb::handle t : tensors) in.push_back(unwrap(t.ptr()));
  for (nb::handle r : results) out.push_back({to_dims(nb::object(r[0]).ptr()), to_dtype(nb::object(r[1]).ptr())});
  for (const auto& [name, value] : numbers) {
    if (PyFloat_Check(value.ptr())) values.emplace_back(nb::cast<std::string>(name), float(nb::cast<double>(value)));
    else values.emplace_back(nb::cast<std::string>(name), nb::cast<int64_t>(value));
  }
  list.add(in);
  nb::list made;
  for (TensorHandle& t : run_wgsl(kernel, list, {out.data(), size_t(out.size())}, values, count)) made.append(nb::steal(wrap(t)));
  return made;
}

PythonBackend* python_backend(Backend* backend) { return dynamic_cast<PythonBackend*>(backend); }

}  // namespace

void bind_backend(nb::module_& m) {
  m.def("_register_backend", register_python_backend, "name"_a, "factory"_a, "aliases"_a, "doc"_a, "unavailable"_a.none());
  m.def("_stack", stack);
  m.def("_simd_level", cpu::simd_level);
  m.def("_capabilities", capabilities);
  m.def("_gpu_adapters", adapters);
  m.def("_gpu_counters", gpu_counters);
  nb::class_<WgslKernel>(m, "_WgslKernel")
      .def("__init__",
          [](WgslKernel* self, std::string name, std::vector<std::string> inputs, std::vector<std::string> outputs, std::string body,
              std::string declarations, int workgroup_size) {
            new (self) WgslKernel{
                std::move(name), std::move(inputs), std::move(outputs), std::move(body), std::move(declarations), workgroup_size};
          })
      .def_ro("workgroup_size", &WgslKernel::workgroup_size)
      .def("run", run_user_kernel);
  m.def("_injure_gpu", [](nb::handle device, int failing_allocation) { injure_wgpu(to_device(device.ptr()), failing_allocation); });
  // What the operation `random` draws, in host memory: for libraries whose own generators give other numbers.
  m.def(
      "_draw",
      [](nb::handle size, int64_t draw, double a, double b, int64_t seed, int64_t offset, nb::handle dtype, int64_t low, int64_t high) {
        require<ValueError>(draw >= 0 && draw <= int64_t(Draw::permutation), "[draw] unknown distribution: got {}", draw);
        const Random attrs{to_dims(size.ptr()), Draw(draw), a, b, seed, offset, to_dtype(dtype.ptr()), low, high};
        return call(op::random, attrs, {}, &host_device());
      },
      "size"_a, "draw"_a, "a"_a, "b"_a, "seed"_a, "offset"_a, "dtype"_a, "low"_a = 0, "high"_a = 1);
  m.def("_library_array", [](const TensorHandle& t) {
    PythonBackend* owner = python_backend(t.storage()->owner);
    return owner ? owner->array_of(t) : nb::none();
  });
  m.def("_share_on", [](nb::handle exporter, nb::handle device) {
    Device& d = to_device(device.ptr());
    PythonBackend* owner = python_backend(&storage_maker(d.backend()));
    const TensorHandle shared = owner ? owner->share(exporter, d) : TensorHandle();
    return shared.defined() ? nb::steal(wrap(shared)) : nb::none();
  });
  set_wgpu_library_finder([] {
    const GilAcquire gil;
    return nb::cast<std::string>(nb::module_::import_("pyburn.backend.gpu").attr("_library")());
  });
  set_backend_discovery([] {
    const GilAcquire gil;
    nb::module_::import_("pyburn.backend").attr("discover")();
  });
}

}  // namespace pyburn::python
