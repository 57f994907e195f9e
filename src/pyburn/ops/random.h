// Random numbers. The seed and the counter travel with the operation.
#pragma once
#include "pyburn/ir/op_info.h"
#include "pyburn/runtime/generator.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

enum class Draw : uint8_t { uniform, normal, bernoulli, integer, exponential, permutation };

struct Random {
  Shape size;
  Draw draw = Draw::uniform;
  double a = 0, b = 1;  // uniform and integer: [a, b); normal: mean, deviation; bernoulli: probability; exponential: rate
  int64_t seed = 0, offset = 0;
  DType dtype = DType::float32;
  PB_FIELDS(size, draw, a, b, seed, offset, dtype)
};

namespace op {
extern OpInfo random;
}

// Draws from `generator`, or from the default one; `into` is overwritten when defined.
TensorHandle draw(const Dims& size, Draw, double a, double b, DType, Device*, Generator*, const TensorHandle& into = {});

}  // namespace pyburn
