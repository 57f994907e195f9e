"""The reference backend: what each operation means, in numpy. Meant to be read and compared with, not to be fast.

One file per family, with the names of those in src/pyburn/ops.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..interface import Backend, Capabilities
from .activation import ActivationKernels
from .bessel import BesselKernels
from .binary import BinaryKernels
from .binary_math import BinaryMathKernels
from .bits import BitsKernels
from .conv import ConvKernels
from .ctc_loss import CtcLossKernels
from .fill import FillKernels
from .index import IndexKernels
from .interpolate import InterpolateKernels
from .linalg import LinalgKernels
from .logic import LogicKernels
from .pointwise import PointwiseKernels
from .polynomial import PolynomialKernels
from .pool import PoolKernels
from .products import ProductsKernels
from .rearrange import RearrangeKernels
from .reduce import ReduceKernels
from .sample_planes import SamplePlanesKernels
from .scan import ScanKernels
from .search import SearchKernels
from .sort import SortKernels
from .special import SpecialKernels
from .transcendental import TranscendentalKernels
from .unary import UnaryKernels


class NumpyBackend(
    UnaryKernels,
    TranscendentalKernels,
    SpecialKernels,
    BesselKernels,
    PolynomialKernels,
    ActivationKernels,
    BinaryKernels,
    BinaryMathKernels,
    BitsKernels,
    LogicKernels,
    PointwiseKernels,
    FillKernels,
    ReduceKernels,
    ScanKernels,
    SortKernels,
    SearchKernels,
    IndexKernels,
    ProductsKernels,
    LinalgKernels,
    RearrangeKernels,
    ConvKernels,
    CtcLossKernels,
    PoolKernels,
    InterpolateKernels,
    SamplePlanesKernels,
    Backend,
):
    """Every operation in a line or two of numpy."""

    name = "numpy"
    capabilities = Capabilities(host_memory=True)

    def share(self, exporter: Any) -> Any:
        array = np.from_dlpack(exporter)
        return array if array.flags.writeable and all(s >= 0 for s in array.strides) else None

    def run(self, op: str, inputs: list[Any], attributes: dict[str, Any], outputs: int) -> tuple[Any, ...]:
        with np.errstate(all="ignore"):  # infinities and NaN are results here, as on every backend
            return super().run(op, inputs, attributes, outputs)
