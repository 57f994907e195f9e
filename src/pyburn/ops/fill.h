// Tensors created from numbers.
#pragma once
#include <cmath>

#include "pyburn/ir/op_info.h"
#include "pyburn/runtime/run.h"

namespace pyburn {

struct Full {
  Shape size;
  Scalar value;
  DType dtype = DType::float32;
  PB_FIELDS(size, value, dtype)

  static Full from(const Dims& size, const Scalar& value, std::optional<DType> dtype) {
    return {size, value, dtype.value_or(value.dtype())};
  }
};

struct Arange {
  Scalar start, step = 1;
  int64_t count = 0;
  DType dtype = DType::int64;
  PB_FIELDS(start, step, count, dtype)

  static Arange from(const std::optional<Scalar>& start, const std::optional<Scalar>& end, const Scalar& step, std::optional<DType> dtype);
};

struct Linspace {
  Scalar start, end;
  int64_t steps = 0;
  DType dtype = DType::float32;
  PB_FIELDS(start, end, steps, dtype)

  static Linspace from(const Scalar& start, const Scalar& end, int64_t steps, std::optional<DType> dtype) {
    // Integer bounds give integers, as in PyTorch.
    auto end_point = [&](const Scalar& x) { return !dtype || is_floating(*dtype) ? x : Scalar(std::trunc(x.to_double())); };
    return {end_point(start), end_point(end), steps, dtype.value_or(default_dtype())};
  }
};

namespace op {
extern OpInfo full, arange, linspace;
}

}  // namespace pyburn
