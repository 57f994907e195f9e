// Bessel functions beside those of special.cpp, and Airy's.
#include "pyburn/ops/bessel.h"

#include "pyburn/ops/elementwise.h"
#include "pyburn/ops/generated/bessel.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/copy.h"
#include "pyburn/ops/generated/logic.h"
#include "pyburn/ops/generated/transcendental.h"
#include "pyburn/ops/generated/unary.h"

namespace pyburn {
namespace {

constexpr const char* kLine = R"(
t(2, 3)
t()
t(0, 3)
t(4, 3).T
t(2, 1).expand(2, 5)
t(5, dtype=f64)
t(5, dtype=i64)
tensor([0., 0.5, 2.5, 4.75, 5.5, 8.5, 20., 60., nan])
tensor([-0.5, -1.5, -3., -6., -8.5, -20.])
None ! Tensor)";
constexpr const char* kHalfLine = R"(
positive(2, 3)
positive()
positive(0, 3)
positive(4, 3).T
positive(2, 1).expand(2, 5)
positive(5, dtype=f64)
positive(5, dtype=i64)
tensor([0., 0.001, 0.5, 2.5, 5.5, 8.5, 20., 60., -1., nan]).constant
None ! Tensor)";

// PyTorch has no gradient of these.
constexpr const char* kConstants = R"(
positive(2, 3).constant
positive().constant
positive(0, 3).constant
positive(4, 3).T.constant
positive(2, 1).expand(2, 5).constant
positive(5, dtype=f64).constant
positive(5, dtype=i64)
tensor([0., 0.001, 0.5, 2.5, 5.5, 8.5, 20., 60., -1., nan]).constant
None ! Tensor)";

Grads grad_j0(const NoAttrs&, const GradContext& c) { return {-(c.dy() * special_bessel_j1(c.input(0)))}; }
Grads grad_j1(const NoAttrs&, const GradContext& c) {
  const TensorHandle x = c.input(0), zero = eq(x, 0), apart = where(zero, 1.0, x);
  return {c.dy() * where(zero, 0.5, special_bessel_j0(x) - special_bessel_j1(x) / apart)};
}
Grads grad_y0(const NoAttrs&, const GradContext& c) { return {-(c.dy() * special_bessel_y1(c.input(0)))}; }
Grads grad_y1(const NoAttrs&, const GradContext& c) {
  const TensorHandle x = c.input(0);
  return {c.dy() * (special_bessel_y0(x) - special_bessel_y1(x) / x)};
}

Grads grad_scaled_k0(const NoAttrs&, const GradContext& c) {
  const TensorHandle x = c.input(0);
  return {c.dy() * (special_scaled_modified_bessel_k0(x) - special_scaled_modified_bessel_k1(x))};
}
Grads grad_scaled_k1(const NoAttrs&, const GradContext& c) {
  const TensorHandle x = c.input(0), y = special_scaled_modified_bessel_k1(x);
  return {c.dy() * (y - special_scaled_modified_bessel_k0(x) - y / x)};
}

constexpr OpInfo of_one(OpInfo row, const char* samples) {
  row.saves = inputs;
  return elementwise(row, Cast::promote_float, samples);
}
constexpr OpInfo without_gradient(OpSpec spec, const char* samples) {
  spec.no_grad = "PyTorch defines none";
  return elementwise(define<NoAttrs, infer_same<NoAttrs>>(spec), Cast::promote_float, samples);
}

}  // namespace

namespace op {
constinit OpInfo special_airy_ai = without_gradient({.schema = "special_airy_ai(Tensor input) -> Tensor",
                                                        .doc = "Computes the Airy function Ai element-wise.",
                                                        .torch = "torch.special.airy_ai",
                                                        .example = "pyburn.special.airy_ai(pyburn.tensor([0., 1.]))"},
    kLine);
constinit OpInfo special_bessel_j0 =
    of_one(define<NoAttrs, infer_same<NoAttrs>, grad_j0>({.schema = "special_bessel_j0(Tensor input) -> Tensor",
               .doc = "Computes the Bessel function of the first kind of order 0 element-wise.",
               .torch = "torch.special.bessel_j0",
               .example = "pyburn.special.bessel_j0(pyburn.tensor([0., 1.]))"}),
        kLine);
constinit OpInfo special_bessel_j1 =
    of_one(define<NoAttrs, infer_same<NoAttrs>, grad_j1>({.schema = "special_bessel_j1(Tensor input) -> Tensor",
               .doc = "Computes the Bessel function of the first kind of order 1 element-wise.",
               .torch = "torch.special.bessel_j1",
               .example = "pyburn.special.bessel_j1(pyburn.tensor([0., 1.]))"}),
        kLine);
constinit OpInfo special_bessel_y0 =
    of_one(define<NoAttrs, infer_same<NoAttrs>, grad_y0>({.schema = "special_bessel_y0(Tensor input) -> Tensor",
               .doc = "Computes the Bessel function of the second kind of order 0 element-wise.",
               .torch = "torch.special.bessel_y0",
               .example = "pyburn.special.bessel_y0(pyburn.tensor([1., 2.]))"}),
        kHalfLine);
constinit OpInfo special_bessel_y1 =
    of_one(define<NoAttrs, infer_same<NoAttrs>, grad_y1>({.schema = "special_bessel_y1(Tensor input) -> Tensor",
               .doc = "Computes the Bessel function of the second kind of order 1 element-wise.",
               .torch = "torch.special.bessel_y1",
               .example = "pyburn.special.bessel_y1(pyburn.tensor([1., 2.]))"}),
        kHalfLine);
constinit OpInfo special_scaled_modified_bessel_k0 = of_one(
    define<NoAttrs, infer_same<NoAttrs>, grad_scaled_k0>({.schema = "special_scaled_modified_bessel_k0(Tensor input) -> Tensor",
        .doc = "Computes the exponentially scaled modified Bessel function of the second kind of order 0 element-wise: exp(x) * k0(x).",
        .torch = "torch.special.scaled_modified_bessel_k0",
        .example = "pyburn.special.scaled_modified_bessel_k0(pyburn.tensor([1., 2.]))"}),
    kConstants);
constinit OpInfo special_scaled_modified_bessel_k1 = of_one(
    define<NoAttrs, infer_same<NoAttrs>, grad_scaled_k1>({.schema = "special_scaled_modified_bessel_k1(Tensor input) -> Tensor",
        .doc = "Computes the exponentially scaled modified Bessel function of the second kind of order 1 element-wise: exp(x) * k1(x).",
        .torch = "torch.special.scaled_modified_bessel_k1",
        .example = "pyburn.special.scaled_modified_bessel_k1(pyburn.tensor([1., 2.]))"}),
    kConstants);
}  // namespace op

namespace {

constexpr const char* kDecaying = R"(
positive(2, 3)
positive()
positive(0, 3)
positive(4, 3).T
positive(2, 1).expand(2, 5)
positive(5, dtype=f64)
positive(5, dtype=i64)
tensor([0., 0.001, 0.5, 2.5, 5.5, 8.5, 20., -1., nan]).constant
None ! Tensor)";

constinit FunctionInfo functions[] = {
    {.schema = "special_modified_bessel_k0(Tensor input) -> Tensor",
        .doc = "Computes the modified Bessel function of the second kind of order 0 element-wise.",
        .torch = "torch.special.modified_bessel_k0",
        .example = "pyburn.special.modified_bessel_k0(pyburn.tensor([1., 2.]))",
        .samples = kDecaying,
        .out = true},
    {.schema = "special_modified_bessel_k1(Tensor input) -> Tensor",
        .doc = "Computes the modified Bessel function of the second kind of order 1 element-wise.",
        .torch = "torch.special.modified_bessel_k1",
        .example = "pyburn.special.modified_bessel_k1(pyburn.tensor([1., 2.]))",
        .samples = kDecaying,
        .out = true},
    {.schema = "special_spherical_bessel_j0(Tensor input) -> Tensor",
        .doc = "Computes the spherical Bessel function of the first kind of order 0 element-wise: sin(x) / x.",
        .torch = "torch.special.spherical_bessel_j0",
        .example = "pyburn.special.spherical_bessel_j0(pyburn.tensor([0., 1.]))",
        .samples = R"(
t(2, 3).constant
t().constant
t(0, 3).constant
t(4, 3).T.constant
t(2, 1).expand(2, 5).constant
t(5, dtype=f64).constant
t(5, dtype=i64)
tensor([0., 0.001, 0.5, -2.5, inf, -inf, nan]).constant
None ! Tensor)",
        .out = true},
};

TensorHandle as_floating(const TensorHandle& x) { return is_floating(x.dtype()) ? x : cast(x, default_dtype()); }

}  // namespace

TensorHandle fn::special_modified_bessel_k0(const TensorHandle& input) {
  const TensorHandle x = as_floating(input);
  return special_scaled_modified_bessel_k0(x) * exp(-x);
}
TensorHandle fn::special_modified_bessel_k1(const TensorHandle& input) {
  const TensorHandle x = as_floating(input);
  return special_scaled_modified_bessel_k1(x) * exp(-x);
}
TensorHandle fn::special_spherical_bessel_j0(const TensorHandle& input) {
  const TensorHandle x = as_floating(input), zero = eq(x, 0), far = isinf(x);
  const TensorHandle inside = where(logical_or(zero, far), 1.0, x);
  return where(zero, 1.0, where(far, 0.0, sin(inside) / inside));
}

void register_bessel(OpTable& table) {
  table.add({&op::special_airy_ai, &op::special_bessel_j0, &op::special_bessel_j1, &op::special_bessel_y0, &op::special_bessel_y1,
      &op::special_scaled_modified_bessel_k0, &op::special_scaled_modified_bessel_k1});
  table.add(functions);
}

}  // namespace pyburn
