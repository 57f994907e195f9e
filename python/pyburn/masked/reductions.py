"""Reductions that ignore the elements where the mask is False."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .. import _core, linalg
from .._core import Tensor
from .masks import least, let_through, most

if TYPE_CHECKING:
    from .._types import DTypeLike

Axes = int | Sequence[int] | None


def _axes(dim: Axes, input: Tensor) -> tuple[int, ...]:
    """Returns all dimensions for None and for an empty list."""
    if dim is None or (not isinstance(dim, int) and len(dim) == 0):
        return tuple(range(input.ndim))
    return (dim,) if isinstance(dim, int) else tuple(dim)


def _summing(input: Tensor, dtype: DTypeLike | None) -> DTypeLike:
    return dtype or (input.dtype if input.is_floating_point() else _core.int64)


def sum(input: Tensor, dim: Axes = None, *, keepdim: bool = False, dtype: DTypeLike | None = None, mask: Tensor | None = None) -> Tensor:
    """Sums the unmasked elements over dim.

    Args:
        input: The tensor.
        dim: The dimensions to reduce; all by default.
        keepdim: Whether they are kept with size 1.
        dtype: The dtype to compute in.
        mask: A bool tensor that broadcasts with input; elements where it is False do not count.

    Returns:
        A tensor without the reduced dimensions, or with size 1 there if keepdim.

    >>> pyburn.masked.sum(pyburn.tensor([1, 2, 4]), mask=pyburn.tensor([True, False, True]))
    tensor(5)
    """
    x = let_through(input, mask, 0)
    return _core.sum(x, _axes(dim, x), keepdim, dtype=_summing(input, dtype))


def prod(input: Tensor, dim: Axes = None, *, keepdim: bool = False, dtype: DTypeLike | None = None, mask: Tensor | None = None) -> Tensor:
    """Multiplies the unmasked elements over dim.

    Args:
        input: The tensor.
        dim: The dimensions to reduce; all by default.
        keepdim: Whether they are kept with size 1.
        dtype: The dtype to compute in.
        mask: A bool tensor that broadcasts with input; elements where it is False do not count.

    Returns:
        A tensor without the reduced dimensions, or with size 1 there if keepdim.

    >>> pyburn.masked.prod(pyburn.tensor([3, 0, 4]), mask=pyburn.tensor([True, False, True]))
    tensor(12)
    """
    x = let_through(input, mask, 1).to(_summing(input, dtype))
    for axis in sorted((d % (x.ndim or 1) for d in _axes(dim, x)), reverse=True):
        x = _core.prod(x, axis, keepdim)
    return x


def amax(input: Tensor, dim: Axes = None, *, keepdim: bool = False, dtype: DTypeLike | None = None, mask: Tensor | None = None) -> Tensor:
    """Returns the maximum of the unmasked elements over dim.

    Args:
        input: The tensor.
        dim: The dimensions to reduce; all by default.
        keepdim: Whether they are kept with size 1.
        dtype: The dtype to compute in.
        mask: A bool tensor that broadcasts with input; elements where it is False do not count.

    Returns:
        A tensor without the reduced dimensions, or with size 1 there if keepdim.

    >>> pyburn.masked.amax(pyburn.tensor([3, 9, 4]), mask=pyburn.tensor([True, False, True]))
    tensor(4)
    """
    x = let_through(input, mask, least(input))
    return _core.amax(x, _axes(dim, x), keepdim).to(dtype or input.dtype)


def amin(input: Tensor, dim: Axes = None, *, keepdim: bool = False, dtype: DTypeLike | None = None, mask: Tensor | None = None) -> Tensor:
    """Returns the minimum of the unmasked elements over dim.

    Args:
        input: The tensor.
        dim: The dimensions to reduce; all by default.
        keepdim: Whether they are kept with size 1.
        dtype: The dtype to compute in.
        mask: A bool tensor that broadcasts with input; elements where it is False do not count.

    Returns:
        A tensor without the reduced dimensions, or with size 1 there if keepdim.

    >>> pyburn.masked.amin(pyburn.tensor([3, 1, 4]), mask=pyburn.tensor([True, False, True]))
    tensor(3)
    """
    x = let_through(input, mask, most(input))
    return _core.amin(x, _axes(dim, x), keepdim).to(dtype or input.dtype)


def argmax(
    input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: DTypeLike | None = None, mask: Tensor | None = None
) -> Tensor:
    """Returns the index of the maximum of the unmasked elements.

    Args:
        input: The tensor.
        dim: The dimension to reduce.
        keepdim: Whether it is kept with size 1.
        dtype: The dtype to compute in.
        mask: A bool tensor that broadcasts with input; elements where it is False do not count.

    Returns:
        A tensor without the reduced dimensions, or with size 1 there if keepdim.

    >>> pyburn.masked.argmax(pyburn.tensor([3.0, 9.0, 4.0]), 0, mask=pyburn.tensor([True, False, True]))
    tensor(2.)
    """
    return _core.argmax(let_through(input, mask, least(input)), dim, keepdim).to(dtype or input.dtype)


def argmin(
    input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: DTypeLike | None = None, mask: Tensor | None = None
) -> Tensor:
    """Returns the index of the minimum of the unmasked elements.

    Args:
        input: The tensor.
        dim: The dimension to reduce.
        keepdim: Whether it is kept with size 1.
        dtype: The dtype to compute in.
        mask: A bool tensor that broadcasts with input; elements where it is False do not count.

    Returns:
        A tensor without the reduced dimensions, or with size 1 there if keepdim.

    >>> pyburn.masked.argmin(pyburn.tensor([3.0, 1.0, 4.0]), 0, mask=pyburn.tensor([True, False, True]))
    tensor(0.)
    """
    return _core.argmin(let_through(input, mask, most(input)), dim, keepdim).to(dtype or input.dtype)


def mean(input: Tensor, dim: Axes = None, *, keepdim: bool = False, dtype: DTypeLike | None = None, mask: Tensor | None = None) -> Tensor:
    """Averages the unmasked elements over dim; NaN if there are none.

    Args:
        input: The tensor.
        dim: The dimensions to reduce; all by default.
        keepdim: Whether they are kept with size 1.
        dtype: The dtype to compute in.
        mask: A bool tensor that broadcasts with input; elements where it is False do not count.

    Returns:
        A tensor without the reduced dimensions, or with size 1 there if keepdim.

    Raises:
        ValueError: The dtype of input is not floating point and no dtype is given.

    >>> pyburn.masked.mean(pyburn.tensor([1.0, 9.0, 4.0]), mask=pyburn.tensor([True, False, True]))
    tensor(2.5000)
    """
    if not input.is_floating_point() and dtype is None:
        raise ValueError(f"[mean] expected a floating dtype: got {input.dtype}")
    return sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask) / _count(input, dim, keepdim, mask)


def _count(input: Tensor, dim: Axes, keepdim: bool, mask: Tensor | None) -> Tensor:
    ones = _core.ones(input.shape, dtype=_core.int64, device=input.device)
    return sum(ones, dim, keepdim=keepdim, mask=mask)


def median(input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: DTypeLike | None = None, mask: Tensor | None = None) -> Tensor:
    """Returns the median of the unmasked elements along dim.

    Args:
        input: The tensor.
        dim: The dimension to reduce.
        keepdim: Whether it is kept with size 1.
        dtype: The dtype to compute in.
        mask: A bool tensor that broadcasts with input; elements where it is False do not count.

    Returns:
        A tensor without the reduced dimensions, or with size 1 there if keepdim.

    Raises:
        ValueError: A row of integers has no unmasked element.

    >>> pyburn.masked.median(pyburn.tensor([1.0, 9.0, 4.0]), 0, mask=pyburn.tensor([True, False, True]))
    tensor(1.)
    """
    x = input if input.is_floating_point() else input.float()
    middle = _core.nanmedian(let_through(x, mask, float("nan")), dim, keepdim)[0]
    if input.is_floating_point():
        return middle
    if bool(_core.isnan(middle).any()):
        raise ValueError("[median] expected an element that is let through in each row of integers")
    return middle.to(dtype or input.dtype)


def var(
    input: Tensor,
    dim: Axes = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: DTypeLike | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Computes the variance of the unmasked elements over dim.

    Args:
        input: The tensor.
        dim: The dimensions to reduce; all by default.
        unbiased: Whether to use Bessel's correction.
        correction: The difference between the number of elements and the divisor.
        keepdim: Whether they are kept with size 1.
        dtype: The dtype to compute in.
        mask: A bool tensor that broadcasts with input; elements where it is False do not count.

    Returns:
        A tensor without the reduced dimensions, or with size 1 there if keepdim.

    Raises:
        ValueError: Both unbiased and correction are given.

    >>> pyburn.masked.var(pyburn.tensor([1.0, 9.0, 3.0]), mask=pyburn.tensor([True, False, True]))
    tensor(2.)
    """
    if unbiased is not None and correction is not None:
        raise ValueError("[var] expected one of unbiased and correction: got both")
    fewer = correction if correction is not None else 0.0 if unbiased is False else 1.0
    wide = dtype or (input.dtype if input.is_floating_point() else _core.float32)
    count = _count(input, dim, True, mask)
    apart = input - sum(input, dim, keepdim=True, dtype=wide, mask=mask) / count
    squares = sum(apart * apart, dim, keepdim=keepdim, dtype=wide, mask=mask)
    degrees = _core.clamp(count.reshape(squares.shape).to(wide) - fewer, min=0)
    return (squares / degrees).to(wide)


def std(
    input: Tensor,
    dim: Axes = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: DTypeLike | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Computes the standard deviation of the unmasked elements over dim.

    Args:
        input: The tensor.
        dim: The dimensions to reduce; all by default.
        unbiased: Whether to use Bessel's correction.
        correction: The difference between the number of elements and the divisor.
        keepdim: Whether they are kept with size 1.
        dtype: The dtype to compute in.
        mask: A bool tensor that broadcasts with input; elements where it is False do not count.

    Returns:
        A tensor without the reduced dimensions, or with size 1 there if keepdim.

    >>> pyburn.masked.std(pyburn.tensor([1.0, 9.0, 3.0]), correction=0, mask=pyburn.tensor([True, False, True]))
    tensor(1.)
    """
    return var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask).sqrt()


def norm(
    input: Tensor,
    ord: float = 2.0,
    dim: Axes = None,
    *,
    keepdim: bool = False,
    dtype: DTypeLike | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Computes the vector norm of the unmasked elements over dim.

    Args:
        input: The tensor.
        ord: The order of the norm.
        dim: The dimensions to reduce; all by default.
        keepdim: Whether they are kept with size 1.
        dtype: The dtype to compute in.
        mask: A bool tensor that broadcasts with input; elements where it is False do not count.

    Returns:
        A tensor without the reduced dimensions, or with size 1 there if keepdim.

    >>> pyburn.masked.norm(pyburn.tensor([3.0, 9.0, 4.0]), mask=pyburn.tensor([True, False, True]))
    tensor(5.)
    """
    x = let_through(input, mask, float("inf") if ord == -float("inf") else 0)
    return linalg.vector_norm(x, ord, _axes(dim, x), keepdim, dtype=dtype or input.dtype)


def logsumexp(
    input: Tensor, dim: Axes = None, *, keepdim: bool = False, dtype: DTypeLike | None = None, mask: Tensor | None = None
) -> Tensor:
    """Computes the logarithm of the sum of exponentials of the unmasked elements over dim.

    Args:
        input: The tensor.
        dim: The dimensions to reduce; all by default.
        keepdim: Whether they are kept with size 1.
        dtype: The dtype of the result.
        mask: A bool tensor that broadcasts with input; elements where it is False do not count.

    Returns:
        A tensor without the reduced dimensions, or with size 1 there if keepdim.

    >>> pyburn.masked.logsumexp(pyburn.zeros(3), 0, mask=pyburn.tensor([True, False, False]))
    tensor(0.)
    """
    x = let_through(input, mask, least(input))
    return _core.logsumexp(x, _axes(dim, x), keepdim).to(dtype or input.dtype)
