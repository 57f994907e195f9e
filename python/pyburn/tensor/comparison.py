"""Are two tensors the same, or nearly?"""

from __future__ import annotations

from .. import _core
from .._core import Tensor


def _check(name: str, input: Tensor, other: Tensor) -> None:
    for argument, value in (("input", input), ("other", other)):
        if not isinstance(value, Tensor):
            raise TypeError(f"[{name}] argument '{argument}' must be a Tensor: got {type(value).__name__}")


def equal(input: Tensor, other: Tensor) -> bool:
    """Have both the same size and the same elements?

    >>> pyburn.equal(pyburn.tensor([1, 2]), pyburn.tensor([1, 2]))
    True
    """
    _check("equal", input, other)
    return input.shape == other.shape and _core.ne(input.detach(), other.detach()).sum().item() == 0


def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Is |input - other| <= atol + rtol * |other| everywhere? Sizes are broadcast; dtypes must be equal.

    >>> pyburn.allclose(pyburn.tensor([1.0, 2.0]), pyburn.tensor([1.0, 2.0 + 1e-7]))
    True
    """
    _check("allclose", input, other)
    if input.dtype is not other.dtype:
        raise _core.DTypeError(f"[allclose] expected equal dtypes: got {input.dtype.name} and {other.dtype.name}")
    if rtol < 0 or atol < 0:
        raise ValueError(f"[allclose] expected rtol and atol of at least 0: got {rtol} and {atol}")
    a, b = (t.detach() if t.dtype.is_floating_point else t.to(_core.float64) for t in (input, other))
    distance = (a - b).abs()
    near = _core.where(distance < float("inf"), distance <= b.abs() * rtol + atol, False)
    near = _core.where(a == b, True, near)  # equal infinities have no distance
    if equal_nan:
        near = _core.where(a != a, b != b, near)
    return near.sum().item() == near.numel()
