// full, arange and linspace.
#include "pyburn/ops/fill.h"

#include <algorithm>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/dispatch_dtype.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn::cpu {
namespace {

void full(const Full& a, TensorHandle& y) {
  with_storage_type(y.dtype(), [&]<class T>(T*) {
    const T value = from_scalar<T>(a.value);
    T* p = y.data<T>();
    parallel_for(y.numel(), 1 << 17, [&](int64_t begin, int64_t end) { std::fill(p + begin, p + end, value); });
  });
}

// p[i] = at(i)
template <class At>
void fill_by_index(TensorHandle& y, At at) {
  with_storage_type(y.dtype(), [&]<class T>(T*) {
    T* p = y.data<T>();
    parallel_for(y.numel(), 1 << 15, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) p[i] = from_scalar<T>(Scalar(at(i)));
    });
  });
}
void arange(const Arange& a, TensorHandle& y) {
  if (!a.start.is_floating() && !a.step.is_floating())
    return fill_by_index(y, [start = a.start.to_int(), step = a.step.to_int()](int64_t i) { return start + i * step; });
  fill_by_index(y, [start = a.start.to_double(), step = a.step.to_double()](int64_t i) { return start + double(i) * step; });
}
void linspace(const Linspace& a, TensorHandle& y) {  // from the nearer end, so that both are exact
  const double start = a.start.to_double(), end = a.end.to_double(), step = a.steps > 1 ? (end - start) / double(a.steps - 1) : 0;
  fill_by_index(y, [=, n = a.steps](int64_t i) { return i < n / 2 || n == 1 ? start + step * double(i) : end - step * double(n - 1 - i); });
}

}  // namespace

void register_fill(KernelTable& kernels) {
  kernels.add_for_all<full>(op::full);
  kernels.add_for_all<arange>(op::arange);
  kernels.add_for_all<linspace>(op::linspace);
}

}  // namespace pyburn::cpu
