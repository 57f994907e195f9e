// cast and contiguous_copy: strided memory through a tile, with conversion.
#include "pyburn/ops/copy.h"

#include <cstring>

#include "pyburn/backends/cpu/conversion.h"
#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/strided_copy.h"
#include "pyburn/backends/cpu/tiles.h"

namespace pyburn::cpu {

// Floats keep their value, integers their bits, bool asks "not zero".
DType conversion_dtype(DType from, DType to) {
  if (is_floating(to)) return compute_dtype(to);
  if (to == DType::boolean && is_floating(from)) return compute_dtype(from);
  return to == DType::uint64 && is_floating(from) ? DType::uint64 : DType::int64;
}

namespace {

void identity(const void*, const void* const* in, void* out, int64_t n) {
  if (in[0] != out) std::memmove(out, in[0], size_t(n) * 8);
}
void identity4(const void*, const void* const* in, void* out, int64_t n) {
  if (in[0] != out) std::memmove(out, in[0], size_t(n) * 4);
}

}  // namespace

void convert_into(const TensorHandle& x, const TensorHandle& y) {
  if (x.dtype() == y.dtype()) return copy_strided(size_of(x.dtype()), x.shape(), place_of(x), place_of(y));
  if (x.layout().is_contiguous() && y.layout().is_contiguous()) return convert_plain(x, y);
  const DType compute = conversion_dtype(x.dtype(), y.dtype());
  const TensorHandle* in[] = {&x};
  run_tile({size_of(compute) == 8 ? identity : identity4}, compute, nullptr, in, y);
}

TensorHandle scratch(Device& device, const Shape& shape, DType dtype) {
  return make_tensor(device, dtype, contiguous_layout(shape), cpu_backend().allocate(dtype, shape.numel()));
}
TensorHandle scratch(const TensorHandle& like, DType dtype) { return scratch(like.device(), like.shape(), dtype); }
TensorHandle converted(const TensorHandle& x, DType dtype) {
  TensorHandle y = scratch(x, dtype);
  convert_into(x, y);
  return y;
}

namespace {

void cast(const CastTo&, const TensorHandle& x, TensorHandle& y) { convert_into(x, y); }
void contiguous_copy(const NoAttrs&, const TensorHandle& x, TensorHandle& y) { convert_into(x, y); }

}  // namespace

void register_copy(KernelTable& kernels) {
  kernels.add_for_all<cast>(op::cast);
  kernels.add_for_all<contiguous_copy>(op::contiguous_copy);
}

}  // namespace pyburn::cpu
