// The sets of tile functions that the per-instruction-set sources hand out.
#pragma once
#include "pyburn/backends/cpu/kernel_table.h"

namespace pyburn::cpu {

struct UnaryTiles {
  TileFn fn[11];  // neg abs exp log sqrt rsqrt sin cos tanh sigmoid relu
};
struct BinaryTiles {
  TileFn add, sub, mul, div, pow, maximum, minimum, eq, ne, lt, le, gt, ge, where;  // div and pow may be null
};
struct FloatTiles {
  UnaryTiles unary_float, unary_double;
  BinaryTiles binary_float, binary_double;
};

void add_binary_tiles(KernelTable&, DType compute, const BinaryTiles&);

}  // namespace pyburn::cpu
