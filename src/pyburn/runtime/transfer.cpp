#include "pyburn/runtime/transfer.h"

#include "pyburn/runtime/door_ops.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

TensorHandle from_host(Device& device, const HostArray& from) {
  Backend& top = device.backend();  // not the current level: values that enter while capturing are constants
  const int64_t elements = checked_numel(from.meta.shape);
  TensorHandle to = make_tensor(device, from.meta.dtype, contiguous_layout(from.meta.shape), top.allocate(from.meta.dtype, elements));
  top.upload(from, to);
  return to;
}

void to_host(const TensorHandle& from, const HostArray& to) {
  require<ValueError>(from.meta() == to.meta, "[to_host] the target does not fit: got {} {} for {} {}", to.meta.dtype, to.meta.shape,
      from.dtype(), from.shape());
  require<CaptureError>(from.storage()->has_values, "[read] the values of this tensor are not known, while capturing or on null: got {} {}",
      from.dtype(), from.shape());
  Backend* level = current_level();
  (level ? *level : from.device().backend()).download(from, to);
}

std::vector<std::byte> host_bytes(const TensorHandle& from) {
  std::vector<std::byte> bytes(size_t(from.numel() * size_of(from.dtype())));
  to_host(from, {bytes.data(), from.meta()});
  return bytes;
}

TensorHandle moved_to(Device& device, const TensorHandle& x) {
  if (&x.device() == &device) return x;
  std::vector<std::byte> bytes = host_bytes(x);
  return from_host(device, {bytes.data(), x.meta()});
}

double read_number(const TensorHandle& x) {
  require(x.numel() == 1, "expected one element: got {}", x.shape());
  InputList in;
  in.add(x);
  const TensorHandle exact = call(op::cast, CastTo{DType::float64}, in);
  double value = 0;
  to_host(exact, {&value, exact.meta()});
  return value;
}

}  // namespace pyburn
