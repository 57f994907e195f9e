#include "objects.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <memory>
#include <optional>
#include <vector>

#include "printed_package.h"
#include "pyburn/backends/cpu/conv/winograd.h"
#include "pyburn/runtime/allocator.h"
#include "pyburn/runtime/device_identity.h"
#include "pyburn/support/error.h"
#include "pyburn/support/thread_pool.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pyburn::python {

std::string& printed_package() {
  static std::string name = "pyburn";
  return name;
}

namespace {

PyObject* dtype_objects[kMaxDTypes];
PyObject* dtype_class = nullptr;
PyObject* device_class = nullptr;
PyObject* generator_class = nullptr;

struct DeviceObject {
  Device* device;
};
struct GeneratorObject {
  Ref<Generator> generator;
};

[[noreturn]] void expected(const char* what, PyObject* got) {
  PyErr_Format(PyExc_TypeError, "expected %s: got %R", what, got);
  throw PythonError();
}

// An object of exactly this class that its constructor has filled: Device.__new__(Device) gives an empty one.
bool is_made(PyObject* p, PyObject* type) { return Py_TYPE(p) == reinterpret_cast<PyTypeObject*>(type) && nb::inst_ready(p); }

template <class E>
std::string_view utf8(PyObject* text, const char* otherwise) {  // lone surrogates have no UTF-8
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(text, &size);
  if (data) return {data, size_t(size)};
  PyErr_Clear();
  throw E(otherwise);
}

void bind_dtypes(nb::module_& m) {
  m.def("_set_printed_package", [](const std::string& name) { printed_package() = name; });
  nb::class_<DTypeObject> c(m, "DType", "An element type, such as pyburn.float32.");
  c.def_prop_ro("name", [](const DTypeObject& t) { return std::string(name_of(t.value)); })
      .def_prop_ro("itemsize", [](const DTypeObject& t) { return size_of(t.value); })
      .def_prop_ro("is_floating_point", [](const DTypeObject& t) { return is_floating(t.value); })
      .def_prop_ro("is_complex", [](const DTypeObject&) { return false; })
      .def_prop_ro("is_signed", [](const DTypeObject& t) { return is_floating(t.value) || is_signed_integer(t.value); })
      .def("__repr__", [](const DTypeObject& t) { return printed_package() + "." + std::string(name_of(t.value)); })
      .def("__reduce__", [](const DTypeObject& t) { return std::string(name_of(t.value)); });
  dtype_class = c.ptr();
  c.attr("__module__") = "pyburn";
  for (DType t : all_dtypes()) {
    nb::object o = nb::cast(DTypeObject{t});
    m.attr(std::string(name_of(t)).c_str()) = o;
    dtype_objects[int(t)] = o.release().ptr();
  }
  const std::pair<const char*, DType> aliases[] = {{"double", DType::float64}, {"float", DType::float32}, {"half", DType::float16},
      {"short", DType::int16}, {"int", DType::int32}, {"long", DType::int64}};
  for (auto [name, t] : aliases) m.attr(name) = dtype_object(t);
  m.def(
      "promote_types", [](nb::handle a, nb::handle b) { return dtype_object(promote(to_dtype(a.ptr()), to_dtype(b.ptr()))); }, "type1"_a,
      "type2"_a,
      "Returns the dtype that operands of the two dtypes are promoted to.\n\nArgs:\n    type1: A dtype.\n    type2: A dtype.\n\nReturns:\n "
      "   The common dtype.\n\n>>> pyburn.promote_types(pyburn.int64, pyburn.float16)\npyburn.float16");
  m.def(
      "get_default_dtype", [] { return dtype_object(default_dtype()); },
      "Returns the dtype of new floating-point tensors.\n\n>>> pyburn.get_default_dtype()\npyburn.float32");
  m.def(
      "set_default_dtype", [](nb::handle t) { set_default_dtype(to_dtype(t.ptr())); }, "d"_a,
      "Sets the dtype of new floating-point tensors.\n\nArgs:\n    d: A floating-point dtype.\n\nRaises:\n    DTypeError: The dtype is not "
      "floating point.\n\n>>> pyburn.set_default_dtype(pyburn.float32)");
}

// `with device:` nests; the innermost is this thread's default.
std::vector<std::unique_ptr<DeviceScope>>& entered_devices() {
  thread_local std::vector<std::unique_ptr<DeviceScope>> list;
  return list;
}

void bind_devices(nb::module_& m) {
  nb::class_<DeviceObject> c(m, "Device", "A stack of backends, such as autodiff(ndarray). Made from its name.");
  c.def(
       "__init__", [](DeviceObject* self, nb::handle name) { new (self) DeviceObject{&to_device(name.ptr())}; }, "name"_a)
      .def_prop_ro("name", [](const DeviceObject& d) { return d.device->name(); })
      .def_prop_ro("type", [](const DeviceObject& d) { return type_of(*d.device); })
      .def_prop_ro("index", [](const DeviceObject& d) { return index_of(*d.device); })
      .def_prop_ro("has_values", [](const DeviceObject& d) { return has_values(*d.device); })
      .def("__repr__",
          [](const DeviceObject& d) { return "device(" + nb::cast<std::string>(nb::repr(nb::cast(typed_name_of(*d.device)))) + ")"; })
      .def("__str__", [](const DeviceObject& d) { return typed_name_of(*d.device); })
      .def(
          "__eq__",
          [](const DeviceObject& d, nb::handle o) {
            const bool member = nb::isinstance(o, nb::module_::import_("enum").attr("Enum")) && nb::isinstance<nb::str>(o.attr("value"));
            if (!PyUnicode_Check(o.ptr()) && !nb::isinstance<DeviceObject>(o) && !member) return false;
            try {
              return d.device == &to_device(o.ptr());
            } catch (const DeviceError&) {  // an unknown name is equal to no device
              return false;
            }
          },
          nb::arg().none())
      .def("__hash__", [](const DeviceObject& d) { return reinterpret_cast<uintptr_t>(d.device) >> 4; })
      .def("__reduce__",
          [](const DeviceObject& d) {
            const std::string name = typed_name_of(*d.device);
            require<DeviceError>(begins_as_device(stack_name(d.device->leaf())) && &device(name) == d.device,
                "[pickle] {} was built from a backend object without a registered name: register the backend", name);
            return nb::make_tuple(nb::borrow(device_class), nb::make_tuple(name));
          })
      .def("__copy__", [](nb::object self) { return self; })
      .def(
          "__deepcopy__", [](nb::object self, nb::handle) { return self; }, "memo"_a.none())
      .def("__enter__",
          [](nb::object self) {
            entered_devices().push_back(std::make_unique<DeviceScope>(to_device(self.ptr())));
            return self;
          })
      .def(
          "__exit__",
          [](nb::handle, nb::handle, nb::handle, nb::handle) {
            if (!entered_devices().empty()) entered_devices().pop_back();
          },
          "type"_a.none(), "value"_a.none(), "traceback"_a.none())
      .def(
          "synchronize",
          [](const DeviceObject& d) {
            const GilRelease released;
            d.device->backend().synchronize();
          },
          "Waits until everything asked of this device is done.")
      .def(
          "memory",
          [](const DeviceObject& d) {
            const MemoryStatistics s = d.device->backend().memory();
            nb::dict result;
            result["in_use"] = s.in_use, result["reserved"] = s.reserved, result["peak"] = s.peak;
            return result;
          },
          "Bytes in use, reserved from the system, and the peak.");
  device_class = c.ptr();
  c.attr("__module__") = "pyburn";
  m.def("_default_device", [] { return device_object(default_device()); });
  m.def(
      "_set_default_device", [](nb::handle d) { d.is_none() ? reset_default_device() : set_default_device(to_device(d.ptr())); },
      "device"_a.none());
  m.def("_begins_as_device", [](std::string_view text) { return begins_as_device(text); });
  m.def("_backends", [] {
    nb::list result;
    for (const BackendEntry& e : backend_entries()) {
      nb::dict row;
      row["name"] = e.name, row["doc"] = e.doc, row["decorator"] = e.decorator;
      nb::list aliases;
      for (const std::string& a : e.aliases) aliases.append(a);
      row["aliases"] = aliases;
      row["unavailable"] = e.unavailable ? e.unavailable() : std::string();
      result.append(row);
    }
    return result;
  });
  m.def(
      "set_num_threads", [](int n) { set_num_threads(n); }, "n"_a,
      "Sets the number of threads that operations may use.\n\nArgs:\n    n: The number of threads, at least 1.\n\nRaises:\n    ValueError: "
      "n is less than 1.\n\n>>> pyburn.set_num_threads(pyburn.get_num_threads())");
  m.def(
      "get_num_threads", [] { return num_threads(); },
      "Returns the number of threads that operations may use.\n\n>>> pyburn.get_num_threads() > 0\nTrue");
  m.def("_empty_cache", [] { empty_host_cache(); });
  m.def(
      "set_float32_conv_precision",
      [](const std::string& precision) {
        require<ValueError>(precision == "high" || precision == "highest",
            "[set_float32_conv_precision] expected 'high' or 'highest': got '{}'", precision);
        cpu::set_fast_convolution(precision == "high");
      },
      "precision"_a,
      "Sets how precisely float32 convolutions are computed.\n\nArgs:\n    precision: 'highest' rounds like a sum of products. 'high', the "
      "default, also allows faster algorithms (Winograd), whose rounding\n        errors are about five times as large.\n\nRaises:\n    "
      "ValueError: precision is neither 'high' nor 'highest'.\n\n>>> pyburn.set_float32_conv_precision('high')");
  m.def(
      "get_float32_conv_precision", [] { return cpu::fast_convolution() ? "high" : "highest"; },
      "Returns the setting of set_float32_conv_precision: 'high' or 'highest'.\n\n>>> pyburn.get_float32_conv_precision()\n'high'");
}

void bind_generators(nb::module_& m) {
  nb::class_<GeneratorObject> c(m, "Generator", "A source of random numbers with a state of its own.");
  c.def(
       "__init__", [](GeneratorObject* self, nb::handle) { new (self) GeneratorObject{make_ref<Generator>()}; }, "device"_a = nb::none())
      .def(
          "manual_seed",
          [](nb::object self, uint64_t seed) {
            nb::cast<GeneratorObject&>(self).generator->manual_seed(seed);
            return self;
          },
          "seed"_a, "Starts over from a seed.")
      .def(
          "seed",
          [](GeneratorObject& g) {
            const uint64_t s = entropy();
            g.generator->manual_seed(s);
            return s;
          },
          "Starts over from a random seed, which is returned.")
      .def("initial_seed", [](GeneratorObject& g) { return g.generator->state().seed; })
      .def(
          "get_state", [](GeneratorObject& g) { return nb::make_tuple(g.generator->state().seed, g.generator->state().offset); },
          "The state, to be given to set_state later.")
      .def(
          "set_state",
          [](GeneratorObject& g, std::pair<uint64_t, uint64_t> s) {
            g.generator->set_state({s.first, s.second});
          },
          "new_state"_a);
  generator_class = c.ptr();
  c.attr("__module__") = "pyburn";
  m.def(
      "_use_generator",
      [](std::optional<GeneratorObject> g) -> std::optional<GeneratorObject> {
        Ref<Generator> former = use_generator(g ? g->generator : nullptr);
        return former ? std::optional(GeneratorObject{std::move(former)}) : std::nullopt;
      },
      "generator"_a.none());
  m.def("_current_generator", [] { return GeneratorObject{Ref<Generator>(&default_generator())}; });
  m.attr("default_generator") = nb::cast(GeneratorObject{Ref<Generator>(&default_generator())});
}

}  // namespace

nb::object dtype_object(DType t) { return nb::borrow(dtype_objects[int(t)]); }
nb::object device_object(Device& d) { return nb::cast(DeviceObject{&d}); }

DType to_dtype(PyObject* p) {
  if (is_made(p, dtype_class)) return nb::inst_ptr<DTypeObject>(p)->value;
  if (p == reinterpret_cast<PyObject*>(&PyFloat_Type)) return default_dtype();
  if (p == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::int64;
  if (p == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::boolean;
  if (PyUnicode_Check(p)) {
    std::string_view s = utf8<DTypeError>(p, "[dtype] the name is not valid Unicode");
    for (std::string_view prefix : {"pyburn.", "torch."})
      if (s.starts_with(prefix)) s.remove_prefix(prefix.size());
    return dtype_from_name(s);
  }
  Object name(PyObject_GetAttrString(p, PyType_Check(p) ? "__name__" : "name"));  // numpy.dtype and numpy's scalar types
  if (!name || !PyUnicode_Check(name.get())) {
    PyErr_Clear();
    expected("a dtype", p);
  }
  return dtype_from_name(PyUnicode_AsUTF8(name.get()));
}

Device& to_device(PyObject* p) {
  constexpr const char* kNoText = "[device] the name of a device must be valid Unicode";
  if (is_made(p, device_class)) return *nb::inst_ptr<DeviceObject>(p)->device;
  if (PyUnicode_Check(p)) return device(utf8<DeviceError>(p, kNoText));
  Object value(PyObject_GetAttrString(p, "value"));  // a member of the Backend enum
  if (!value || !PyUnicode_Check(value.get())) {
    PyErr_Clear();
    expected("a device (name, Device or member of BackendKind)", p);
  }
  return device(utf8<DeviceError>(value.get(), kNoText));
}

Generator* to_generator(PyObject* p) {
  return Py_TYPE(p) == reinterpret_cast<PyTypeObject*>(generator_class) ? nb::inst_ptr<GeneratorObject>(p)->generator.get() : nullptr;
}

void bind_objects(nb::module_& m) {
  bind_dtypes(m);
  bind_devices(m);
  bind_generators(m);
}

}  // namespace pyburn::python
