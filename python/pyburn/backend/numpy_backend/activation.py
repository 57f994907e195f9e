"""Activation functions; those without a kernel here are made of others."""

from __future__ import annotations

import numpy as np

from .arrays import unary


class ActivationKernels:
    relu = unary("relu", lambda x: np.maximum(x, 0))
    sigmoid = unary("sigmoid", lambda x: 1 / (1 + np.exp(-x)))
