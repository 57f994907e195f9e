// Line search that satisfies the strong Wolfe conditions.
#pragma once
#include <functional>

#include "pyburn/tensor/handle.h"

namespace pyburn::optim {

struct LinePoint {
  double at, value, slope;
  TensorHandle gradient;
};

// `evaluate(t)` evaluates the function at t; `start` is the point at 0, `first` the initial t, `length` the largest component of the
// direction. At most `limit` evaluations after the first. Numbers are rounded to float32 unless `in_double` is set.
LinePoint strong_wolfe(
    const std::function<LinePoint(double)>& evaluate, const LinePoint& start, double first, double length, int64_t limit, bool in_double);

}  // namespace pyburn::optim
