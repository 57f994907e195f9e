// The driver of all reductions: divides the work into blocks, independently of the number of threads, and calls the folds of fold-inl.h
// through a table.
#pragma once
#include "pyburn/ops/reduce.h"

namespace pyburn::cpu {

inline constexpr int64_t kPartialBytes = 24;  // the size of the largest partial result
inline constexpr int64_t kResults = 1024;     // elements per block: a page of each row is read before the next

// One fold for one element type.
struct FoldFunctions {
  int64_t element, result, partial;  // sizes in bytes
  void (*start)(void* acc, int64_t n);
  void (*block)(const void* p, int64_t kept_stride, int64_t results, int64_t stride, int64_t n, void* acc, double parameter);
  void (*join)(void* acc, const void* other, int64_t n);
  // The results, `stride` elements apart; folds with two results write both.
  void (*finish)(const void* acc, int64_t n, int64_t folded, double parameter, void* y, void* second, int64_t stride);
};

// Folds x over a.dim into y and, if given, `second`, which has the layout of y.
void reduce_with(const FoldFunctions& fold, const Reduce& a, double parameter, const TensorHandle& x, const TensorHandle& y,
    const TensorHandle* second = nullptr);

}  // namespace pyburn::cpu
