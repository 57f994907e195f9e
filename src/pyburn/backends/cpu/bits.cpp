// What elements are made of: their bits, mantissas and exponents.
#include "pyburn/ops/bits.h"

#include <cmath>
#include <cstring>

#include "pyburn/backends/cpu/axis_walk.h"
#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/dispatch_dtype.h"

namespace pyburn::cpu {
namespace {

// The address of the first element of a contiguous tensor.
char* bytes_of(const TensorHandle& t) { return static_cast<char*>(t.storage()->host) + t.layout().offset * size_of(t.dtype()); }

void view_bits(const BitView& a, const TensorHandle& x, TensorHandle& y) {
  const PlainTarget to(y, a.dtype);
  if (y.numel() > 0) std::memcpy(bytes_of(to.tensor()), bytes_of(plain(x, x.dtype())), size_t(pyburn::bytes_of(a.dtype, y.numel())));
  to.finish();
}

template <class T>
void frexp(const NoAttrs&, Inputs in, Outputs out) {
  const TensorHandle x = plain(*in[0], dtype_of<T>);
  const PlainTarget mantissas(out[0], dtype_of<T>), exponents(out[1], DType::int32);
  for (int64_t i = 0; i < x.numel(); ++i) {
    int exponent = 0;
    mantissas.template data<T>()[i] = std::frexp(x.data<T>()[i], &exponent);
    exponents.template data<int32_t>()[i] = exponent;
  }
  mantissas.finish();
  exponents.finish();
}

}  // namespace

void register_bits(KernelTable& kernels) {
  kernels.add_for_all<view_bits>(op::_view_bits);
  kernels.add<frexp<float>>(op::frexp, {DType::float32, DType::float16, DType::bfloat16});
  kernels.add<frexp<double>>(op::frexp, DType::float64);
}

}  // namespace pyburn::cpu
