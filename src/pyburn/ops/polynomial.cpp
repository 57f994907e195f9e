// Orthogonal polynomials.
#include "pyburn/ops/polynomial.h"

#include "pyburn/ops/binary_rules.h"
#include "pyburn/ops/generated/binary.h"
#include "pyburn/ops/generated/polynomial.h"

namespace pyburn {
namespace {

constexpr const char* kSamples = R"(
unit(2, 3), tensor([0, 1, 2])
unit(2, 1), tensor([0., 3., 5.])
unit(), 4
unit(0, 3), 2
unit(4, 3).T, tensor([0, 1, 2, 3])
unit(2, 1).expand(2, 3), 3
unit(5, dtype=f64), 12
0.5, tensor([0, 1, 2, 3, 11])
tensor([-2., -1., 0., 1., 3.]), 5
tensor([0.5, 0.5, -1., 1., nan]), tensor([-1., 2.5, 9., 10., 3.])
t(2, dtype=i64), 2
t(2), t(3) ! shapes do not broadcast)";

constexpr OpInfo polynomial(OpSpec spec) {
  spec.no_grad = "PyTorch defines none";
  return elementwise(define<Binary, infer_binary<Binary>>(spec), Cast::promote_float, kSamples);
}

}  // namespace

namespace op {
constinit OpInfo special_chebyshev_polynomial_t =
    polynomial({.schema = "special_chebyshev_polynomial_t(Tensor|Scalar input, Tensor|Scalar n) -> Tensor",
        .doc = "Computes the Chebyshev polynomial of the first kind of degree n.",
        .torch = "torch.special.chebyshev_polynomial_t",
        .example = "pyburn.special.chebyshev_polynomial_t(pyburn.tensor([0.5]), 2)"});
constinit OpInfo special_chebyshev_polynomial_u =
    polynomial({.schema = "special_chebyshev_polynomial_u(Tensor|Scalar input, Tensor|Scalar n) -> Tensor",
        .doc = "Computes the Chebyshev polynomial of the second kind of degree n.",
        .torch = "torch.special.chebyshev_polynomial_u",
        .example = "pyburn.special.chebyshev_polynomial_u(pyburn.tensor([0.5]), 2)"});
constinit OpInfo special_chebyshev_polynomial_v =
    polynomial({.schema = "special_chebyshev_polynomial_v(Tensor|Scalar input, Tensor|Scalar n) -> Tensor",
        .doc = "Computes the Chebyshev polynomial of the third kind of degree n.",
        .torch = "torch.special.chebyshev_polynomial_v",
        .example = "pyburn.special.chebyshev_polynomial_v(pyburn.tensor([0.5]), 2)"});
constinit OpInfo special_chebyshev_polynomial_w =
    polynomial({.schema = "special_chebyshev_polynomial_w(Tensor|Scalar input, Tensor|Scalar n) -> Tensor",
        .doc = "Computes the Chebyshev polynomial of the fourth kind of degree n.",
        .torch = "torch.special.chebyshev_polynomial_w",
        .example = "pyburn.special.chebyshev_polynomial_w(pyburn.tensor([0.5]), 2)"});
constinit OpInfo special_hermite_polynomial_h =
    polynomial({.schema = "special_hermite_polynomial_h(Tensor|Scalar input, Tensor|Scalar n) -> Tensor",
        .doc = "Computes the physicist's Hermite polynomial of degree n.",
        .torch = "torch.special.hermite_polynomial_h",
        .example = "pyburn.special.hermite_polynomial_h(pyburn.tensor([0.5]), 2)"});
constinit OpInfo special_hermite_polynomial_he =
    polynomial({.schema = "special_hermite_polynomial_he(Tensor|Scalar input, Tensor|Scalar n) -> Tensor",
        .doc = "Computes the probabilist's Hermite polynomial of degree n.",
        .torch = "torch.special.hermite_polynomial_he",
        .example = "pyburn.special.hermite_polynomial_he(pyburn.tensor([0.5]), 2)"});
constinit OpInfo special_laguerre_polynomial_l =
    polynomial({.schema = "special_laguerre_polynomial_l(Tensor|Scalar input, Tensor|Scalar n) -> Tensor",
        .doc = "Computes the Laguerre polynomial of degree n.",
        .torch = "torch.special.laguerre_polynomial_l",
        .example = "pyburn.special.laguerre_polynomial_l(pyburn.tensor([0.5]), 2)"});
constinit OpInfo special_legendre_polynomial_p =
    polynomial({.schema = "special_legendre_polynomial_p(Tensor|Scalar input, Tensor|Scalar n) -> Tensor",
        .doc = "Computes the Legendre polynomial of degree n.",
        .torch = "torch.special.legendre_polynomial_p",
        .example = "pyburn.special.legendre_polynomial_p(pyburn.tensor([0.5]), 2)"});
}  // namespace op

namespace {

constexpr const char* kShifted = R"(
fraction(2, 3).constant, tensor([0, 1, 2])
fraction(2, 1).constant, tensor([0., 3., 5.])
fraction().constant, 4
fraction(0, 3).constant, 2
fraction(4, 3).T.constant, tensor([0, 1, 2, 3])
fraction(2, 1).expand(2, 3).constant, 3
fraction(5, dtype=f64).constant, 12
0.25, tensor([0, 1, 2, 3, 11])
tensor([-2., -1., 0., 1., 3.]).constant, 5
t(2), t(3) ! shapes do not broadcast)";

constinit FunctionInfo functions[] = {
    {.schema = "special_shifted_chebyshev_polynomial_t(Tensor|Scalar input, Tensor|Scalar n) -> Tensor",
        .doc = "Computes the shifted Chebyshev polynomial of the first kind of degree n, T_n(2x - 1).",
        .torch = "torch.special.shifted_chebyshev_polynomial_t",
        .example = "pyburn.special.shifted_chebyshev_polynomial_t(pyburn.tensor([0.75]), 2)",
        .samples = kShifted,
        .out = true},
    {.schema = "special_shifted_chebyshev_polynomial_u(Tensor|Scalar input, Tensor|Scalar n) -> Tensor",
        .doc = "Computes the shifted Chebyshev polynomial of the second kind of degree n, U_n(2x - 1).",
        .torch = "torch.special.shifted_chebyshev_polynomial_u",
        .example = "pyburn.special.shifted_chebyshev_polynomial_u(pyburn.tensor([0.75]), 2)",
        .samples = kShifted,
        .out = true},
    {.schema = "special_shifted_chebyshev_polynomial_v(Tensor|Scalar input, Tensor|Scalar n) -> Tensor",
        .doc = "Computes the shifted Chebyshev polynomial of the third kind of degree n, V_n(2x - 1).",
        .torch = "torch.special.shifted_chebyshev_polynomial_v",
        .example = "pyburn.special.shifted_chebyshev_polynomial_v(pyburn.tensor([0.75]), 2)",
        .samples = kShifted,
        .out = true},
    {.schema = "special_shifted_chebyshev_polynomial_w(Tensor|Scalar input, Tensor|Scalar n) -> Tensor",
        .doc = "Computes the shifted Chebyshev polynomial of the fourth kind of degree n, W_n(2x - 1).",
        .torch = "torch.special.shifted_chebyshev_polynomial_w",
        .example = "pyburn.special.shifted_chebyshev_polynomial_w(pyburn.tensor([0.75]), 2)",
        .samples = kShifted,
        .out = true},
};

// polynomial(2 x - 1, n), for x a tensor or a number.
template <auto polynomial>
TensorHandle shifted(const Operand& x, const Operand& n) {
  if (x.is_tensor()) return polynomial(x.tensor() * 2 - 1, n);
  return polynomial(2 * x.value().to_double() - 1, n);
}

}  // namespace

TensorHandle fn::special_shifted_chebyshev_polynomial_t(const Operand& input, const Operand& n) {
  return shifted<special_chebyshev_polynomial_t>(input, n);
}
TensorHandle fn::special_shifted_chebyshev_polynomial_u(const Operand& input, const Operand& n) {
  return shifted<special_chebyshev_polynomial_u>(input, n);
}
TensorHandle fn::special_shifted_chebyshev_polynomial_v(const Operand& input, const Operand& n) {
  return shifted<special_chebyshev_polynomial_v>(input, n);
}
TensorHandle fn::special_shifted_chebyshev_polynomial_w(const Operand& input, const Operand& n) {
  return shifted<special_chebyshev_polynomial_w>(input, n);
}

void register_polynomial(OpTable& table) {
  table.add({&op::special_chebyshev_polynomial_t, &op::special_chebyshev_polynomial_u, &op::special_chebyshev_polynomial_v,
      &op::special_chebyshev_polynomial_w, &op::special_hermite_polynomial_h, &op::special_hermite_polynomial_he,
      &op::special_laguerre_polynomial_l, &op::special_legendre_polynomial_p});
  table.add(functions);
}

}  // namespace pyburn
