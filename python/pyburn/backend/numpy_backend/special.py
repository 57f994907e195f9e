"""Functions of physics and statistics, by their integrals and sums."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from .arrays import binary, elementwise, unary

# The rule of trapezoids over a period is exact for these integrands, but for what they hold beyond this many waves.
ANGLES = (np.arange(400) + 0.5) * (math.pi / 400)


def scaled_bessel(x: float, order: int) -> float:
    """exp(-|x|) times the mean of exp(x cos(angle)) cos(order angle) over half a turn."""
    return float(np.mean(np.exp(x * np.cos(ANGLES) - abs(x)) * np.cos(order * ANGLES)))


def erfcx(x: float) -> float:
    if x > 25:
        return sum((-1) ** k * math.prod(range(1, 2 * k, 2)) / (2 * x * x) ** k for k in range(5)) / (x * math.sqrt(math.pi))
    return math.exp(x * x) * math.erfc(x)


def ndtri(p: float) -> float:
    if not 0 < p < 1:
        return -math.inf if p == 0 else math.inf if p == 1 else math.nan
    return NormalDist().inv_cdf(p)


def zeta(s: float, q: float) -> float:
    """Terms one by one, then the integral of the rest."""
    if s == 1:
        return math.inf
    if not s > 1 or math.isnan(q):
        return math.nan
    if q <= 0 and q == math.floor(q):
        return math.inf
    if q <= 0 and s != math.floor(s):
        return math.nan
    terms, w = 200 + max(0, math.ceil(-q)), q + 200 + max(0, math.ceil(-q))
    total = math.fsum((q + k) ** -s for k in range(terms))
    return total + w ** (1 - s) / (s - 1) + w**-s / 2 + s * w ** (-s - 1) / 12 - s * (s + 1) * (s + 2) * w ** (-s - 3) / 720


def lower_gamma(s: float, x: float) -> float:
    """x^s exp(-x) / gamma(s + 1) times the sum of x^k / ((s + 1) ... (s + k)), in logarithms where numbers are large."""
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


class SpecialKernels:
    i0 = unary("i0", elementwise(lambda x: scaled_bessel(x, 0) * math.exp(abs(x))))
    special_i0e = unary("special_i0e", elementwise(lambda x: scaled_bessel(x, 0)))
    special_i1 = unary("special_i1", elementwise(lambda x: scaled_bessel(x, 1) * math.exp(abs(x))))
    special_i1e = unary("special_i1e", elementwise(lambda x: scaled_bessel(x, 1)))
    special_erfcx = unary("special_erfcx", elementwise(erfcx))
    special_ndtri = unary("special_ndtri", elementwise(ndtri))
    special_zeta = binary("special_zeta", elementwise(zeta))
    igamma = binary("igamma", elementwise(lower_gamma))
    igammac = binary("igammac", elementwise(lambda s, x: 1 - lower_gamma(s, x)))
