// Indexed rows of memory: shared by all kernels that index along axes.
#pragma once
#include <optional>

#include "pyburn/backends/cpu/scratch_buffer.h"
#include "pyburn/tensor/handle.h"

namespace pyburn::cpu {

// A tensor viewed as (outer axes, positions along the axes from `axis` on, a contiguous row). Positions are memory offsets.
class IndexedRows {
 public:
  // Copies x to contiguous memory if its rows are not contiguous.
  IndexedRows(const TensorHandle& x, int axis, int count);
  // The memory offsets of the given indices (one tensor per axis, broadcast to `shape`). Raises IndexError if one is out of range.
  void find_places(Inputs indices, const Shape& shape, bool negative_counts_from_end);

  const TensorHandle& tensor() const { return x_; }
  int64_t places() const { return count_; }

  void read_into(const TensorHandle& y);                    // y is contiguous: (outer, positions, row)
  void write_from(const TensorHandle& values);              // values are contiguous; for equal positions the last one is kept
  void add_from(const TensorHandle& values, Scalar alpha);  // not for float16 and bfloat16

 private:
  template <class Row>
  void visit_places(Row row);  // row(offset in x, number of the row); rows of the same position are passed in order and on one thread
  int64_t offset_of_outer(int64_t o) const;

  TensorHandle x_;
  int axis_;
  int64_t outer_ = 1, row_ = 1, span_ = 1, count_ = 0;  // span: one more than the largest position
  std::optional<ScratchBuffer<int64_t>> offsets_;
};

}  // namespace pyburn::cpu
