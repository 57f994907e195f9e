// Random numbers. Seed and counter are attributes of the operation.
#pragma once
#include "pyburn/ir/op_info.h"
#include "pyburn/runtime/generator.h"
#include "pyburn/runtime/run.h"
#include "pyburn/support/fault.h"

namespace pyburn {

enum class Draw : uint8_t { uniform, normal, bernoulli, integer, exponential, permutation };

struct Random {
  Shape size;
  Draw draw = Draw::uniform;
  double a = 0, b = 1;  // uniform: [a, b); normal: mean, standard deviation; bernoulli: probability; exponential: rate
  int64_t seed = 0, offset = 0;
  DType dtype = DType::float32;
  int64_t low = 0, high = 1;  // integer: [low, high)
  PB_FIELDS(size, draw, a, b, seed, offset, dtype, low, high)

  // The number of integers in the range. More than 2^32 need two random words each.
  uint64_t range() const { return uint64_t(high) - uint64_t(low); }
  bool takes_two_words() const { return draw == Draw::integer && range() > uint64_t(1) << 32 && planted_fault != Fault::rounded_bounds; }
};

namespace op {
extern OpInfo random;
}

// Draws from `generator`, or from the default one; overwrites `into` if it is defined.
TensorHandle draw(const Dims& size, Draw, double a, double b, DType, Device*, Generator*, const TensorHandle& into = {});
TensorHandle draw_integers(const Dims& size, int64_t low, int64_t high, DType, Device*, Generator*, const TensorHandle& into = {});

}  // namespace pyburn
