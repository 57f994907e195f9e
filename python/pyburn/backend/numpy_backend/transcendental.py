"""Exponentials, logarithms, angles, and the functions of statistics."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from ..interface import kernel
from .arrays import elementwise, unary


def inverse_erf(x: float) -> float:
    if abs(x) >= 1:
        return math.copysign(math.inf, x) if abs(x) == 1 else math.nan
    return NormalDist().inv_cdf((x + 1) / 2) / math.sqrt(2) if not math.isnan(x) else x


def log_gamma(x: float) -> float:
    return math.inf if x <= 0 and x == math.floor(x) else math.lgamma(x)


def digamma(x: float) -> float:
    if x == 0 or math.isnan(x) or x == math.inf:
        return math.copysign(math.inf, -x) if x == 0 else x
    if x < 0 and x == math.floor(x):
        return math.nan
    if x < 0:
        return digamma(1 - x) - math.pi / math.tan(math.pi * x)
    total = 0.0
    while x < 20:
        total, x = total - 1 / x, x + 1
    return total + math.log(x) - 1 / (2 * x) - 1 / (12 * x**2) + 1 / (120 * x**4) - 1 / (252 * x**6) + 1 / (240 * x**8)


def polygamma(n: int, x: float) -> float:
    """(-1)^(n + 1) n! times the sum of (x + k)^-(n + 1): terms one by one, then the integral of the rest."""
    if n == 0:
        return digamma(x)
    s, far = n + 1, 60
    total = math.fsum((x + k) ** -s for k in range(far))
    w = x + far
    total += w ** (1 - s) / (s - 1) + w**-s / 2 + s * w ** (-s - 1) / 12 - s * (s + 1) * (s + 2) * w ** (-s - 3) / 720
    return (-1) ** (n + 1) * math.factorial(n) * total


erf = elementwise(math.erf)
erfc = elementwise(math.erfc)


class TranscendentalKernels:
    exp = unary("exp", np.exp)
    exp2 = unary("exp2", np.exp2)
    expm1 = unary("expm1", np.expm1)
    log = unary("log", np.log)
    log2 = unary("log2", np.log2)
    log10 = unary("log10", np.log10)
    log1p = unary("log1p", np.log1p)
    special_entr = unary("special_entr", lambda x: np.where(x > 0, -x * np.log(x), np.where(x < 0, -np.inf, x)))
    sin = unary("sin", np.sin)
    cos = unary("cos", np.cos)
    tan = unary("tan", np.tan)
    asin = unary("asin", np.arcsin)
    acos = unary("acos", np.arccos)
    atan = unary("atan", np.arctan)
    sinh = unary("sinh", np.sinh)
    cosh = unary("cosh", np.cosh)
    tanh = unary("tanh", np.tanh)
    asinh = unary("asinh", np.arcsinh)
    acosh = unary("acosh", np.arccosh)
    atanh = unary("atanh", np.arctanh)
    erf = unary("erf", erf)
    erfc = unary("erfc", erfc)
    erfinv = unary("erfinv", elementwise(inverse_erf))
    lgamma = unary("lgamma", elementwise(log_gamma))
    digamma = unary("digamma", elementwise(digamma))

    @kernel
    def polygamma(self, x, *, n):
        return elementwise(lambda v: polygamma(n, v))(x)
