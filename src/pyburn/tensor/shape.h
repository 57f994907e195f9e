// Shape, strides and the lists of dimensions that operations take.
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

int normalise_dim(int64_t dim, int rank);                // negative values count from the end; IndexError if out of range
Dims normalise_dims(const OptionalDims& dim, int rank);  // sorted; all dimensions if empty or absent; IndexError on repeats
// Validates attributes that were not normalised from user arguments: those from files and networks. IndexError.
void check_dim(int64_t dim, int rank);       // in range and not negative
void check_dims(const Dims& dim, int rank);  // as above for each; increasing, and non-empty unless rank is 0
Shape reduced_shape(const Shape&, const Dims& dim, bool keepdim);
int64_t count(const Shape&, const Dims& dim);            // number of elements along these dimensions
Shape broadcast_shapes(const Shape& a, const Shape& b);  // ShapeError if they do not broadcast
inline constexpr int kMaxRank = 64;                      // as in NumPy
void check_rank(const Shape&);                           // ShapeError above kMaxRank
int64_t checked_numel(const Shape&);                     // ShapeError for negative sizes, overflow or too many dimensions

}  // namespace pyburn
