"""Bessel and Airy functions by numerical integration."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from .arrays import elementwise, kernels

rule_of_gauss = cache(np.polynomial.legendre.leggauss)


def integral(function: Any, low: float, high: float) -> float:
    """Integrates by Gauss-Legendre quadrature with 300 nodes, exact for polynomials of degree 599."""
    places, weights = rule_of_gauss(300)
    half = (high - low) / 2
    return float(np.sum(weights * function(low + half * (places + 1)))) * half


def bessel_j(order: float, x: float) -> float:
    """Bessel's integral, with the additional term for non-integer orders."""
    waves = integral(lambda angle: np.cos(order * angle - x * np.sin(angle)), 0, math.pi)
    if order == int(order):
        return waves / math.pi
    leak = integral(lambda t: np.exp(-x * np.sinh(t) - order * t), 0, math.asinh(700 / x))
    return (waves - math.sin(order * math.pi) * leak) / math.pi


def bessel_y(order: int, x: float) -> float:
    if not x > 0:
        return -math.inf if x == 0 else math.nan

    def decaying(t):
        return (np.exp(order * t) + (-1) ** order * np.exp(-order * t)) * np.exp(-x * np.sinh(t))

    waves = integral(lambda angle: np.sin(x * np.sin(angle) - order * angle), 0, math.pi)
    return (waves - integral(decaying, 0, math.asinh(700 / x))) / math.pi


def scaled_bessel_i(order: int, x: float) -> float:
    """exp(-|x|) times the modified Bessel function of the first kind, by its integral over [0, pi]."""
    return integral(lambda angle: np.exp(x * np.cos(angle) - abs(x)) * np.cos(order * angle), 0, math.pi) / math.pi


def scaled_bessel_k(order: float, x: float) -> float:
    if not x > 0:
        return math.inf if x == 0 else math.nan
    return integral(lambda t: np.exp(-x * (np.cosh(t) - 1)) * np.cosh(order * t), 0, math.acosh(1 + 700 / x))


def airy_ai(x: float) -> float:
    """The Airy function Ai by Bessel functions of order 1/3: K for positive x, J for negative x."""
    if x == 0 or math.isnan(x):
        return x if x else 0.3550280538878172
    z = 2 / 3 * abs(x) ** 1.5
    if x > 0:
        return math.sqrt(x / 3) / math.pi * scaled_bessel_k(1 / 3, z) * math.exp(-z)
    return math.sqrt(-x) / 3 * (bessel_j(1 / 3, z) + bessel_j(-1 / 3, z))


BESSEL: dict[str, Any] = {
    "i0": lambda x: scaled_bessel_i(0, x) * math.exp(abs(x)),
    "special_i0e": lambda x: scaled_bessel_i(0, x),
    "special_i1": lambda x: scaled_bessel_i(1, x) * math.exp(abs(x)),
    "special_i1e": lambda x: scaled_bessel_i(1, x),
    "special_airy_ai": airy_ai,
    "special_bessel_j0": lambda x: bessel_j(0, x),
    "special_bessel_j1": lambda x: bessel_j(1, x),
    "special_bessel_y0": lambda x: bessel_y(0, x),
    "special_bessel_y1": lambda x: bessel_y(1, x),
    "special_scaled_modified_bessel_k0": lambda x: scaled_bessel_k(0, x),
    "special_scaled_modified_bessel_k1": lambda x: scaled_bessel_k(1, x),
}
KERNELS = kernels({op: elementwise(function) for op, function in BESSEL.items()})
