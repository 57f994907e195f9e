// Files for Python.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include "objects.h"
#include "pyburn/io/atomic_file.h"
#include "pyburn/io/safetensors.h"
#include "pyburn/ops/generated/copy.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pyburn::python {
namespace {

// FileNotFoundError, PermissionError, ...: what open() would raise.
void translate_system_errors(const std::exception_ptr& p, void*) {
  try {
    std::rethrow_exception(p);
  } catch (const std::filesystem::filesystem_error& e) {
    const nb::object error = nb::borrow(PyExc_OSError)(e.code().value(), e.code().message(), e.path1().string());
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  }
}

Device* device_or_default(nb::handle device) { return device.is_none() ? nullptr : &to_device(device.ptr()); }

nb::dict load(const io::SafetensorsReader& reader, Device* device) {
  nb::dict result;
  for (const io::SafetensorsReader::Item& item : reader.items()) result[item.name.c_str()] = nb::cast(reader.tensor(item, device));
  return result;
}

}  // namespace

void bind_io(nb::module_& m) {
  nb::register_exception_translator(translate_system_errors);
  nb::module_ i = m.def_submodule("_io");
  i.def(
      "load_file",
      [](const std::filesystem::path& path, nb::handle device) { return load(io::SafetensorsReader(path), device_or_default(device)); },
      "filename"_a, "device"_a.none() = nb::none());
  i.def(
      "load",
      [](nb::bytes data, nb::handle device) {
        const std::span<const char> bytes(data.c_str(), data.size());
        return load(io::SafetensorsReader(std::as_bytes(bytes)), device_or_default(device));
      },
      "data"_a, "device"_a.none() = nb::none());
  i.def(
      "load_metadata", [](const std::filesystem::path& path) { return io::SafetensorsReader(path).metadata(); }, "filename"_a);
  i.def(
      "save_file",
      [](nb::dict tensors, const std::filesystem::path& path, const io::TextMap& metadata) {
        io::TensorList list;
        for (auto [name, value] : tensors) list.emplace_back(nb::cast<std::string>(name), nb::cast<TensorHandle>(value));
        const GilRelease released;
        io::save_safetensors(list, path, metadata);
      },
      "tensors"_a, "filename"_a, "metadata"_a = io::TextMap());
  i.def(
      "atomic_write",
      [](const std::filesystem::path& path, nb::bytes data) {
        io::atomic_write(path, [&](io::AtomicFile& f) { f.write(std::as_bytes(std::span(data.c_str(), data.size()))); });
      },
      "filename"_a, "data"_a);
}

}  // namespace pyburn::python
