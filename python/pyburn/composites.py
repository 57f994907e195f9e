"""Functions composed of operations, and constants. Imported lazily."""

from __future__ import annotations

import math
from typing import Any

from . import _core, linalg
from ._core import Tensor
from ._lu import lu_unpack, pca_lowrank, svd_lowrank  # noqa: F401
from ._older_linalg import cholesky, lu, lu_solve, qr, svd, triangular_solve  # noqa: F401
from .tensor.memory_format import channels_last, channels_last_3d, contiguous_format, memory_format, preserve_format, strided  # noqa: F401
from .tensor.view_copies import COPIES

inf, nan, pi, e = math.inf, math.nan, math.pi, math.e
newaxis = None
dtype = _core.DType


def range(start: Any = 0, end: Any = None, step: Any = 1, **options: Any) -> Tensor:
    """Returns the numbers from start to end, including end; arange excludes it.

    Raises:
        ArgumentError: step is 0 or has the wrong sign.

    >>> pyburn.range(1, 3)
    tensor([1., 2., 3.])
    """
    if end is None:
        start, end = 0, start
    if step == 0 or (end - start) * step < 0:
        raise _core.ArgumentError(f"[range] expected a step from start towards end: got {start}, {end} and {step}")
    count, dtype = math.floor((end - start) / step + 1), options.pop("dtype", None) or _core.get_default_dtype()
    return (_core.arange(0, count, dtype=_core.float64, **options) * step + start).to(dtype)


def frobenius_norm(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    """Computes the Frobenius norm: the square root of the sum of squares.

    >>> pyburn.frobenius_norm(pyburn.tensor([3.0, 4.0]))
    tensor(5.)
    """
    return linalg.vector_norm(input, 2, dim or None, keepdim)


def nuclear_norm(input: Tensor, dim: Any = (-2, -1), keepdim: bool = False) -> Tensor:
    """Computes the nuclear norm: the sum of the singular values.

    >>> pyburn.nuclear_norm(pyburn.eye(2))
    tensor(2.)
    """
    return linalg.matrix_norm(input, "nuc", dim, keepdim)


def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """Returns the first `size` rows of nonzero, padded with rows of fill_value.

    Raises:
        ArgumentError: size is negative.

    >>> pyburn.nonzero_static(pyburn.tensor([0, 3]), size=2)
    tensor([[ 1],
            [-1]])
    """
    if size < 0:
        raise _core.ArgumentError(f"[nonzero_static] expected a size of at least 0: got {size}")
    found = _core.nonzero(input)[:size]
    missing = _core.full((size - found.shape[0], input.ndim), fill_value, dtype=_core.int64, device=input.device)
    return _core.cat([found, missing])


def histogramdd(
    input: Tensor, bins: Any, *, range: Any = None, weight: Tensor | None = None, density: bool = False
) -> tuple[Tensor, list[Tensor]]:
    """Computes the multidimensional histogram of the points in the last dimension of input, and the bin edges per coordinate.

    Raises:
        ArgumentError: bins or range do not fit the number of coordinates.

    >>> pyburn.histogramdd(pyburn.tensor([[0.0, 1.0], [1.0, 0.0]]), [2, 2])[0]
    tensor([[0., 1.],
            [1., 0.]])
    """
    points = input.detach().reshape(-1, input.shape[-1])
    axes = points.shape[1]
    bins = [bins] * axes if isinstance(bins, int) else list(bins)
    if len(bins) != axes or (range is not None and len(range) != 2 * axes):
        raise _core.ArgumentError(f"[histogramdd] expected bins (and two numbers of range) for each of {axes} coordinates: got {bins}")
    edges: list[Tensor] = []
    places = _core.zeros(points.shape[0], dtype=_core.int64, device=input.device)
    inside = _core.ones(points.shape[0], dtype=_core.bool, device=input.device)
    for axis, wanted in enumerate(bins):
        column = points[:, axis].contiguous()
        if isinstance(wanted, Tensor):
            edge = wanted.detach()
            low, high, last = edge[0], edge[-1], edge.shape[0] - 1
            box = _core.searchsorted(edge, column, right=True) - 1
        else:
            limits = None if range is None else range[2 * axis : 2 * axis + 2]
            edge, last = _core.histogram(column, wanted, range=limits)[1], wanted
            low = edge[0] if limits or not column.numel() else column.amin()
            high = edge[-1] if limits or not column.numel() else column.amax()
            box = ((column - edge[0]) / (edge[-1] - edge[0]) * last).long()
        inside = inside & (column >= low) & (column <= high)  # the last bin includes its upper edge
        places = places * last + box.clamp(0, last - 1)
        edges.append(edge)
    shape = [edge.shape[0] - 1 for edge in edges]
    amounts = _core.ones_like(points[:, 0]) if weight is None else weight.detach().reshape(-1)
    counts = _core.zeros(math.prod(shape), dtype=input.dtype, device=input.device)
    counts = counts.index_add(0, _core.where(inside, places, 0), _core.where(inside, amounts, 0)).reshape(shape)
    if density:
        counts = counts / counts.sum()
        for axis, edge in enumerate(edges):
            counts = counts / edge.diff().reshape([-1 if i == axis else 1 for i, _ in enumerate(shape)])
    return counts, edges


# In-place methods are functions as well: `pyburn.relu_(x)`.
_IN_PLACE = """abs acos acosh addmv arccos arccosh arcsin arcsinh arctan arctanh as_strided asin asinh atan atanh ceil celu clamp clamp_max
clamp_min clip cos cosh deg2rad detach erf erfc exp exp2 expm1 fix floor frac gcd i0 lcm ldexp log log10 log1p log2 logit nan_to_num neg
negative rad2deg reciprocal relu resize_as round rrelu rsqrt selu sigmoid sin sinc sinh sqrt square tan tanh threshold trunc xlogy"""
globals().update({name + "_": getattr(Tensor, name + "_") for name in _IN_PLACE.split()})
globals().update(COPIES)

_OTHERS = ("annotations", "math", "linalg", "Any", "COPIES", "Tensor")  # names used in this module
__all__ = [name for name in dir() if not name.startswith("_") and name not in _OTHERS]
