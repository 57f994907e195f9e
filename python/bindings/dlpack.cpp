// DLPack: shares memory with other libraries in both directions, without a copy. The structures below are the binary interface of the
// protocol (dmlc/dlpack, versions 0 and 1).
#include <memory>
#include <string_view>

#include "objects.h"
#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/decorators/autodiff/history.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/support/error.h"

namespace nb = nanobind;

namespace pyburn::python {
namespace {

struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  int32_t device_type, device_id;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor tensor;
  void* context;
  void (*deleter)(DLManagedTensor*);
};
struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void* context;
  void (*deleter)(DLManagedTensorVersioned*);
  uint64_t flags;
  DLTensor tensor;
};
constexpr uint64_t kReadOnly = 1, kCopied = 2;
constexpr int32_t kCpu = 1;

template <class Managed>
constexpr const char* kName = std::is_same_v<Managed, DLManagedTensor> ? "dltensor" : "dltensor_versioned";
template <class Managed>
constexpr const char* kUsedName = std::is_same_v<Managed, DLManagedTensor> ? "used_dltensor" : "used_dltensor_versioned";

DLDataType protocol_dtype(DType t) { return {dtype_info(t).dlpack_code, dtype_info(t).bits, 1}; }
DType core_dtype(DLDataType d) {
  for (DType t : all_dtypes())
    if (dtype_info(t).dlpack_code == d.code && dtype_info(t).bits == d.bits && d.lanes == 1) return t;
  fail<DTypeError>("[from_dlpack] the dtype is not supported: got code {} with {} bits and {} lanes", int64_t(d.code), int64_t(d.bits),
      int64_t(d.lanes));
}

// --- out ---------------------------------------------------------------------------------------------------------

template <class Managed>
struct Exported {
  Managed managed{};
  Ref<Storage> storage;
  Dims shape, strides;
};

template <class Managed>
PyObject* export_capsule(const TensorHandle& t, bool copied) {
  auto e = std::make_unique<Exported<Managed>>();
  e->storage = t.impl()->storage;
  e->shape = t.shape();
  e->strides = t.strides();
  t.storage()->exposed = true;
  e->managed.tensor = {static_cast<char*>(t.storage()->host) + t.layout().offset * size_of(t.dtype()), kCpu, 0, t.rank(),
      protocol_dtype(t.dtype()), e->shape.data(), e->strides.data(), 0};
  e->managed.context = e.get();
  e->managed.deleter = [](Managed* m) { delete static_cast<Exported<Managed>*>(m->context); };
  if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>) {
    e->managed.major = 1;
    e->managed.flags = copied ? kCopied : 0;
  }
  PyObject* capsule = PyCapsule_New(&e->managed, kName<Managed>, [](PyObject* c) {
    if (!PyCapsule_IsValid(c, kName<Managed>)) return;  // already consumed
    auto* m = static_cast<Managed*>(PyCapsule_GetPointer(c, kName<Managed>));
    m->deleter(m);
  });
  if (capsule) e.release();
  return capsule;
}

// --- in ----------------------------------------------------------------------------------------------------------

template <class Managed>
TensorHandle import_capsule(PyObject* capsule) {
  auto* m = static_cast<Managed*>(PyCapsule_GetPointer(capsule, kName<Managed>));
  if (!m) throw PythonError();
  const DLTensor& d = m->tensor;
  bool read_only = false;
  if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>) {
    require<ValueError>(m->major == 1, "[from_dlpack] the version of the protocol is not known: got {}", int64_t(m->major));
    read_only = m->flags & kReadOnly;
  }
  require<DeviceError>(d.device_type == kCpu, "[from_dlpack] expected memory of the CPU: got device type {}", int64_t(d.device_type));
  require(d.ndim >= 0 && d.ndim <= 64, "[from_dlpack] expected at most 64 axes: got {}", int64_t(d.ndim));
  const DType dtype = core_dtype(d.dtype);
  Layout layout;
  for (int i = 0; i < d.ndim; ++i) layout.shape.push_back(d.shape[i]);
  checked_numel(layout.shape);
  layout.strides = contiguous_strides(layout.shape);
  for (int i = 0; d.strides && i < d.ndim; ++i) {
    require<ValueError>(d.strides[i] >= 0, "[from_dlpack] negative strides are not supported; copy the array first: got {}", d.strides[i]);
    layout.strides[i] = d.strides[i];
  }
  char* data = static_cast<char*>(d.data) + d.byte_offset;
  require<ValueError>(
      reinterpret_cast<uintptr_t>(data) % uintptr_t(size_of(dtype)) == 0, "[from_dlpack] the memory is not aligned; copy the array first");
  if (PyCapsule_SetName(capsule, kUsedName<Managed>) < 0) throw PythonError();
  Ref<Storage> storage = cpu::wrap_host_memory(data, layout.extent().second * size_of(dtype), m, [](void* p) {
    auto* owner = static_cast<Managed*>(p);
    if (owner->deleter) owner->deleter(owner);
  });
  const TensorHandle shared = make_tensor(device("ndarray"), dtype, layout, std::move(storage));
  return read_only ? TensorHandle(fn::clone(shared)) : shared;  // a write to such memory may end the process
}

}  // namespace

void bind_dlpack(nb::module_& m) {
  m.def("_to_dlpack", [](const TensorHandle& given, bool versioned, bool copy) {
    const char* refusal = autograd::wants_gradient(given) ? "can't export tensors that require gradient; use tensor.detach()"
                          : !shares_host_memory(given)    ? "only tensors in the memory of the CPU are exported; use tensor.cpu()"
                                                          : nullptr;
    if (refusal) {
      PyErr_SetString(PyExc_BufferError, refusal);
      throw nb::python_error();
    }
    const TensorHandle t = copy ? TensorHandle(fn::clone(given)) : given;
    PyObject* capsule = versioned ? export_capsule<DLManagedTensorVersioned>(t, copy) : export_capsule<DLManagedTensor>(t, copy);
    if (!capsule) throw nb::python_error();
    return nb::steal(capsule);
  });
  m.def("_from_dlpack", [](nb::handle capsule) {
    if (PyCapsule_IsValid(capsule.ptr(), kName<DLManagedTensorVersioned>)) return import_capsule<DLManagedTensorVersioned>(capsule.ptr());
    if (PyCapsule_IsValid(capsule.ptr(), kName<DLManagedTensor>)) return import_capsule<DLManagedTensor>(capsule.ptr());
    PyErr_SetString(PyExc_ValueError, "[from_dlpack] expected a DLPack capsule that has not been used before");
    throw nb::python_error();
  });
}

}  // namespace pyburn::python
