"""Weights of large networks by a rule, so that no file has to hold them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def drawn(shapes: Sequence[Sequence[int]]) -> list[Any]:
    """Kernels that keep the size of what goes through them, positive numbers for everything else: scales and variances among it."""
    rng, found = np.random.default_rng(0), []
    for shape in shapes:
        values = rng.random(tuple(shape), np.float32)
        apart = len(shape) == 4 and shape[-1] == 1  # a kernel for each channel
        fan = int(np.prod(shape[:2] if apart else shape[:-1]))
        found.append((values - 0.45) * np.float32((12 / fan) ** 0.5) if len(shape) > 1 else values * np.float32(0.2) + np.float32(0.9))
    return found
