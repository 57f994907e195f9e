"""Three operands."""

from __future__ import annotations

import numpy as np

from ..interface import kernel


class PointwiseKernels:
    @kernel
    def lerp(self, start, end, *weights, weight):
        return start + (weights[0] if weights else weight) * (end - start)

    @kernel
    def addcmul(self, x, y, z, *, value):
        return x + value * y * z

    @kernel
    def addcdiv(self, x, y, z, *, value):
        return x + value * y / z

    @kernel
    def clamp(self, x, *, min, max):
        x = x if min is None else np.maximum(x, min)
        return x if max is None else np.minimum(x, max)
