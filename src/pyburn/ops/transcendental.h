// Exponentials, logarithms, trigonometric functions, and the functions of statistics.
#pragma once
#include "pyburn/ir/op_info.h"

namespace pyburn {

struct Polygamma {
  int64_t n = 0;
  PB_FIELDS(n)
  static Polygamma from(int64_t n, const TensorHandle&) { return {n}; }
};

namespace op {
extern OpInfo exp, exp2, expm1, log, log2, log10, log1p, sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, asinh, acosh, atanh, erf, erfc,
    erfinv, lgamma, digamma, polygamma;
}

}  // namespace pyburn
