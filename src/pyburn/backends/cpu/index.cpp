// nonzero, index_select, index_add.
#include "pyburn/ops/index.h"

#include <cstring>
#include <vector>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/dispatch_dtype.h"
#include "pyburn/backends/cpu/tiles.h"
#include "pyburn/support/error.h"

namespace pyburn::cpu {
namespace {

void nonzero(const NoAttrs&, Inputs in, Outputs out) {
  const TensorHandle& x = *in[0];
  const TensorHandle truth = converted(x, DType::boolean);
  const bool* p = truth.data<bool>();
  std::vector<int64_t> hits;
  for (int64_t i = 0, n = x.numel(); i < n; ++i)
    if (p[i]) hits.push_back(i);
  const Shape shape{int64_t(hits.size()), x.rank()};
  out[0] = make_tensor(x.device(), DType::int64, contiguous_layout(shape), cpu_backend().allocate(DType::int64, shape.numel()));
  int64_t* row = out[0].data<int64_t>();
  for (int64_t linear : hits) {
    for (int i = x.rank() - 1; i >= 0; --i) {
      row[i] = linear % x.shape()[i];
      linear /= x.shape()[i];
    }
    row += x.rank();
  }
}

// The index as int64, checked against the axis; negative counts are refused, as in PyTorch.
std::vector<int64_t> checked(const TensorHandle& index, int64_t extent) {
  const TensorHandle wide = converted(index, DType::int64);
  std::vector<int64_t> result(wide.data<int64_t>(), wide.data<int64_t>() + wide.numel());
  for (int64_t i : result) require<IndexError>(i >= 0 && i < extent, "index out of range: got {} for extent {}", i, extent);
  return result;
}

struct Axis {
  int64_t outer = 1, extent = 1, inner = 1;
};
Axis around(const Shape& s, int64_t dim) {
  Axis a;
  for (int i = 0; i < s.rank(); ++i) (i < dim ? a.outer : i == dim ? a.extent : a.inner) *= s[i];
  return a;
}
TensorHandle plain(const TensorHandle& x) { return x.layout().is_contiguous() ? x : converted(x, x.dtype()); }

void index_select(const IndexAxis& a, const TensorHandle& x_, const TensorHandle& index, TensorHandle& y_) {
  const TensorHandle x = plain(x_);
  const TensorHandle y = y_.layout().is_contiguous() ? y_ : scratch(y_, y_.dtype());
  const Axis axis = around(x.shape(), a.dim);
  const std::vector<int64_t> rows = checked(index, axis.extent);
  const size_t bytes = size_t(axis.inner * size_of(x.dtype()));
  const char* from = static_cast<const char*>(x.storage()->host) + x.layout().offset * size_of(x.dtype());
  char* to = static_cast<char*>(y.storage()->host) + y.layout().offset * size_of(y.dtype());
  for (int64_t o = 0; o < axis.outer; ++o)
    for (int64_t r : rows) {
      if (bytes) std::memcpy(to, from + size_t(o * axis.extent + r) * bytes, bytes);
      to += bytes;
    }
  if (!y.is_same(y_)) convert_into(y, y_);
}

void index_add(const IndexAxis& a, const TensorHandle& x, const TensorHandle& index, const TensorHandle& source, TensorHandle& y_) {
  const DType compute = compute_dtype(x.dtype());
  const TensorHandle y = converted(x, compute), s = converted(source, compute);
  const Axis axis = around(x.shape(), a.dim);
  const std::vector<int64_t> rows = checked(index, axis.extent);
  with_compute_type(compute, [&]<class T>(T*) {
    T* to = y.data<T>();
    const T* from = s.data<T>();
    for (int64_t o = 0; o < axis.outer; ++o)
      for (int64_t r : rows) {
        T* row = to + (o * axis.extent + r) * axis.inner;
        for (int64_t i = 0; i < axis.inner; ++i) row[i] += from[i];
        from += axis.inner;
      }
  });
  convert_into(y, y_);
}

}  // namespace

void register_index(KernelTable& kernels) {
  kernels.add_for_all<nonzero>(op::nonzero);
  kernels.add_for_all<index_select>(op::index_select);
  kernels.add_for_all<index_add>(op::index_add);
}

}  // namespace pyburn::cpu
