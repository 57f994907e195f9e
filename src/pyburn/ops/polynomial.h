// Orthogonal polynomials.
#pragma once
#include "pyburn/ir/op_info.h"
#include "pyburn/ops/binary.h"

namespace pyburn::op {
extern OpInfo special_chebyshev_polynomial_t, special_chebyshev_polynomial_u, special_chebyshev_polynomial_v,
    special_chebyshev_polynomial_w, special_hermite_polynomial_h, special_hermite_polynomial_he, special_laguerre_polynomial_l,
    special_legendre_polynomial_p;
}
