"""Bessel functions and Airy's by their integrals."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from .arrays import elementwise, unary


@cache
def gauss() -> tuple[Any, Any]:
    return np.polynomial.legendre.leggauss(300)


def integral(function: Any, low: float, high: float) -> float:
    """By the rule of Gauss, exact for polynomials of degree 599."""
    places, weights = gauss()
    half = (high - low) / 2
    return float(np.sum(weights * function(low + half * (places + 1)))) * half


def bessel_j(order: int, x: float) -> float:
    return integral(lambda angle: np.cos(order * angle - x * np.sin(angle)), 0, math.pi) / math.pi


def bessel_y(order: int, x: float) -> float:
    if not x > 0:
        return -math.inf if x == 0 else math.nan

    def decaying(t):
        return (np.exp(order * t) + (-1) ** order * np.exp(-order * t)) * np.exp(-x * np.sinh(t))

    waves = integral(lambda angle: np.sin(x * np.sin(angle) - order * angle), 0, math.pi)
    return (waves - integral(decaying, 0, math.asinh(700 / x))) / math.pi


def scaled_bessel_k(order: float, x: float) -> float:
    if not x > 0:
        return math.inf if x == 0 else math.nan
    return integral(lambda t: np.exp(-x * (np.cosh(t) - 1)) * np.cosh(order * t), 0, math.acosh(1 + 700 / x))


def airy_ai(x: float) -> float:
    """Bessel functions of order 1/3: of the second kind to the right, the mean of two waves and what leaks out of them to the left."""
    if x == 0 or math.isnan(x):
        return x if x else 0.3550280538878172
    z = 2 / 3 * abs(x) ** 1.5
    if x > 0:
        return math.sqrt(x / 3) / math.pi * scaled_bessel_k(1 / 3, z) * math.exp(-z)

    def wave(order):  # J of any order
        leak = integral(lambda t: np.exp(-z * np.sinh(t) - order * t), 0, math.asinh(700 / z))
        return integral(lambda a: np.cos(order * a - z * np.sin(a)), 0, math.pi) / math.pi - math.sin(order * math.pi) / math.pi * leak

    return math.sqrt(-x) / 3 * (wave(1 / 3) + wave(-1 / 3))


class BesselKernels:
    special_airy_ai = unary("special_airy_ai", elementwise(airy_ai))
    special_bessel_j0 = unary("special_bessel_j0", elementwise(lambda x: bessel_j(0, x)))
    special_bessel_j1 = unary("special_bessel_j1", elementwise(lambda x: bessel_j(1, x)))
    special_bessel_y0 = unary("special_bessel_y0", elementwise(lambda x: bessel_y(0, x)))
    special_bessel_y1 = unary("special_bessel_y1", elementwise(lambda x: bessel_y(1, x)))
    special_scaled_modified_bessel_k0 = unary("special_scaled_modified_bessel_k0", elementwise(lambda x: scaled_bessel_k(0, x)))
    special_scaled_modified_bessel_k1 = unary("special_scaled_modified_bessel_k1", elementwise(lambda x: scaled_bessel_k(1, x)))
