// Element-wise kernels from scalar functions in double precision, for functions that are too rare or too complex to vectorise.
#pragma once
#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/ops/binary.h"

namespace pyburn::cpu {

template <class T, double (*function)(double)>
void unary_tile(const void*, const void* const* in, void* out, int64_t n) {
  const T* x = static_cast<const T*>(in[0]);
  for (int64_t i = 0; i < n; ++i) static_cast<T*>(out)[i] = T(function(double(x[i])));
}
template <class T, double (*function)(double, double)>
void binary_tile(const void* attrs, const void* const* in, void* out, int64_t n) {
  const Binary& a = *static_cast<const Binary*>(attrs);
  const T *x = static_cast<const T*>(in[0]), *y = a.scalar == Side::none ? static_cast<const T*>(in[1]) : x;
  const double number = a.scalar == Side::none ? 0 : a.value.to_double();
  for (int64_t i = 0; i < n; ++i)
    static_cast<T*>(out)[i] = T(function(a.scalar == Side::left ? number : double(x[i]), a.scalar == Side::right ? number : double(y[i])));
}
template <double (*function)(double)>
void add_unary(KernelTable& kernels, const OpInfo& op) {
  kernels.add_tile(op, DType::float32, {unary_tile<float, function>});
  kernels.add_tile(op, DType::float64, {unary_tile<double, function>});
}
template <double (*function)(double, double)>
void add_binary(KernelTable& kernels, const OpInfo& op) {
  kernels.add_tile(op, DType::float32, {binary_tile<float, function>});
  kernels.add_tile(op, DType::float64, {binary_tile<double, function>});
}

}  // namespace pyburn::cpu
