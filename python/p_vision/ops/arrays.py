"""Array functions of `ops`: joining and splitting, statistics, segment reductions, scatter updates."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pyburn
from pyburn import Tensor

from ..conversion import dtype_of
from .renamed import Axis, axes_of
from .tensors import Functions

FUNCTIONS = Functions()

# pyburn functions with the same name and arguments in Keras.
_SAME = """
allclose bitwise_left_shift bitwise_right_shift cdist count_nonzero cov corrcoef diagflat dstack erfc fliplr flipud fmax fmin gcd hstack
i0 isin isneginf isposinf isreal lcm ldexp logaddexp2 nextafter rot90 signbit vander vstack
"""
FUNCTIONS.update({name: getattr(pyburn, name) for name in _SAME.split()})
FUNCTIONS.update(
    left_shift=pyburn.bitwise_left_shift, right_shift=pyburn.bitwise_right_shift, bitwise_invert=pyburn.bitwise_not, fabs=pyburn.abs
)


@FUNCTIONS.add
def average(x: Tensor, axis: Axis = None, weights: Any = None) -> Tensor:
    """The weighted average."""
    if weights is None:
        return x.mean(axes_of(x, axis))
    given = pyburn.as_tensor(weights, device=x.device).to(x.dtype)
    if given.ndim == 1 and x.ndim > 1 and isinstance(axis, int):
        given = given.reshape([-1 if at == axis % x.ndim else 1 for at in range(x.ndim)])
    given = given.expand(x.shape)
    return (x * given).sum(axes_of(x, axis)) / given.sum(axes_of(x, axis))


@FUNCTIONS.add
def digitize(x: Tensor, bins: Any) -> Tensor:
    """The index of the bin of each element."""
    edges = pyburn.as_tensor(bins, device=x.device).to(x.dtype)
    return (x.unsqueeze(-1) >= edges).sum(-1).int()


@FUNCTIONS.add
def histogram(x: Tensor, bins: int = 10, range: Sequence[float] | None = None) -> tuple[Tensor, Tensor]:
    """The counts of a histogram, and the edges of its bins."""
    low, high = (float(x.min()), float(x.max())) if range is None else range
    edges = pyburn.linspace(low, high, bins + 1, device=x.device)
    return pyburn.histc(x.float(), bins, low, high).int(), edges


@FUNCTIONS.add
def quantile(x: Tensor, q: Any, axis: Axis = None, method: str = "linear", keepdims: bool = False) -> Tensor:
    """The quantile."""
    axes = sorted(a % x.ndim for a in axes_of(x, axis))
    rest = [a for a in range(x.ndim) if a not in axes]
    flat = x.permute(*rest, *axes).flatten(len(rest)) if rest else x.reshape(-1)
    found = pyburn.quantile(
        flat.float() if not flat.is_floating_point() else flat, pyburn.as_tensor(q, dtype=flat.dtype), -1, interpolation=method
    )
    if keepdims:
        lead = found.shape[: found.ndim - len(rest)]
        found = found.reshape(*lead, *(1 if a in axes else x.shape[a] for a in range(x.ndim)))
    return found


@FUNCTIONS.add
def median(x: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The median."""
    return quantile(x, 0.5, axis, keepdims=keepdims)


@FUNCTIONS.add
def percentile(x: Tensor, q: Any, axis: Axis = None, method: str = "linear", keepdims: bool = False) -> Tensor:
    """The percentile."""
    return quantile(x, pyburn.as_tensor(q, dtype=pyburn.float32) / 100, axis, method, keepdims)


def _without_nan(name: str, fill: float, reduce: Callable[..., Tensor]) -> None:
    def function(x: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
        return reduce(pyburn.where(x.isnan(), fill, x), axes_of(x, axis), keepdim=keepdims)

    function.__doc__ = f"The {name.removeprefix('nan')} of the elements that are not NaN."
    FUNCTIONS[name] = function


_without_nan("nanmax", -math.inf, pyburn.amax)
_without_nan("nanmin", math.inf, pyburn.amin)


@FUNCTIONS.add
def nanvar(x: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The variance of the elements that are not NaN."""
    return (x - x.nanmean(axes_of(x, axis), keepdim=True)).square().nanmean(axes_of(x, axis), keepdim=keepdims)


@FUNCTIONS.add
def nanstd(x: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The standard deviation of the elements that are not NaN."""
    return nanvar(x, axis, keepdims).sqrt()


@FUNCTIONS.add
def select(condlist: Sequence[Tensor], choicelist: Sequence[Any], default: Any = 0) -> Tensor:
    """Elements of the first choice whose condition is True, else the default."""
    found: Any = default
    for condition, choice in zip(reversed(list(condlist)), reversed(list(choicelist))):
        found = pyburn.where(condition, choice, found)
    return found


@FUNCTIONS.add
def scatter(indices: Tensor, values: Tensor, shape: Sequence[int]) -> Tensor:
    """Adds values at indices (..., number of dimensions) to zeros of a shape."""
    return _scattered(pyburn.zeros(list(shape), dtype=values.dtype, device=values.device), indices, values, accumulate=True)


@FUNCTIONS.add
def scatter_update(inputs: Tensor, indices: Any, updates: Tensor, reduction: str | None = None) -> Tensor:
    """Returns a copy with new values at indices (n, number of dimensions); reduction="add" adds them."""
    if reduction not in (None, "add"):
        raise ValueError(f"[scatter_update] reduction is None or 'add': got {reduction!r}")
    return _scattered(inputs.clone(), pyburn.as_tensor(indices, device=inputs.device), updates, accumulate=reduction == "add")


def _scattered(x: Tensor, indices: Tensor, values: Tensor, accumulate: bool) -> Tensor:
    places = tuple(indices.long().unbind(-1))
    return x.index_put(places, values.to(x.dtype), accumulate)


def slice_(inputs: Tensor, start_indices: Sequence[int], shape: Sequence[int]) -> Tensor:
    """Returns the slice that starts at indices and has a shape; -1 is the rest of a dimension."""
    parts = tuple(slice(int(a), None if n == -1 else int(a) + int(n)) for a, n in zip(start_indices, shape))
    return inputs[parts]


@FUNCTIONS.add
def slice_update(inputs: Tensor, start_indices: Sequence[int], updates: Tensor) -> Tensor:
    """Returns a copy with a block of new values from the start indices on."""
    made = inputs.clone()
    made[tuple(slice(int(a), int(a) + n) for a, n in zip(start_indices, updates.shape))] = updates
    return made


FUNCTIONS["slice"] = slice_


def _segments(name: str, reduce: str, empty: float | None) -> None:
    def function(data: Tensor, segment_ids: Any, num_segments: int | None = None, sorted: bool = False) -> Tensor:
        ids = pyburn.as_tensor(segment_ids, device=data.device).long()
        count = int(ids.max()) + 1 if num_segments is None else num_segments
        start = pyburn.full([count, *data.shape[1:]], 0.0 if empty is None else empty, dtype=data.dtype, device=data.device)
        spread = ids.reshape(-1, *[1] * (data.ndim - 1)).expand(data.shape)
        return start.scatter_reduce(0, spread, data, reduce, include_self=True)

    function.__doc__ = f"The {name.removeprefix('segment_')} of the rows of each segment."
    FUNCTIONS[name] = function


_segments("segment_sum", "sum", None)
_segments("segment_max", "amax", -math.inf)
_segments("segment_min", "amin", math.inf)
_segments("segment_prod", "prod", 1.0)


@FUNCTIONS.add
def saturate_cast(x: Tensor, dtype: Any) -> Tensor:
    """Casts to a dtype; values outside its range are clamped to its limits."""
    kind = dtype_of(dtype)
    assert kind is not None
    limits = pyburn.finfo(kind) if kind.is_floating_point else pyburn.iinfo(kind)
    return x.clamp(limits.min, limits.max).to(dtype=kind)


@FUNCTIONS.add
def multi_hot(inputs: Tensor, num_classes: int, axis: int = -1, dtype: Any = "float32") -> Tensor:
    """Multi-hot encodes integer classes."""
    hits = (inputs.long().unsqueeze(-1) == pyburn.arange(num_classes, device=inputs.device)).to(dtype=dtype_of(dtype))
    return hits.amax(-2) if inputs.ndim > 1 else hits.amax(0)


def _waves(count: int, like: Tensor, sign: float) -> tuple[Tensor, Tensor]:
    """Returns the real and the imaginary part of the matrix of the discrete Fourier transform."""
    steps = pyburn.arange(count, device=like.device)
    angle = (steps.unsqueeze(1) * steps % count).to(like.dtype) * (2 * math.pi / count)
    return angle.cos(), sign * angle.sin()


def _transformed(x: Sequence[Tensor], axis: int, sign: float) -> tuple[Tensor, Tensor]:
    real, imaginary = (part.movedim(axis, -1) for part in x)
    cos, sin = _waves(real.shape[-1], real, sign)
    parts = real @ cos - imaginary @ sin, real @ sin + imaginary @ cos
    return parts[0].movedim(-1, axis), parts[1].movedim(-1, axis)


@FUNCTIONS.add
def fft(x: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Fourier transform of (real, imaginary) along the last dimension, as a matrix product with O(n²) operations."""
    return _transformed(x, -1, -1.0)


@FUNCTIONS.add
def fft2(x: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Fourier transform of (real, imaginary) along the last two dimensions."""
    return _transformed(_transformed(x, -1, -1.0), -2, -1.0)


@FUNCTIONS.add
def ifft2(x: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Inverse of fft2."""
    real, imaginary = _transformed(_transformed(x, -1, 1.0), -2, 1.0)
    count = real.shape[-1] * real.shape[-2]
    return real / count, imaginary / count
