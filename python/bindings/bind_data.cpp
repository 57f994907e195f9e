// Memory shared with other libraries (numpy, memoryview), and tensors that move between dtypes and devices.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstring>
#include <vector>

#include "objects.h"
#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/shared_memory.h"
#include "pyburn/decorators/autodiff/autograd.h"
#include "pyburn/decorators/autodiff/history.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/print.h"
#include "pyburn/runtime/transfer.h"
#include "pyburn/support/error.h"
#include "python_backend.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pyburn::python {
namespace {

[[noreturn]] void raise(PyObject* type, const std::string& message) {
  PyErr_SetString(type, message.c_str());
  throw PythonError();
}

DType dtype_of(const Py_buffer& b) {
  const char* f = b.format ? b.format : "B";
  if (*f == '@' || *f == '=' || *f == '<') ++f;
  if (f[0] != '\0' && f[1] == '\0') {
    // "l" has 4 or 8 bytes: among integers the size decides.
    const bool is_signed = std::strchr("bhilq", *f) != nullptr, is_unsigned = std::strchr("BHILQ", *f) != nullptr;
    for (DType t : all_dtypes()) {
      const char* known = dtype_info(t).buffer_format;
      const bool fits = is_signed ? is_signed_integer(t) : is_unsigned ? is_unsigned_integer(t) : known && *known == *f;
      if (fits && size_of(t) == b.itemsize) return t;
    }
  }
  raise(
      PyExc_TypeError, format("can't convert an array of this type to a tensor; supported are bool, float16 to float64, int8 to int64 and "
                              "uint8 to uint64 in this machine's byte order: got format '{}'",
                           b.format ? b.format : "B"));
}

Shape shape_of(const Py_buffer& b) {
  Shape shape;
  for (int i = 0; i < b.ndim; ++i) shape.push_back(b.shape[i]);
  return shape;
}

Object memory_of(PyObject* array) { return checked(PyMemoryView_FromObject(array)); }

// The layout of memory that is to be shared; ValueError where a tensor cannot express it.
Layout shared_layout(const Py_buffer& b, int64_t size) {
  Layout l{shape_of(b), Dims(), 0};
  if (!b.strides) l.strides = contiguous_strides(l.shape);
  for (int i = 0; b.strides && i < b.ndim; ++i) {
    if (b.strides[i] < 0)
      raise(PyExc_ValueError,
          "at least one stride in the given array is negative, which tensors do not support; make a copy of the array first");
    if (b.strides[i] % size != 0)
      raise(PyExc_ValueError, "the strides of the given array are not a multiple of its element size; make a copy of it first");
    l.strides.push_back(b.strides[i] / size);
  }
  if (reinterpret_cast<uintptr_t>(b.buf) % uintptr_t(size) != 0)
    raise(PyExc_ValueError, "the memory of the given array is not aligned; make a copy of it first");
  return l;
}

Device& cpu() { return device("ndarray"); }

// Zero copy: the tensor keeps the memory's owner alive.
TensorHandle share(PyObject* array) {
  Object memory = memory_of(array);
  const Py_buffer& b = *PyMemoryView_GET_BUFFER(memory.get());
  const DType dtype = dtype_of(b);
  if (b.readonly) {  // a write to such memory may end the process: copied instead
    if (PyErr_WarnEx(PyExc_UserWarning, "the given array is not writable: its elements are copied, not shared", 1) < 0) throw PythonError();
    return tensor_from_array(array, {}, cpu());
  }
  const Layout layout = shared_layout(b, size_of(dtype));
  const int64_t bytes = layout.extent().second * size_of(dtype);
  void* data = b.buf;
  Ref<Storage> storage = cpu::wrap_host_memory(data, bytes, memory.release(), [](void* p) { release_later(static_cast<PyObject*>(p)); });
  return make_tensor(cpu(), dtype, layout, std::move(storage));
}

// A tensor on memory that another process shares.
TensorHandle tensor_on_shared_memory(int descriptor, DType dtype, const Layout& layout) {
  Ref<Storage> storage = cpu::map_shared_memory(descriptor);
  const auto [first, end] = layout.extent();
  require(first >= 0 && bytes_of(dtype, end) <= storage->bytes, "[share_memory_] the tensor exceeds the shared memory: got {} for {} bytes",
      layout, storage->bytes);
  return make_tensor(cpu(), dtype, layout, std::move(storage));
}

// --- the buffer protocol -----------------------------------------------------------------------------------------

struct Exported {
  Ref<Storage> storage;  // the tensor may get other memory while the view lives
  std::vector<Py_ssize_t> shape, strides;
};

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  try {
    const TensorHandle& t = unwrap(self);
    const char* buffer_format = dtype_info(t.dtype()).buffer_format;
    const char* refusal = autograd::wants_gradient(t)
                              ? "a tensor that requires grad does not support the buffer protocol; use tensor.detach()"
                          : !shares_host_memory(t) ? "a tensor on this device does not support the buffer protocol; use tensor.cpu()"
                          : !buffer_format         ? "bfloat16 has no buffer format; use tensor.float()"
                                                   : nullptr;
    const bool plain = t.layout().is_contiguous();
    if (!refusal && !plain &&
        ((flags & PyBUF_STRIDES) != PyBUF_STRIDES || (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS ||
            (flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS || (flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS))
      refusal = "the tensor is not contiguous; use tensor.contiguous()";
    if (!refusal && (flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && t.rank() > 1) refusal = "the tensor is not in Fortran order";
    if (refusal) {
      PyErr_SetString(PyExc_BufferError, refusal);
      return -1;
    }
    auto exported = std::make_unique<Exported>();
    exported->storage = t.impl()->storage;
    const int64_t size = size_of(t.dtype());
    for (int i = 0; i < t.rank(); ++i) {
      exported->shape.push_back(Py_ssize_t(t.shape()[i]));
      exported->strides.push_back(Py_ssize_t(t.strides()[i] * size));
    }
    t.storage()->exposed = true;
    view->buf = static_cast<char*>(t.storage()->host) + t.layout().offset * size;
    view->len = Py_ssize_t(t.numel() * size);
    view->itemsize = Py_ssize_t(size);
    view->readonly = 0;
    view->ndim = t.rank();
    view->format = flags & PyBUF_FORMAT ? const_cast<char*>(buffer_format) : nullptr;
    view->shape = flags & PyBUF_ND ? exported->shape.data() : nullptr;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? exported->strides.data() : nullptr;
    view->suboffsets = nullptr;
    view->internal = exported.release();
    view->obj = Py_NewRef(self);
    return 0;
  } catch (...) {
    set_python_error();
    return -1;
  }
}
void release_buffer(PyObject*, Py_buffer* view) { delete static_cast<Exported*>(view->internal); }

TensorHandle converted(const TensorHandle& t, nb::handle dtype, nb::handle device, bool copy) {
  const DType wanted = dtype.is_none() ? t.dtype() : to_dtype(dtype.ptr());
  Device& target = device.is_none() ? t.device() : to_device(device.ptr());
  const ComputesWith released(t.numel() >= (1 << 16) || &target != &t.device(), t);
  TensorHandle x = t.dtype() == wanted ? t : TensorHandle(fn::cast(t, wanted));
  x = autograd::move_recorded(target, x);
  return copy && x.is_same(t) ? TensorHandle(fn::clone(x)) : x;
}

void bind_print_options(nb::module_& m) {
  m.def("_print_options", [] {
    const PrintOptions& o = print_options();
    nb::dict d;
    d["precision"] = o.precision, d["threshold"] = o.threshold, d["edgeitems"] = o.edgeitems, d["linewidth"] = o.linewidth;
    d["sci_mode"] = o.sci_mode ? nb::object(nb::bool_(*o.sci_mode)) : nb::none();
    return d;
  });
  m.def(
      "_set_print_options",
      [](int precision, int64_t threshold, int64_t edgeitems, int linewidth, std::optional<bool> sci_mode) {
        print_options() = {precision, threshold, edgeitems, linewidth, sci_mode};
      },
      "precision"_a, "threshold"_a, "edgeitems"_a, "linewidth"_a, "sci_mode"_a.none());
}

}  // namespace

bool shares_host_memory(const TensorHandle& t) {
  if (auto* owner = dynamic_cast<PythonBackend*>(t.storage()->owner)) owner->expose_host_memory(t);
  return host_memory(t) != nullptr;
}

TensorHandle tensor_from_array(PyObject* array, std::optional<DType> dtype, Device& device) {
  Object memory = memory_of(array);
  Py_buffer& b = *PyMemoryView_GET_BUFFER(memory.get());  // not const: Python 3.10 asks for that
  const DType own = dtype_of(b);
  std::vector<std::byte> plain(size_t(b.len));
  if (b.len > 0 && PyBuffer_ToContiguous(plain.data(), &b, b.len, 'C') < 0) throw PythonError();
  const TensorHandle t = from_host(device, {plain.data(), {shape_of(b), own}});
  return dtype && *dtype != own ? TensorHandle(fn::cast(t, *dtype)) : t;
}

const PyType_Slot tensor_buffer_slots[] = {
    {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
    {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
    {0, nullptr},
};

void bind_data(nb::module_& m) {
  m.def("_share", [](nb::handle array) { return share(array.ptr()); });
  m.def("_share_memory", [](const TensorHandle& t) { cpu::share_memory(*t.storage()); });
  m.def("_shared_descriptor", [](const TensorHandle& t) {
    const cpu::SharedSegment* segment = cpu::segment_of(*t.storage());
    return segment ? segment->descriptor() : -1;
  });
  m.def("_on_shared_memory", [](int descriptor, nb::handle dtype, nb::handle shape, nb::handle stride, int64_t offset) {
    return tensor_on_shared_memory(descriptor, to_dtype(dtype.ptr()), {to_dims(shape.ptr()), to_dims(stride.ptr()), offset});
  });
  m.def("_shares_host_memory", [](const TensorHandle& t) { return shares_host_memory(t); });
  m.def(
      "_from_bytes",
      [](nb::bytes data, nb::handle shape, nb::handle dtype, nb::handle device) {
        const Meta meta{to_dims(shape.ptr()), to_dtype(dtype.ptr())};
        Device& target = device.is_none() ? default_device() : to_device(device.ptr());
        require<FormatError>(bytes_of(meta.dtype, checked_numel(meta.shape)) == int64_t(data.size()),
            "the data has the wrong size: got {} bytes for {} of {}", int64_t(data.size()), meta.shape, meta.dtype);
        return from_host(target, {const_cast<char*>(data.c_str()), meta});
      },
      "data"_a, "shape"_a, "dtype"_a, "device"_a.none());
  m.def(
      "_to", [](const TensorHandle& t, nb::handle dtype, nb::handle device, bool copy) { return converted(t, dtype, device, copy); }, "t"_a,
      "dtype"_a.none(), "device"_a.none(), "copy"_a);
  m.def("_typed_device_name", [](const TensorHandle& t) { return typed_name(t.device()); });
  bind_print_options(m);
}

}  // namespace pyburn::python
