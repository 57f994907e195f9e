"""einsum and tensordot, whose arguments a schema cannot describe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import _core

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._core import Tensor


def einsum(equation: Any, *operands: Any) -> Tensor:
    """Computes sums of products by the Einstein summation convention.

    Dimensions can also be numbers: each operand is then followed by the list of its dimensions, and the last list is that of the result.

    Args:
        equation: Letters for the dimensions of each operand, and after '->' those of the result, as in "ij,jk->ik".
        *operands: The tensors.

    Returns:
        A tensor with the dimensions named after '->'.

    >>> pyburn.einsum("ij,jk->ik", pyburn.ones(2, 3), pyburn.ones(3, 4)).shape
    pyburn.Size([2, 4])
    >>> pyburn.einsum(pyburn.ones(2, 3), [0, 1], pyburn.ones(3, 4), [1, 2], [0, 2]).shape
    pyburn.Size([2, 4])
    """
    if isinstance(equation, str):
        return _core.einsum(equation, operands[0] if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands)
    parts = (equation, *operands)
    equation = ",".join(_letters(axes) for axes in parts[1::2])
    if len(parts) % 2:
        equation += "->" + _letters(parts[-1])
    return _core.einsum(equation, parts[: len(parts) - len(parts) % 2 : 2])


def _letters(axes: Any) -> str:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    if any(axis is not Ellipsis and not 0 <= axis < len(letters) for axis in axes):
        raise ValueError(f"[einsum] expected axes from 0 to {len(letters) - 1}: got {list(axes)}")
    return "".join("..." if axis is Ellipsis else letters[axis] for axis in axes)


def tensordot(a: Tensor, b: Tensor, dims: Any = 2, dims_b: Sequence[int] | None = None, *, out: Tensor | None = None) -> Tensor:
    """Contracts the last dims dimensions of a with the first of b, or two lists of dimensions.

    Args:
        a: The first tensor.
        b: The second tensor.
        dims: The number of dimensions to contract, or the two lists of dimensions.
        dims_b: The dimensions of b, if dims holds those of a.
        out: A tensor that receives the result.

    Returns:
        A tensor with the remaining dimensions of a, then those of b.

    Raises:
        ValueError: A tensor has fewer dimensions.

    >>> pyburn.tensordot(pyburn.ones(2, 3, 4), pyburn.ones(3, 4, 5)).shape
    pyburn.Size([2, 5])
    >>> pyburn.tensordot(pyburn.ones(2, 3), pyburn.ones(4, 3), ([1], [1])).shape
    pyburn.Size([2, 4])
    """
    if dims_b is None:
        if hasattr(dims, "tolist"):
            dims = dims.tolist()
        if isinstance(dims, int):
            if not 0 <= dims <= min(a.ndim, b.ndim):
                raise ValueError(f"[tensordot] expected a number of axes that both have: got {dims}")
            dims = (tuple(range(a.ndim - dims, a.ndim)), tuple(range(dims)))
        dims, dims_b = dims
    return _core.tensordot(a, b, dims, dims_b, out=out)
