// nonzero, and reading and writing the rows that indices name.
#include "pyburn/ops/index.h"

#include <algorithm>
#include <vector>

#include "pyburn/backends/cpu/cpu_backend.h"
#include "pyburn/backends/cpu/index_rows.h"
#include "pyburn/backends/cpu/tiles.h"
#include "pyburn/ops/embedding.h"
#include "pyburn/ops/index_tensors.h"
#include "pyburn/support/thread_pool.h"

namespace pyburn::cpu {
namespace {

// Chunks are counted first, so that each then knows where its hits go. Another thread may write the elements in between: a chunk writes as
// many rows as it has counted.
void nonzero(const NoAttrs&, Inputs in, Outputs out) {
  const TensorHandle& x = *in[0];
  const TensorHandle truth = x.dtype() == DType::boolean ? plain(x) : converted(x, DType::boolean);
  const bool* p = truth.data<bool>();
  const int64_t n = x.numel(), chunks = (n + kGrain - 1) / kGrain;
  const int rank = x.rank();
  std::vector<int64_t> starts(size_t(chunks) + 1, 0);
  parallel_for(chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      int64_t hits = 0;
      for (int64_t i = c * kGrain, last = std::min(n, i + kGrain); i < last; ++i) hits += p[i];
      starts[size_t(c) + 1] = hits;
    }
  });
  for (size_t c = 0; c < size_t(chunks); ++c) starts[c + 1] += starts[c];
  const Shape shape{starts.back(), rank};
  out[0] = make_tensor(x.device(), DType::int64, contiguous_layout(shape), cpu_backend().allocate(DType::int64, shape.numel()));
  int64_t* rows = out[0].data<int64_t>();
  if (rank == 0) return;
  parallel_for(chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      int64_t *row = rows + starts[size_t(c)] * rank, *const end_of_rows = rows + starts[size_t(c) + 1] * rank;
      for (int64_t i = c * kGrain, last = std::min(n, i + kGrain); i < last; ++i) {
        if (!p[i] || row == end_of_rows) continue;
        int64_t linear = i;
        for (int axis = rank - 1; axis > 0; --axis) {
          row[axis] = linear % x.shape()[axis];
          linear /= x.shape()[axis];
        }
        row[0] = linear;
        row += rank;
      }
      std::fill(row, end_of_rows, 0);
    }
  });
}

void read(const TensorHandle& x, int axis, Inputs indices, const Shape& places, bool negative, TensorHandle& y) {
  const TensorHandle target = y.layout().is_contiguous() ? y : scratch(y, y.dtype());
  IndexedRows rows(x, axis, int(indices.size()));
  rows.find_places(indices, places, negative);
  rows.read_into(target);
  if (!target.is_same(y)) convert_into(target, y);
}

// y = x with `values` written or added. y may be x itself; then only what changes is touched.
void write(const TensorHandle& x, int axis, Inputs indices, const Shape& places, bool negative, const TensorHandle& values, bool add,
    const Scalar& alpha, TensorHandle& y) {
  const bool in_place = x.storage() == y.storage() && x.layout() == y.layout();
  const bool widened = add && (x.dtype() == DType::float16 || x.dtype() == DType::bfloat16);  // sums are formed in float32
  const DType compute = widened ? DType::float32 : x.dtype();
  if (!in_place && !widened) convert_into(x, y);
  const TensorHandle& current = in_place || widened ? x : y;
  IndexedRows rows(widened ? converted(x, compute) : current, axis, int(indices.size()));
  rows.find_places(indices, places, negative);
  const TensorHandle elements = values.dtype() == compute ? plain(values) : converted(values, compute);
  if (add) rows.add_from(elements, alpha);
  else rows.write_from(elements);
  if (rows.tensor().storage() != y.storage()) convert_into(rows.tensor(), y);
}

void index_select(const IndexAxis& a, Inputs in, Outputs out) { read(*in[0], int(a.dim), in.subspan(1), in[1]->shape(), false, out[0]); }
void index_copy(const IndexAxis& a, Inputs in, Outputs out) {
  write(*in[0], int(a.dim), in.subspan(1, 1), in[1]->shape(), false, *in[2], false, 1, out[0]);
}
void index_add(const IndexAdd& a, Inputs in, Outputs out) {
  write(*in[0], int(a.dim), in.subspan(1, 1), in[1]->shape(), false, *in[2], true, a.alpha, out[0]);
}

void embedding(const Embedding&, Inputs in, Outputs out) { read(*in[0], 0, in.subspan(1), in[1]->shape(), false, out[0]); }

Shape common_shape(Inputs indices) {
  Shape common;
  for (const TensorHandle* i : indices) common = broadcast_shapes(common, i->shape());
  return common;
}
void index(const IndexTensors& a, Inputs in, Outputs out) {
  const Inputs indices = in.subspan(1);
  read(*in[0], int(a.axis), indices, common_shape(indices), true, out[0]);
}
void index_put(const IndexTensors& a, Inputs in, Outputs out) {
  const Inputs indices = in.subspan(2);
  write(*in[0], int(a.axis), indices, common_shape(indices), true, *in[1], a.accumulate, 1, out[0]);
}

}  // namespace

void register_index(KernelTable& kernels) {
  kernels.add_for_all<nonzero>(op::nonzero);
  kernels.add_for_all<index_select>(op::index_select);
  kernels.add_for_all<index_add>(op::index_add);
  kernels.add_for_all<index_copy>(op::index_copy);
  kernels.add_for_all<embedding>(op::_embedding);
  kernels.add_for_all<index>(op::_index);
  kernels.add_for_all<index_put>(op::_index_put);
}

}  // namespace pyburn::cpu
