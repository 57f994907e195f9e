// argmax: the position of the first largest element; NaN counts as largest, as in PyTorch.
#include <algorithm>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/dispatch_dtype.h"
#include "pyburn/backends/cpu/tiles.h"
#include "pyburn/ops/reduce.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn::cpu {
namespace {

template <class T>
int64_t position_of_largest(const T* p, int64_t stride, int64_t n) {
  int64_t best = 0;
  for (int64_t j = 1; j < n; ++j) {
    const T v = p[j * stride], b = p[best * stride];
    if (v > b || (v != v && b == b)) best = j;
  }
  return best;
}

void argmax(const ArgReduce& a, const TensorHandle& x, TensorHandle& y) {
  const DType compute = compute_dtype(x.dtype());
  const TensorHandle plain = compute == x.dtype() && x.layout().is_contiguous() ? x : converted(x, compute);
  int64_t n = x.numel(), inner = 1;  // x as (outer, n, inner), folded along n
  if (a.dim >= 0 && x.rank() > 0) {
    n = x.shape()[a.dim];
    for (int i = int(a.dim) + 1; i < x.rank(); ++i) inner *= x.shape()[i];
  }
  const TensorHandle to = y.layout().is_contiguous() ? y : scratch(y, DType::int64);
  with_compute_type(compute, [&]<class T>(T*) {
    parallel_for(to.numel(), std::max<int64_t>(1, kGrain / std::max<int64_t>(n, 1)), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        to.data<int64_t>()[i] = position_of_largest(plain.data<T>() + i / inner * n * inner + i % inner, inner, n);
    });
  });
  if (!to.is_same(y)) convert_into(to, y);
}

}  // namespace

void register_argmax(KernelTable& kernels) { kernels.add_for_all<argmax>(op::argmax); }

}  // namespace pyburn::cpu
