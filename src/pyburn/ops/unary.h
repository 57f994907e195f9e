// Element-wise functions of one tensor that have arguments.
#pragma once
#include "pyburn/ir/op_info.h"

namespace pyburn {

struct Round {
  int64_t decimals = 0;
  PB_FIELDS(decimals)
  static Round from(const TensorHandle&, int64_t decimals) { return {decimals}; }
};

struct NanToNum {
  double nan = 0, posinf = 0, neginf = 0;
  PB_FIELDS(nan, posinf, neginf)
  static NanToNum from(const TensorHandle& input, std::optional<double> nan, std::optional<double> posinf, std::optional<double> neginf);
};

namespace op {
extern OpInfo neg, abs, sign, floor, ceil, trunc, round, sqrt, rsqrt, nan_to_num;
}

}  // namespace pyburn
