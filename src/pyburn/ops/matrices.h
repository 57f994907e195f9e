// What the functions of matrices share. The last two axes are those of a matrix, the others are batches.
#pragma once
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/generated/movement.h"
#include "pyburn/ops/rules.h"

namespace pyburn {

inline TensorHandle t_of(const TensorHandle& m) { return transpose(m, -2, -1); }
inline TensorHandle identity_like(const TensorHandle& m, int64_t n) { return eye(n, {}, m.dtype(), &m.device()); }
inline int64_t square_extent(const TensorHandle& m) {
  require(m.rank() >= 2 && m.shape()[m.rank() - 1] == m.shape()[m.rank() - 2], "expected square matrices: got {}", m.shape());
  require<DTypeError>(m.dtype() == DType::float32 || m.dtype() == DType::float64, "expected float32 or float64: got {}", m.dtype());
  return m.shape().back();
}
inline Shape batch_of(const TensorHandle& m) {
  Shape batch = m.shape();
  batch.resize(m.rank() - 2);
  return batch;
}
// The sizes of `batch` followed by others.
inline Dims with_batch(const Shape& batch, std::initializer_list<int64_t> sizes) {
  Dims all = batch;
  for (const int64_t n : sizes) all.push_back(n);
  return all;
}
// Broadcasts the batches of two stacks of matrices.
inline void stretch(TensorHandle& a, TensorHandle& b) {
  const Shape batch = broadcast_shapes(batch_of(a), batch_of(b));
  for (TensorHandle* m : {&a, &b}) *m = expand(*m, with_batch(batch, {m->shape()[m->rank() - 2], m->shape()[m->rank() - 1]}));
}

}  // namespace pyburn
