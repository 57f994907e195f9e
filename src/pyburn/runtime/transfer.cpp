#include "pyburn/runtime/transfer.h"

#include <vector>

#include "pyburn/runtime/door_ops.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

TensorHandle upload(const HostArray& from, Device& to) {
  TensorHandle x = make_tensor(to, from.meta.dtype, contiguous_layout(from.meta.shape));
  x.impl()->storage = to.backend().allocate(x.dtype(), x.numel());
  to.backend().upload(from, x);
  return x;
}

void download(const TensorHandle& from, const HostArray& to) { from.device().backend().download(from, to); }

TensorHandle transfer(const TensorHandle& x, Device& to) {
  if (&x.device() == &to) return x;
  std::vector<std::byte> host(size_t(x.numel() * size_of(x.dtype())));
  const HostArray values{host.data(), x.meta()};
  download(x, values);
  return upload(values, to);
}

double read_number(const TensorHandle& x) {
  require(x.numel() == 1, "expected one element: got {}", x.shape());
  InputList in;
  in.add(x);
  const TensorHandle exact = call(op::cast, CastTo{DType::float64}, in);
  double value = 0;
  download(exact, {&value, exact.meta()});
  return value;
}

}  // namespace pyburn
