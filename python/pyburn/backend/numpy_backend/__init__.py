"""The reference backend, which defines each operation in numpy. Written for readability, not speed.

One file per family. Operations that are a single expression are in tables.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..interface import Backend, Capabilities
from . import (
    bessel,
    binary,
    conv,
    ctc_loss,
    fill,
    index,
    linalg,
    pool,
    rearrange,
    reduce,
    regions,
    resample,
    sort,
    special,
    spectral,
    unary,
)


class NumpyBackend(
    unary.UnaryKernels,
    binary.BinaryKernels,
    fill.FillKernels,
    sort.SortKernels,
    index.IndexKernels,
    linalg.LinalgKernels,
    rearrange.RearrangeKernels,
    pool.PoolKernels,
    resample.ResampleKernels,
    regions.RegionKernels,
    spectral.SpectralKernels,
    ctc_loss.CtcLossKernels,
    Backend,
):
    """Implements every operation in numpy. The reference for conformance tests; available as ``device="numpy"``.

    >>> pyburn.ones(2, device="numpy").exp()
    tensor([2.7183, 2.7183], device='numpy')
    """

    name = "numpy"
    capabilities = Capabilities(host_memory=True)
    locals().update(bessel.KERNELS | special.KERNELS | reduce.KERNELS | conv.KERNELS)

    def share(self, exporter: Any) -> Any:
        array = np.from_dlpack(exporter)
        return array if array.flags.writeable and all(s >= 0 for s in array.strides) else None

    def run(self, op: str, inputs: list[Any], attributes: dict[str, Any], outputs: int) -> tuple[Any, ...]:
        with np.errstate(all="ignore"):  # infinities and NaN are valid results, as on every backend
            return super().run(op, inputs, attributes, outputs)
