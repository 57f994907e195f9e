// full and arange.
#include "pyburn/ops/fill.h"

#include <algorithm>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/dispatch_dtype.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn::cpu {
namespace {

template <class T>
T from_scalar(const Scalar& s) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) return T(s.to<float>());
  else return s.to<T>();
}

void full(const Full& a, TensorHandle& y) {
  with_storage_type(y.dtype(), [&]<class T>(T*) {
    const T value = from_scalar<T>(a.value);
    T* p = y.data<T>();
    parallel_for(y.numel(), 1 << 17, [&](int64_t begin, int64_t end) { std::fill(p + begin, p + end, value); });
  });
}

void arange(const Arange& a, TensorHandle& y) {
  with_storage_type(y.dtype(), [&]<class T>(T*) {
    T* p = y.data<T>();
    const bool integers = !a.start.is_floating() && !a.step.is_floating();
    for (int64_t i = 0; i < a.count; ++i) {
      if (integers) p[i] = from_scalar<T>(Scalar(a.start.to_int() + i * a.step.to_int()));
      else p[i] = from_scalar<T>(Scalar(a.start.to_double() + double(i) * a.step.to_double()));
    }
  });
}

}  // namespace

void register_fill(KernelTable& kernels) {
  kernels.add_for_all<full>(op::full);
  kernels.add_for_all<arange>(op::arange);
}

}  // namespace pyburn::cpu
