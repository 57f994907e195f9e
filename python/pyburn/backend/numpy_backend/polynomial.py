"""Orthogonal polynomials: by coefficients where numpy evaluates them, else by their recurrence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arrays import binary, elementwise


def of_degree(evaluate: Any) -> Any:
    """The polynomial of degree n at x, evaluated by numpy from coefficients."""

    def polynomial(x: float, n: float) -> float:
        if math.isnan(n) or math.isnan(x):
            return math.nan
        return float(evaluate(x, [0] * int(n) + [1])) if n > -1 else 0.0

    return elementwise(polynomial)


def chebyshev(slope: int, offset: int) -> Any:
    """The polynomials that begin with 1 and slope * x + offset."""

    def polynomial(x: float, n: float) -> float:
        if math.isnan(n) or math.isnan(x):
            return math.nan
        before, now = 1.0, slope * x + offset
        for _ in range(int(n)):
            before, now = now, 2 * x * now - before
        return before if n > -1 else 0.0

    return elementwise(polynomial)


class PolynomialKernels:
    special_chebyshev_polynomial_t = binary("special_chebyshev_polynomial_t", chebyshev(1, 0))
    special_chebyshev_polynomial_u = binary("special_chebyshev_polynomial_u", chebyshev(2, 0))
    special_chebyshev_polynomial_v = binary("special_chebyshev_polynomial_v", chebyshev(2, -1))
    special_chebyshev_polynomial_w = binary("special_chebyshev_polynomial_w", chebyshev(2, 1))
    special_hermite_polynomial_h = binary("special_hermite_polynomial_h", of_degree(np.polynomial.hermite.hermval))
    special_hermite_polynomial_he = binary("special_hermite_polynomial_he", of_degree(np.polynomial.hermite_e.hermeval))
    special_laguerre_polynomial_l = binary("special_laguerre_polynomial_l", of_degree(np.polynomial.laguerre.lagval))
    special_legendre_polynomial_p = binary("special_legendre_polynomial_p", of_degree(np.polynomial.legendre.legval))
