// The windows of a pooling operation over a plane.
#pragma once
#include <algorithm>

#include "pyburn/ops/pool.h"

namespace pyburn::cpu {

// Missing dimensions have size 1.
struct PoolWindows {
  PoolAxis z, y, x;
  bool count_padding = false;
  int64_t divisor = 0;
  int64_t plane() const { return z.in * y.in * x.in; }
  int64_t windows() const { return z.out * y.out * x.out; }
  int64_t elements() const {  // elements read per plane
    return windows() * std::max<int64_t>(1, read(z) * read(y) * read(x)) + plane();
  }
  // One window over the whole plane.
  bool whole() const { return windows() == 1 && covers(z) && covers(y) && covers(x); }

 private:
  static int64_t read(const PoolAxis& a) { return std::min(a.kernel, a.in); }  // of a window
  static bool covers(const PoolAxis& a) { return a.dilation == 1 && a.first(0) == 0 && a.last(0) == a.in; }
};

}  // namespace pyburn::cpu
