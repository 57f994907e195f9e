// gather and scatter_add.
#include "pyburn/ops/gather.h"

#include "pyburn/backends/cpu/axis_walk.h"
#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/dispatch_dtype.h"
#include "pyburn/support/error.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn::cpu {
namespace {

// Calls visit(i, offset) for the elements [begin, end) of the index: offset is that of the element of x it names.
template <class Visit>
void walk(const TensorHandle& x, const TensorHandle& index, int64_t dim, int64_t begin, int64_t end, Visit visit) {
  const int rank = x.rank();
  const Dims strides = contiguous_strides(x.shape());
  const int64_t* names = index.data<int64_t>();
  const int64_t extent = rank ? x.shape()[dim] : 1, step = rank ? strides[dim] : 1;
  Dims at(rank, 0);
  int64_t rest = begin, base = 0;
  for (int i = rank - 1; i >= 0; --i) {
    at[i] = rest % index.shape()[i];
    rest /= index.shape()[i];
    if (i != dim) base += at[i] * strides[i];
  }
  for (int64_t i = begin; i < end; ++i) {
    const int64_t name = names[i];
    require<IndexError>(name >= 0 && name < extent, "index out of range: got {} for extent {}", name, extent);
    visit(i, base + name * step);
    for (int k = rank - 1; k >= 0; --k) {
      const int64_t stride = k == dim ? 0 : strides[k];
      base += stride;
      if (++at[k] < index.shape()[k]) break;
      base -= stride * at[k];
      at[k] = 0;
    }
  }
}

void gather(const AlongAxis& a, const TensorHandle& x_, const TensorHandle& index_, TensorHandle& y) {
  const TensorHandle x = plain(x_, x_.dtype()), index = plain(index_, DType::int64);
  const PlainTarget to(y, x.dtype());
  with_storage_type(x.dtype(), [&]<class T>(T*) {
    parallel_for(index.numel(), 8192, [&](int64_t begin, int64_t end) {
      walk(x, index, a.dim, begin, end, [&](int64_t i, int64_t from) { to.data<T>()[i] = x.data<T>()[from]; });
    });
  });
  to.finish();
}

void scatter_add(const AlongAxis& a, const TensorHandle& x, const TensorHandle& index_, const TensorHandle& source_, TensorHandle& y) {
  const DType compute = compute_dtype(x.dtype());
  const TensorHandle sums = converted(x, compute), index = plain(index_, DType::int64), source = plain(source_, compute);
  with_compute_type(compute, [&]<class T>(T*) {
    auto add = [&](int64_t begin, int64_t end) {
      walk(sums, index, a.dim, begin, end, [&](int64_t i, int64_t to) { sums.data<T>()[to] += source.data<T>()[i]; });
    };
    // Parts before the axis share no element, so they may run at the same time; along it the order is that of the index.
    const int64_t rows = Axis(index.shape(), a.dim).outer, n = index.numel();
    if (n == 0) return;
    parallel_for(
        rows, std::max<int64_t>(1, 8192 * rows / n), [&](int64_t begin, int64_t end) { add(begin * (n / rows), end * (n / rows)); });
  });
  convert_into(sums, y);
}

}  // namespace

void register_gather(KernelTable& kernels) {
  kernels.add_for_all<gather>(op::gather);
  kernels.add_for_all<scatter_add>(op::scatter_add);
}

}  // namespace pyburn::cpu
