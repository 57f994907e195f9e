// Helpers shared by element-wise families: inference, zero gradients, and samples.
#pragma once
#include "pyburn/ops/generated/fill.h"
#include "pyburn/ops/rules.h"

namespace pyburn {

template <class A>
Meta infer_same(const A&, Metas in) {
  return in[0];
}
template <class A>
Meta infer_number(const A&, Metas in) {
  require<DTypeError>(in[0].dtype != DType::boolean, "not defined for bool: use logical_not for bool tensors");
  return in[0];
}
template <class A>
Meta infer_floating(const A&, Metas in) {
  require<DTypeError>(is_floating(in[0].dtype), "expected a floating dtype: got {}", in[0].dtype);
  return in[0];
}
template <class A>
Meta infer_truth(const A&, Metas in) {
  return {in[0].shape, DType::boolean};
}

// A row of an element-wise family.
constexpr OpInfo elementwise(OpInfo row, Cast cast, const char* samples) {
  row.kind = Kind::elementwise;
  row.cast = cast;
  row.samples = samples;
  return row;
}

// Step functions: the derivative is 0 wherever it exists.
template <class A>
Grads grad_flat(const A&, const GradContext& c) {
  return {zeros_like(c.dy())};
}

inline constexpr const char* kAnySamples = R"(
t(2, 3)
t()
t(0, 3)
t(4, 3).T
t(2, 1).expand(2, 5)
t(3, 4)[:, ::2]
t(5, dtype=f64)
t(5, dtype=f16)
t(5, dtype=bf16)
t(5, dtype=i64)
t(3000)
'text' ! Tensor)";
inline constexpr const char* kFloatingSamples = R"(
t(2, 3)
t()
t(0, 3)
t(4, 3).T
t(2, 1).expand(2, 5)
t(3, 4)[:, ::2]
t(5, dtype=f64)
t(5, dtype=f16)
t(5, dtype=bf16)
t(3000)
tensor([0., inf, -inf, nan, 30., -30.])
t(5, dtype=i64) ! floating)";
inline constexpr const char* kPositiveSamples = R"(
positive(2, 3)
positive()
positive(0, 3)
positive(4, 3).T
positive(2, 1).expand(2, 5)
positive(5, dtype=f64)
positive(5, dtype=f16)
positive(5, dtype=i32)
positive(3000)
None ! Tensor)";
// Values between -1 and 1.
inline constexpr const char* kUnitSamples = R"(
unit(2, 3)
unit()
unit(0, 3)
unit(4, 3).T
unit(2, 1).expand(2, 5)
unit(5, dtype=f64)
unit(5, dtype=f16)
unit(5, dtype=bf16)
unit(3000)
tensor([0, 1, 0])
None ! Tensor)";
inline constexpr const char* kPredicateSamples = R"(
t(2, 3)
tensor([0., -0., inf, -inf, nan, 1.])
tensor([0., inf, nan], dtype=f16)
t()
t(0, 3)
t(4, 3).T
t(2, 1).expand(2, 5)
t(5, dtype=f64)
t(5, dtype=i64)
t(5, dtype=u8)
t(5, dtype=b8)
None ! Tensor)";

}  // namespace pyburn
