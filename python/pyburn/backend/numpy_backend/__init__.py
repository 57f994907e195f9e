"""The reference backend: what each operation means, in numpy. Meant to be read and compared with, not to be fast.

One file per family, with the names of those in src/pyburn/ops.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..interface import Backend
from .binary import BinaryKernels
from .conv import ConvKernels
from .fill import FillKernels
from .index import IndexKernels
from .interpolate import InterpolateKernels
from .pool import PoolKernels
from .products import ProductsKernels
from .reduce import ReduceKernels
from .unary import UnaryKernels


class NumpyBackend(
    UnaryKernels,
    BinaryKernels,
    FillKernels,
    ReduceKernels,
    IndexKernels,
    ProductsKernels,
    ConvKernels,
    PoolKernels,
    InterpolateKernels,
    Backend,
):
    """Every operation in a line or two of numpy."""

    name = "numpy"

    def run(self, op: str, inputs: list[Any], attributes: dict[str, Any], outputs: int) -> tuple[Any, ...]:
        with np.errstate(all="ignore"):  # infinities and NaN are results here, as on every backend
            return super().run(op, inputs, attributes, outputs)
