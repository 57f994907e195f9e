// Batches of matrices, as used by the linear algebra kernels.
#pragma once
#include <algorithm>

#include "pyburn/backends/cpu/plain_tensors.h"
#include "pyburn/support/checked.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn::cpu {

template <class T>
struct Matrices {
  explicit Matrices(const TensorHandle& x) : tensor(x), rows(x.shape()[x.rank() - 2]), columns(x.shape()[x.rank() - 1]) {
    for (int i = 0; i + 2 < x.rank(); ++i) count = Checked(count) * x.shape()[i];
  }
  const T* operator[](int64_t k) const { return tensor.data() + k * rows * columns; }

  PlainInput<T> tensor;
  int64_t rows, columns, count = 1;
};

// The results of a batch; row-major, whatever their last dimensions are.
template <class T>
struct MatricesOut {
  explicit MatricesOut(const TensorHandle& y, int axes = 2) : tensor(y) {
    for (int i = y.rank() - axes; i < y.rank(); ++i) size *= y.shape()[i];
  }
  T* operator[](int64_t k) const { return tensor.data() + k * size; }

  PlainOutput<T> tensor;
  int64_t size = 1;
};

// `results` is the number of elements of all results: if it is 0, the batch sizes may be arbitrary.
template <class T, class Body>
void for_matrices(const Matrices<T>& all, int64_t results, Body body) {
  if (results == 0) return;
  const int64_t work = std::max<int64_t>(1, all.rows * all.columns * std::min(all.rows, all.columns));
  parallel_for(all.count, std::max<int64_t>(1, 16384 / work), [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) body(k);
  });
}

}  // namespace pyburn::cpu
