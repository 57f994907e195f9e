"""Special functions by integrals and series; orthogonal polynomials."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

from .arrays import binary_kernels, elementwise, kernels


def ndtri(p: float) -> float:
    if not 0 < p < 1:
        return -math.inf if p == 0 else math.inf if p == 1 else math.nan
    return NormalDist().inv_cdf(p)


def digamma(x: float) -> float:
    if x == 0 or math.isnan(x) or x == math.inf:
        return math.copysign(math.inf, -x) if x == 0 else x
    if x < 0:
        return math.nan if x == math.floor(x) else digamma(1 - x) - math.pi / math.tan(math.pi * x)
    total = 0.0
    while x < 20:
        total, x = total - 1 / x, x + 1
    return total + math.log(x) - 1 / (2 * x) - 1 / (12 * x**2) + 1 / (120 * x**4) - 1 / (252 * x**6) + 1 / (240 * x**8)


def sum_of_powers(s: float, q: float, terms: int) -> float:
    """Sums (q + k)^-s over all k: `terms` terms directly, the rest by the Euler-Maclaurin formula."""
    w = q + terms
    rest = w ** (1 - s) / (s - 1) + w**-s / 2 + s * w ** (-s - 1) / 12 - s * (s + 1) * (s + 2) * w ** (-s - 3) / 720
    return math.fsum((q + k) ** -s for k in range(terms)) + rest


def zeta(s: float, q: float) -> float:
    if s == 1:
        return math.inf
    if not s > 1 or math.isnan(q) or (q <= 0 and s != math.floor(s) and q != math.floor(q)):
        return math.nan
    if q <= 0 and q == math.floor(q):
        return math.inf
    return sum_of_powers(s, q, 200 + max(0, math.ceil(-q)))


def polygamma(x: float, n: int) -> float:
    return (-1) ** (n + 1) * math.factorial(n) * sum_of_powers(n + 1, x, 60) if n else digamma(x)


def erfcx(x: float) -> float:
    if x > 25:
        return sum((-1) ** k * math.prod(range(1, 2 * k, 2)) / (2 * x * x) ** k for k in range(5)) / (x * math.sqrt(math.pi))
    return math.exp(x * x) * math.erfc(x)


def lower_gamma(s: float, x: float) -> float:
    """The regularized lower incomplete gamma function, by its power series, with logarithms for large numbers."""
    if not (s >= 0 and x >= 0) or (s == 0 and x == 0):
        return math.nan
    if s == 0 or x == 0 or math.isinf(x):
        return 0.0 if x == 0 else 1.0
    log_term = s * math.log(x) - x - math.lgamma(s + 1)
    total, k = 0.0, 0
    while k < x + 50 or math.exp(log_term) > 1e-18:
        total, k = total + math.exp(log_term), k + 1
        log_term += math.log(x / (s + k))
    return min(total, 1.0)


def polynomial(first: Any, factors: Any) -> Any:
    """Evaluates the polynomials P(n + 1) = (a x + b) P(n) - c P(n - 1), P(0) = 1, P(1) = first(x), (a, b, c) = factors(n)."""

    def of_degree(x: float, n: float) -> float:
        if math.isnan(n) or math.isnan(x):
            return math.nan
        before, now = 1.0, first(x)
        for k in range(1, int(n) + 1):
            a, b, c = factors(k)
            before, now = now, (a * x + b) * now - c * before
        return before if n > -1 else 0.0

    return elementwise(of_degree)


UNARY: dict[str, Any] = {
    "erfinv": lambda x: ndtri((x + 1) / 2) / math.sqrt(2),
    "lgamma": lambda x: math.inf if x <= 0 and x == math.floor(x) else math.lgamma(x),
    "digamma": digamma,
    "polygamma": polygamma,
    "special_erfcx": erfcx,
    "special_ndtri": ndtri,
}
BINARY: dict[str, Any] = {
    "special_zeta": elementwise(zeta),
    "igamma": elementwise(lower_gamma),
    "igammac": elementwise(lambda s, x: 1 - lower_gamma(s, x)),
    "special_chebyshev_polynomial_t": polynomial(lambda x: x, lambda n: (2, 0, 1)),
    "special_chebyshev_polynomial_u": polynomial(lambda x: 2 * x, lambda n: (2, 0, 1)),
    "special_chebyshev_polynomial_v": polynomial(lambda x: 2 * x - 1, lambda n: (2, 0, 1)),
    "special_chebyshev_polynomial_w": polynomial(lambda x: 2 * x + 1, lambda n: (2, 0, 1)),
    "special_hermite_polynomial_h": polynomial(lambda x: 2 * x, lambda n: (2, 0, 2 * n)),
    "special_hermite_polynomial_he": polynomial(lambda x: x, lambda n: (1, 0, n)),
    "special_laguerre_polynomial_l": polynomial(lambda x: 1 - x, lambda n: (-1 / (n + 1), (2 * n + 1) / (n + 1), n / (n + 1))),
    "special_legendre_polynomial_p": polynomial(lambda x: x, lambda n: ((2 * n + 1) / (n + 1), 0, n / (n + 1))),
}
KERNELS = kernels({op: elementwise(function) for op, function in UNARY.items()}) | binary_kernels(BINARY)
