// How far to go along a line: far enough down, where the slope has become small (the strong conditions of Wolfe).
#pragma once
#include <functional>

#include "pyburn/tensor/handle.h"

namespace pyburn::optim {

struct LinePoint {
  double at, value, slope;
  TensorHandle gradient;
};

// `evaluate(t)` looks at the line at t; `start` is its point at 0, `first` the t that is tried first, `length` the largest component of the
// direction. At most `limit` evaluations after the first. Numbers are rounded to float32 unless `in_double`.
LinePoint strong_wolfe(
    const std::function<LinePoint(double)>& evaluate, const LinePoint& start, double first, double length, int64_t limit, bool in_double);

}  // namespace pyburn::optim
