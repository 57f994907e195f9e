// Shape, strides and the lists of axes that operations take.
#pragma once
#include <optional>
#include <string>

#include "pyburn/support/small_vector.h"

namespace pyburn {

using Dims = SmallVector<int64_t, 6>;
using OptionalDims = std::optional<Dims>;
using Numbers = SmallVector<double, 4>;
using OptionalNumbers = std::optional<Numbers>;

struct Shape : Dims {
  using Dims::Dims;
  Shape() = default;
  Shape(const Dims& d) : Dims(d) {}
  Shape(Dims&& d) : Dims(std::move(d)) {}
  int rank() const { return int(size()); }
  int64_t numel() const {  // ShapeError on overflow
    int64_t n = 1;
    for (int64_t d : *this)
      if (__builtin_mul_overflow(n, d, &n)) [[unlikely]]
        return overflowing_numel();
    return n;
  }

 private:
  int64_t overflowing_numel() const;
};

std::string to_text(const Dims&);  // "(2, 3)", "(4,)", "()"

int normalise_dim(int64_t dim, int rank);                // negative counts from the end; IndexError when out of range
Dims normalise_dims(const OptionalDims& dim, int rank);  // sorted; all axes when empty or absent; IndexError on repeats
// Rules also meet attributes that no user argument was normalised to: those of files and networks. IndexError.
void check_dim(int64_t dim, int rank);       // in range and not negative
void check_dims(const Dims& dim, int rank);  // the same for each; growing, and some unless rank is 0
Shape reduced_shape(const Shape&, const Dims& dim, bool keepdim);
int64_t count(const Shape&, const Dims& dim);            // elements along these axes
Shape broadcast_shapes(const Shape& a, const Shape& b);  // ShapeError when they do not fit
inline constexpr int kMaxRank = 64;                      // as in NumPy
void check_rank(const Shape&);                           // ShapeError above kMaxRank
int64_t checked_numel(const Shape&);                     // ShapeError for negative extents, overflow or too many dimensions

}  // namespace pyburn
