#include "pyburn/tensor/shape.h"

#include <algorithm>

#include "pyburn/support/checked.h"
#include "pyburn/support/error.h"
#include "pyburn/support/fault.h"

namespace pyburn {

std::string to_text(const Dims& d) {
  std::string text = "(";
  for (int64_t i = 0; i < d.size(); ++i) text += (i ? ", " : "") + std::to_string(d[i]);
  return text + (d.size() == 1 ? ",)" : ")");
}

int normalise_dim(int64_t dim, int rank) {
  const int extent = std::max(rank, 1);  // a 0-d tensor accepts 0 and -1, as in PyTorch
  require<IndexError>(dim >= -extent && dim < extent, "dim out of range: got {} for rank {}", dim, rank);
  return int(dim < 0 ? dim + extent : dim);
}

Dims normalise_dims(const OptionalDims& dim, int rank) {
  Dims result;
  if (!dim || dim->empty()) {
    for (int i = 0; i < rank; ++i) result.push_back(i);
    return result;
  }
  for (int64_t d : *dim) {
    const int n = normalise_dim(d, rank);
    if (rank == 0) continue;
    require(std::find(result.begin(), result.end(), n) == result.end(), "dim appears twice: got {}", *dim);
    result.push_back(n);
  }
  std::sort(result.begin(), result.end());
  return result;
}

void check_dim(int64_t dim, int rank) {
  require<IndexError>(dim >= 0 && dim < std::max(rank, 1), "dim out of range: got {} for rank {}", dim, rank);
}
void check_dims(const Dims& dim, int rank) {
  bool normal = dim.empty() == (rank == 0);
  for (int64_t i = 0; i < dim.size(); ++i) normal &= dim[i] >= (i ? dim[i - 1] + 1 : 0) && dim[i] < rank;
  require<IndexError>(normal, "dims out of range: got {} for rank {}", dim, rank);
}

Shape reduced_shape(const Shape& shape, const Dims& dim, bool keepdim) {
  Shape result;
  int64_t next = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    if (next < dim.size() && dim[next] == i) {
      ++next;
      if (keepdim) result.push_back(1);
    } else {
      result.push_back(shape[i]);
    }
  }
  return result;
}

int64_t Shape::overflowing_numel() const {
  if (std::find(begin(), end(), 0) != end()) return 0;
  fail("too many elements: got {}", *this);
}

int64_t count(const Shape& shape, const Dims& dim) {
  Checked n = 1;
  for (int64_t d : dim) n *= shape[d];
  return n;
}

Shape broadcast_shapes(const Shape& a, const Shape& b) {
  if (a == b) return a;
  const int rank = std::max(a.rank(), b.rank());
  Shape result(Dims(rank, 1));
  for (int i = 1; i <= rank; ++i) {
    const int64_t m = i <= a.rank() ? a[a.rank() - i] : 1, n = i <= b.rank() ? b[b.rank() - i] : 1;
    require(m == n || m == 1 || n == 1, "shapes do not broadcast: got {} and {}", a, b);
    result[rank - i] = m == 1 ? n : m;
  }
  return result;
}

void check_rank(const Shape& shape) {
  require(shape.size() <= kMaxRank, "too many dimensions: expected at most {}, got {}", kMaxRank, shape.size());
}

int64_t checked_numel(const Shape& shape) {
  check_rank(shape);
  int64_t n = 1;
  bool overflow = false, empty = false;
  for (int64_t d : shape) {
    require(d >= 0, "Trying to create tensor with negative dimension, a negative size: got {}", shape);
    empty |= d == 0;
    overflow |= __builtin_mul_overflow(n, d == 0 ? 1 : d, &n);
  }
  if (empty) return 0;
  require((!overflow && n < (int64_t(1) << 60)) || planted_fault == Fault::unchecked_sizes, "too many elements: got {}", shape);
  return n;
}

}  // namespace pyburn
