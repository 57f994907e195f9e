// Products of matrices that need not exist: sums over k of left(row, k) * right(k, column), for matrix products and convolutions.
#pragma once
#include <functional>

#include "pyburn/backends/wgpu/kernel_table.h"

namespace pyburn::wgpu {

struct Product {
  int64_t batches = 1, m = 0, n = 0, k = 0;
  Word type = Word::f32;
  // Declare tensors and numbers, named as the bodies below do. They may run several times.
  std::function<void(Shader&)> inputs, outputs;
  // Bodies of WGSL functions that return an element of `type`: of (batch, row, k, place) and of (batch, k, column, place), all u32 and
  // inside.
  std::string left, right;
  // Bodies that return this place, a vec4<u32>, of (batch, index), where index counts in the contiguous direction, see below, and may be
  // outside. It is computed seldom: what needs divisions belongs here. Else empty.
  std::string left_place, right_place;
  // A statement that stores `sum` for (batch, row, column).
  std::string store;
  // Is memory contiguous along k? Else along rows, along columns. Neighbouring threads read neighbouring elements.
  bool left_along_k = true, right_along_k = false;
  // Bodies that return the vec4<f32> from there on in the direction above, if extents and places are multiples of 4. Else empty.
  std::string left4, right4;
};
// Reads left ceil(n / tile) and right ceil(m / tile) times; `call` makes room for partial sums where few results have long sums.
void run_product(const Call& call, const Product&);

}  // namespace pyburn::wgpu
