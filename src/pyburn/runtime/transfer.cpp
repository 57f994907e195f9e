#include "pyburn/runtime/transfer.h"

#include "pyburn/runtime/allocator.h"
#include "pyburn/runtime/door_ops.h"
#include "pyburn/runtime/run.h"
#include "pyburn/runtime/run_observer.h"
#include "pyburn/runtime/spoiled.h"

namespace pyburn {

void* host_memory(const TensorHandle& x) {
  if (RunObserver* observer = run_observer()) observer->values_read(x);
  const Storage* s = x.storage();
  return s && s->host && s->owner->capabilities().host_memory ? s->host : nullptr;
}

Device& host_device() { return device("ndarray"); }

TensorHandle from_host(Device& device, const HostArray& from) {
  Backend& top = device.backend();  // not the current level: values that enter while capturing are constants
  const int64_t elements = checked_numel(from.meta.shape);
  TensorHandle to = make_tensor(device, from.meta.dtype, contiguous_layout(from.meta.shape), top.allocate(from.meta.dtype, elements));
  top.upload(from, to);
  return to;
}

void to_host(const TensorHandle& from, const HostArray& to) {
  require<ValueError>(from.meta() == to.meta, "[to_host] the target has another shape or dtype: got {} {} for {} {}", to.meta.dtype,
      to.meta.shape, from.dtype(), from.shape());
  require<CaptureError>(from.storage()->has_values, "[read] the values of this tensor are not known, while capturing or on null: got {} {}",
      from.dtype(), from.shape());
  if (RunObserver* observer = run_observer()) observer->values_read(from);
  Backend* level = current_level();
  read_elements(level ? *level : from.device().backend(), from, to);
}

std::vector<std::byte> host_bytes(const TensorHandle& from) {
  const int64_t size = bytes_of(from.dtype(), from.numel());
  require<OutOfMemoryError>(size <= host_memory_limit(), "[to_host] a copy in host memory exceeds the limit of {} bytes: got {} bytes",
      host_memory_limit(), size);
  std::vector<std::byte> bytes(static_cast<size_t>(size));
  to_host(from, {bytes.data(), from.meta()});
  return bytes;
}

TensorHandle moved_to(Device& device, const TensorHandle& x) {
  if (&x.device() == &device) return x;
  if (void* memory = current_level() ? nullptr : host_memory(x); memory && x.layout().is_contiguous()) {
    raise_if_spoiled(*x.storage());
    return from_host(device, {static_cast<std::byte*>(memory) + x.layout().offset * size_of(x.dtype()), x.meta()});
  }
  std::vector<std::byte> bytes = host_bytes(x);
  return from_host(device, {bytes.data(), x.meta()});
}

TensorHandle where_float64_is(const TensorHandle& x) {
  return widest_float(x.device().backend()) == DType::float64 ? x : moved_to(host_device(), x);
}

double read_number(const TensorHandle& x) {
  require(x.numel() == 1, "expected one element: got {}", x.shape());
  const TensorHandle here = where_float64_is(x);
  InputList in;
  in.add(here);
  const TensorHandle exact = call(op::cast, CastTo{DType::float64}, in);
  double value = 0;
  to_host(exact, {&value, exact.meta()});
  return value;
}

}  // namespace pyburn
