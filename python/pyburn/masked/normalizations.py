"""Functions along a dimension that ignore the elements where the mask is False, with results of the shape of their input."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _core
from .._core import Tensor
from .masks import least, let_through, most
from .reductions import norm

if TYPE_CHECKING:
    from .._types import DTypeLike


def normalize(
    input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: DTypeLike | None = None, mask: Tensor | None = None
) -> Tensor:
    """Divides the elements by their norm along dim; masked elements become 0.

    Args:
        input: The tensor.
        ord: The order of the norm.
        dim: The dimension.
        eps: The minimum of the divisor.
        dtype: The dtype to compute in.
        mask: A bool tensor that broadcasts with input; elements where it is False do not count.

    Returns:
        A tensor of the shape of input.

    >>> pyburn.masked.normalize(pyburn.tensor([3.0, 9.0, 4.0]), 2.0, 0, mask=pyburn.tensor([True, False, True]))
    tensor([0.6000, 0.0000, 0.8000])
    """
    return let_through(input, mask, 0) / _core.clamp(norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask), min=eps)


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: DTypeLike | None = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """Computes log(exp(input) + exp(other)); masked elements are treated as the lowest value.

    Args:
        input: The first tensor.
        other: The second tensor.
        dtype: The dtype of the result.
        input_mask: A bool tensor; elements of input where it is False do not count.
        other_mask: A bool tensor; elements of other where it is False do not count.

    Returns:
        A tensor of the broadcast shape.

    >>> pyburn.masked.logaddexp(pyburn.zeros(1), pyburn.zeros(1), input_mask=pyburn.tensor([False]))
    tensor([0.])
    """
    one, two = let_through(input, input_mask, least(input)), let_through(other, other_mask, least(other))
    return _core.logaddexp(one, two).to(dtype or input.dtype)


def cumsum(input: Tensor, dim: int, *, dtype: DTypeLike | None = None, mask: Tensor | None = None) -> Tensor:
    """Computes the cumulative sum along dim, without masked elements.

    Args:
        input: The tensor.
        dim: The dimension.
        dtype: The dtype to compute in.
        mask: A bool tensor that broadcasts with input; elements where it is False do not count.

    Returns:
        A tensor of the shape of input.

    >>> pyburn.masked.cumsum(pyburn.tensor([1, 2, 4]), 0, mask=pyburn.tensor([True, False, True]))
    tensor([1, 1, 5])
    """
    return _core.cumsum(let_through(input, mask, 0), dim, dtype=dtype or input.dtype)


def cumprod(input: Tensor, dim: int, *, dtype: DTypeLike | None = None, mask: Tensor | None = None) -> Tensor:
    """Computes the cumulative product along dim, without masked elements.

    Args:
        input: The tensor.
        dim: The dimension.
        dtype: The dtype to compute in.
        mask: A bool tensor that broadcasts with input; elements where it is False do not count.

    Returns:
        A tensor of the shape of input.

    >>> pyburn.masked.cumprod(pyburn.tensor([3, 2, 4]), 0, mask=pyburn.tensor([True, False, True]))
    tensor([ 3,  3, 12])
    """
    return _core.cumprod(let_through(input, mask, 1), dim, dtype=dtype or input.dtype)


def softmax(input: Tensor, dim: int, *, dtype: DTypeLike | None = None, mask: Tensor | None = None) -> Tensor:
    """Applies softmax along dim; masked elements get probability 0.

    Args:
        input: The tensor.
        dim: The dimension.
        dtype: The dtype to compute in.
        mask: A bool tensor that broadcasts with input; elements where it is False do not count.

    Returns:
        A tensor of the shape of input.

    >>> pyburn.masked.softmax(pyburn.zeros(3), 0, mask=pyburn.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    return _core.softmax(let_through(input, mask, least(input)), dim, dtype=dtype or input.dtype)


def log_softmax(input: Tensor, dim: int, *, dtype: DTypeLike | None = None, mask: Tensor | None = None) -> Tensor:
    """Computes the logarithm of softmax along dim; masked elements are treated as the lowest value.

    Args:
        input: The tensor.
        dim: The dimension.
        dtype: The dtype to compute in.
        mask: A bool tensor that broadcasts with input; elements where it is False do not count.

    Returns:
        A tensor of the shape of input.

    >>> pyburn.masked.log_softmax(pyburn.zeros(1), 0)
    tensor([0.])
    """
    return _core.log_softmax(let_through(input, mask, least(input)), dim, dtype=dtype or input.dtype)


def softmin(input: Tensor, dim: int, *, dtype: DTypeLike | None = None, mask: Tensor | None = None) -> Tensor:
    """Applies softmax to the negated elements along dim; masked elements get probability 0.

    Args:
        input: The tensor.
        dim: The dimension.
        dtype: The dtype to compute in.
        mask: A bool tensor that broadcasts with input; elements where it is False do not count.

    Returns:
        A tensor of the shape of input.

    >>> pyburn.masked.softmin(pyburn.zeros(2), 0)
    tensor([0.5000, 0.5000])
    """
    return _core.softmin(let_through(input, mask, most(input)), dim, dtype=dtype or input.dtype)
