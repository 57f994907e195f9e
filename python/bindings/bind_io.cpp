// Files for Python.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "pyburn/io/atomic_file.h"
#include "pyburn/io/bundle.h"
#include "pyburn/io/npy.h"
#include "pyburn/io/safetensors.h"
#include "pyburn/io/safetensors_dtypes.h"
#include "python_files.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pyburn::python {
namespace {

// file.write(bytes), in pieces.
class PythonSink final : public io::ByteSink {
 public:
  explicit PythonSink(nb::handle file) : write_(file.attr("write")) {}
  void write(std::span<const std::byte> bytes) override {
    constexpr size_t kPiece = size_t(1) << 24;
    for (; !bytes.empty(); bytes = bytes.subspan(std::min(bytes.size(), kPiece)))
      write_(nb::bytes(bytes.data(), std::min(bytes.size(), kPiece)));
  }

 private:
  nb::object write_;
};

nb::object load(const io::Snapshot& s, nb::handle device) {
  Device& target = device_or_default(device);
  TensorHandle t;
  {
    const GilRelease released;
    t = s.load(target);
  }
  return nb::cast(t);
}

nb::dict load_all(const io::Snapshots& snapshots, nb::handle device) {
  nb::dict result;
  for (const io::Snapshot& s : snapshots) result[s.name.c_str()] = load(s, device);
  return result;
}

io::Snapshots snapshots_of(nb::dict tensors) {
  io::Snapshots list;
  for (auto [name, value] : tensors) {
    if (!is_tensor(value.ptr())) {
      PyErr_Format(PyExc_TypeError, "expected a Tensor under %R: got %s", name.ptr(), Py_TYPE(value.ptr())->tp_name);
      throw PythonError();
    }
    list.push_back(io::snapshot_of(text_of(name), unwrap(value.ptr())));
  }
  return list;
}

void bind_snapshots(nb::module_& m) {
  nb::class_<io::Snapshot>(m, "Snapshot", "A named tensor of a file or model, read on demand.")
      .def_ro("name", &io::Snapshot::name, "Its name.")
      .def_prop_ro(
          "shape", [](const io::Snapshot& s) { return nb::steal(make_size(s.meta.shape)); }, "The shape, known without reading the data.")
      .def_prop_ro(
          "dtype", [](const io::Snapshot& s) { return dtype_object(s.meta.dtype); }, "The dtype, known without reading the data.")
      .def(
          "load", [](const io::Snapshot& s, nb::handle device) { return load(s, device); }, "device"_a.none() = nb::none(),
          "Reads the tensor.")
      .def("__repr__", [](const io::Snapshot& s) { return format("Snapshot('{}', {}, {})", s.name, s.meta.shape, s.meta.dtype); });
  m.def(
      "open_tensors",
      [](nb::handle source, bool mmap, bool verify, const std::string& key) {
        const io::OpenOptions options{mmap, verify, key};
        const io::TensorFile file = PyBytes_Check(source.ptr()) ? io::open_tensors(bytes_to_read(source), options)
                                                                : io::open_tensors(nb::cast<std::filesystem::path>(source), options);
        return nb::make_tuple(file.tensors, file.metadata, file.format);
      },
      "source"_a, "mmap"_a, "verify"_a, "key"_a);
  m.def(
      "write_tensors",
      [](const io::Snapshots& tensors, const std::filesystem::path& path, const io::TextMap& metadata, const std::string& format) {
        const GilRelease released;
        io::write_tensors(tensors, path, metadata, format);
      },
      "tensors"_a, "path"_a, "metadata"_a, "format"_a);
  m.def("snapshots_of", snapshots_of);
}

void bind_safetensors(nb::module_& m) {
  m.def(
      "load_file",
      [](const std::filesystem::path& path, nb::handle device, bool mmap) {
        if (path.filename().string().ends_with(".index.json")) return load_all(io::open_index(path, {.mmap = mmap}).tensors, device);
        return load_all(io::SafetensorsReader(path).snapshots(mmap), device);
      },
      "filename"_a, "device"_a.none() = nb::none(), "mmap"_a = false);
  m.def(
      "load", [](nb::bytes data, nb::handle device) { return load_all(io::SafetensorsReader(bytes_to_read(data)).snapshots(), device); },
      "data"_a, "device"_a.none() = nb::none());
  m.def("safetensors_dtype", [](nb::handle dtype) { return std::string(io::safetensors_name(to_dtype(dtype.ptr()))); });
  m.def(
      "load_metadata", [](const std::filesystem::path& path) { return io::SafetensorsReader(path).metadata(); }, "filename"_a);
  m.def("safetensors_dtype", [](nb::handle dtype) { return std::string(io::safetensors_name(to_dtype(dtype.ptr()))); });
  m.def("save_file", [](nb::dict tensors, nb::handle target, const io::TextMap& metadata) {
    const io::Snapshots list = snapshots_of(tensors);
    write_to(target, [&](io::ByteSink& sink) { io::write_safetensors(list, sink, metadata); });
  });
  m.def("save_sharded", [](nb::dict tensors, const std::filesystem::path& path, uint64_t largest, const io::TextMap& metadata) {
    const io::Snapshots list = snapshots_of(tensors);
    const GilRelease released;
    io::save_safetensors_sharded(list, path, largest, metadata);
  });
}

void bind_arrays(nb::module_& m) {
  m.def("save_npy", [](const TensorHandle& t, nb::handle target) {
    write_to(target, [&](io::ByteSink& sink) { io::write_npy(io::snapshot_of("array", t), sink); });
  });
  m.def("save_npz", [](nb::dict tensors, nb::handle target) {
    const io::Snapshots list = snapshots_of(tensors);
    write_to(target, [&](io::ByteSink& sink) { io::write_npz(list, sink); });
  });
}

void bind_bundles(nb::module_& m) {
  m.def("write_bundle",
      [](nb::handle target, const io::Snapshots& tensors, const std::string& config, const io::TextMap& metadata, nb::dict sections) {
        write_to(target, [&](io::ByteSink& sink) {
          io::BundleWriter writer(sink);
          if (!config.empty()) writer.config(config);
          writer.metadata(metadata);
          for (const io::Snapshot& t : tensors) writer.tensor(t);
          const GilAcquire gil;
          for (auto [name, data] : sections) {
            const auto bytes = nb::cast<nb::bytes>(data);
            writer.section(text_of(name), std::as_bytes(std::span(bytes.c_str(), bytes.size())));
          }
          writer.finish();
        });
      });
  m.def("read_bundle", [](nb::handle source, bool mmap, bool verify) {
    const io::BundleReader reader(bytes_to_read(source), {mmap, verify, ""});
    nb::dict sections;
    for (const std::string& name : reader.sections()) {
      const io::SharedBytes bytes = reader.section(name);
      sections[name.c_str()] = nb::bytes(bytes.view().data(), bytes.size());
    }
    return nb::make_tuple(reader.config(), reader.metadata(), reader.tensors(), sections);
  });
}

}  // namespace

io::SharedBytes bytes_to_read(nb::handle source) {
  if (!PyBytes_Check(source.ptr())) return io::SharedBytes::of_file(nb::cast<std::filesystem::path>(source));
  const auto* data = reinterpret_cast<const std::byte*>(PyBytes_AS_STRING(source.ptr()));
  return io::SharedBytes::of({data, data + PyBytes_GET_SIZE(source.ptr())});
}

void write_to(nb::handle target, const std::function<void(io::ByteSink&)>& fill) {
  if (nb::hasattr(target, "write")) {
    PythonSink sink(target);
    return fill(sink);
  }
  const auto path = nb::cast<std::filesystem::path>(target);
  const GilRelease released;
  io::atomic_write(path, fill);
}

Device& device_or_default(nb::handle device) { return device.is_none() ? default_device() : to_device(device.ptr()); }

std::string text_of(nb::handle text) {
  if (!PyUnicode_Check(text.ptr())) {
    PyErr_Format(PyExc_TypeError, "expected a str: got %R", text.ptr());
    throw PythonError();
  }
  Py_ssize_t size = 0;
  const char* s = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (!s) throw PythonError();
  return {s, size_t(size)};
}

void bind_io(nb::module_& m) {
  nb::module_ i = m.def_submodule("_io");
  bind_snapshots(i);
  bind_safetensors(i);
  bind_arrays(i);
  bind_bundles(i);
  bind_checkpoint(i);
  bind_store(i);
  i.def(
      "atomic_write",
      [](const std::filesystem::path& path, nb::bytes data) {
        io::atomic_write(path, [&](io::AtomicFile& f) { f.write(std::as_bytes(std::span(data.c_str(), data.size()))); });
      },
      "filename"_a, "data"_a);
}

}  // namespace pyburn::python
