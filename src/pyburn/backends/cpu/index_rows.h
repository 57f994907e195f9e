// Rows of memory that an index names: what all kernels that index along axes share.
#pragma once
#include <optional>

#include "pyburn/backends/cpu/scratch_buffer.h"
#include "pyburn/tensor/handle.h"

namespace pyburn::cpu {

// A tensor seen as (outer axes, places along the axes from `axis` on, a plain row). The places are offsets in memory.
class IndexedRows {
 public:
  // Makes a plain copy of x where its rows are not plain.
  IndexedRows(const TensorHandle& x, int axis, int count);
  // The places that the indices (one per axis; broadcast to `shape`) name. IndexError when they point outside.
  void find_places(Inputs indices, const Shape& shape, bool negative_counts_from_end);

  const TensorHandle& tensor() const { return x_; }
  int64_t places() const { return count_; }

  void read_into(const TensorHandle& y);                    // y is plain: (outer, places, row)
  void write_from(const TensorHandle& values);              // values are plain; of equal places the last stays
  void add_from(const TensorHandle& values, Scalar alpha);  // not for float16 and bfloat16

 private:
  template <class Row>
  void visit_places(Row row);  // row(offset in x, number of the row); those of one place in order and on one thread
  int64_t offset_of_outer(int64_t o) const;

  TensorHandle x_;
  int axis_;
  int64_t outer_ = 1, row_ = 1, span_ = 1, count_ = 0;  // span: one more than the largest place
  std::optional<ScratchBuffer<int64_t>> offsets_;
};

}  // namespace pyburn::cpu
