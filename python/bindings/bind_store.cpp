// Models in and out of files, for Python: names, filters and adapters may be functions of Python.
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "module_class.h"
#include "pyburn/io/fields_json.h"
#include "pyburn/io/store.h"
#include "pyburn/runtime/transfer.h"
#include "python_files.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pyburn::python {
namespace {

// A Python function that C++ may copy, call and drop without holding the GIL.
class Function {
 public:
  explicit Function(nb::handle f) : f_(f.inc_ref().ptr(), release_later) {}
  template <class... A>
  nb::object operator()(A&&... a) const {
    return nb::borrow(f_.get())(std::forward<A>(a)...);
  }

 private:
  std::shared_ptr<PyObject> f_;
};

// What a Python adapter makes of a tensor: known only once it has been called.
io::Snapshot adapted(const Function& f, const io::Snapshot& s, const io::Place& place) {
  const TensorHandle before = s.load(default_device());
  const GilAcquire gil;
  const nb::object after = f(nb::cast(before), place);
  require<ValueError>(is_tensor(after.ptr()), "[store] an adapter must give a Tensor for '{}'", place.path());
  return io::snapshot_of(s.name, unwrap(after.ptr()));
}

io::Adapter python_adapter(nb::handle object) {
  io::Adapter a;
  const auto method = [&](const char* name) { return Function(object.attr(name)); };
  a.file_name = [f = method("file_name")](const io::Place& place) {
    const GilAcquire gil;
    return text_of(f(place));
  };
  a.from_file = [f = method("from_file")](io::Snapshot s, const io::Place& place) { return adapted(f, s, place); };
  a.to_file = [f = method("to_file")](io::Snapshot s, const io::Place& place) { return adapted(f, s, place); };
  return a;
}

// adapters: the nearest to the file first; of C++, or objects with the three methods.
io::StoreOptions options_of(nb::handle rename, nb::handle keep, nb::list adapters) {
  io::StoreOptions o;
  if (!rename.is_none())
    o.rename = [f = Function(rename)](const std::string& name) {
      const GilAcquire gil;
      return text_of(f(name));
    };
  if (!keep.is_none())
    o.keep = [f = Function(keep)](const std::string& name) {
      const GilAcquire gil;
      return bool(nb::bool_(f(name)));
    };
  bool first = true;
  for (nb::handle h : adapters) {
    const io::Adapter a = nb::isinstance<io::Adapter>(h) ? nb::cast<io::Adapter>(h) : python_adapter(h);
    o.adapter = first ? a : io::chain(o.adapter, a);
    first = false;
  }
  return o;
}

void bind_report(nb::module_& m) {
  nb::class_<io::LoadReport>(m, "LoadReport", "What came of loading a file into a model; print it.")
      .def_ro("applied", &io::LoadReport::applied, "Names of the model's tensors that were read.")
      .def_ro("skipped", &io::LoadReport::skipped, "Names that include and exclude left out.")
      .def_prop_ro(
          "missing",
          [](const io::LoadReport& r) {
            std::vector<std::string> names;
            for (const auto& [name, type] : r.missing) names.push_back(name);
            return names;
          },
          "Names of the model's tensors that the file does not have.")
      .def_ro("unused", &io::LoadReport::unused, "Names in the file that the model does not have.")
      .def_ro("errors", &io::LoadReport::errors, "(name, reason) of each tensor that could not be loaded.")
      .def_prop_ro("complete", &io::LoadReport::complete, "Whether file and model contain the same tensors.")
      .def("__bool__", &io::LoadReport::complete)
      .def("__str__", [](const io::LoadReport& r) { return to_text(r); })
      .def("__repr__", [](const io::LoadReport& r) { return "LoadReport(" + to_text(r) + ")"; });
}

}  // namespace

void bind_store(nb::module_& m) {
  nb::class_<io::Place>(m, "Place", "Where a tensor belongs in a model.")
      .def_ro("module", &io::Place::module, "The path of the module: 'encoder.norm'.")
      .def_ro("name", &io::Place::name, "The name within the module: 'weight'.")
      .def_ro("module_type", &io::Place::module_type, "The module's class: 'LayerNorm'.")
      .def_prop_ro("path", &io::Place::path, "The whole name: 'encoder.norm.weight'.");
  nb::class_<io::Adapter>(m, "CoreAdapter", "An adapter of the core.");
  m.def("burn_layout", io::burn_layout);
  m.def("contiguous_indices", [](const std::vector<std::string>& names) {
    std::vector<std::string> renamed;
    const auto rename = io::contiguous_indices(names);
    for (const std::string& name : names) renamed.push_back(rename(name));
    return renamed;
  });
  m.def("half_precision",
      [](nb::handle dtype, std::vector<std::string> except) { return io::half_precision(to_dtype(dtype.ptr()), std::move(except)); });
  bind_report(m);
  m.def(
      "load_into",
      [](nb::handle module, const io::Snapshots& tensors, nb::handle rename, nb::handle keep, nb::list adapters, bool strict,
          bool file_dtype) {
        const Ref<nn::Module> target = to_module(module);
        require<ValueError>(bool(target), "[load_into] expected a Module: got None");
        const io::LoadOptions options{options_of(rename, keep, adapters), strict, file_dtype};
        const GilRelease released;
        return io::load_into(*target, tensors, options);
      },
      "module"_a.none(), "tensors"_a, "rename"_a.none(), "keep"_a.none(), "adapters"_a, "strict"_a, "file_dtype"_a);
  m.def(
      "module_snapshots",
      [](nb::handle module, nb::handle rename, nb::handle keep, nb::list adapters) {
        const Ref<nn::Module> source = to_module(module);
        require<ValueError>(bool(source), "[save_module] expected a Module: got None");
        const io::StoreOptions options = options_of(rename, keep, adapters);
        const GilRelease released;
        return io::module_snapshots(*source, options);
      },
      "module"_a.none(), "rename"_a.none(), "keep"_a.none(), "adapters"_a);
  m.def("config_json", [](nn::Module& module) { return io::fields_to_json(*module.config().type, module.config().fields); });
}

}  // namespace pyburn::python
