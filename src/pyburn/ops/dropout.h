// Dropout. The mask is regenerated for the gradient, not saved.
#pragma once
#include "pyburn/ir/op_info.h"

namespace pyburn {

// Element i, in row-major order, is dropped with probability p, depending on word i of the random stream.
struct Dropout {
  double p = 0.5, scale = 1, shift = 0, dropped = 0;  // kept: scale * x + shift
  int64_t seed = 0, offset = 0;
  PB_FIELDS(p, scale, shift, dropped, seed, offset)
  static Dropout from(const TensorHandle&, double p, double scale, double shift, double dropped, int64_t seed, int64_t offset) {
    return {p, scale, shift, dropped, seed, offset};
  }
};

namespace op {
extern OpInfo seeded_dropout;
}

}  // namespace pyburn
