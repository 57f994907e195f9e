"""Weight regularizers: penalties that are added to the loss."""

from __future__ import annotations

from dataclasses import dataclass

import pyburn
from pyburn import Tensor
from pyburn.nn import functional

from .configured import Configured, Registry, public
from .configured import serialize as serialize


class Regularizer(Configured):
    """Base class of regularizers: called with a weight, returns the penalty.

    >>> class Cubes(p_vision.Regularizer):
    ...     def __call__(self, x):
    ...         return 0.1 * (x.abs() ** 3).sum()
    >>> Cubes()(pyburn.tensor([1.0, -2.0])).item() > 0.89
    True
    """

    def __call__(self, x: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} does not say what it adds: define __call__(self, x)")


@dataclass(eq=False, repr=False)
class L1L2(Regularizer):
    """L1 and L2 penalty: l1 * sum(|w|) + l2 * sum(w²).

    Args:
        l1: The factor of the absolute values.
        l2: The factor of the squares.

    >>> p_vision.L1L2(l1=1.0, l2=0.5)(pyburn.tensor([1.0, -2.0])).item()
    5.5
    """

    l1: float = 0.0
    l2: float = 0.0

    def __call__(self, x: Tensor) -> Tensor:
        return self.l1 * x.abs().sum() + self.l2 * x.square().sum()


class L1(L1L2):
    """L1 penalty: l1 * sum(|w|).

    Args:
        l1: The factor.

    >>> p_vision.L1(0.5)(pyburn.tensor([1.0, -2.0])).item()
    1.5
    """

    def __init__(self, l1: float = 0.01) -> None:
        super().__init__(l1=l1)


class L2(L1L2):
    """L2 penalty: l2 * sum(w²).

    Args:
        l2: The factor.

    >>> p_vision.L2(0.5)(pyburn.tensor([1.0, -2.0])).item()
    2.5
    """

    def __init__(self, l2: float = 0.01) -> None:
        super().__init__(l2=l2)


@dataclass(eq=False, repr=False)
class OrthogonalRegularizer(Regularizer):
    """Encourages orthogonal rows (or columns) of a matrix: factor times the mean absolute cosine of two of them.

    Args:
        factor: The factor.
        mode: "rows" or "columns".

    Raises:
        ValueError: The mode is unknown, or the weight is not a matrix.

    >>> p_vision.OrthogonalRegularizer(1.0)(pyburn.eye(3)).item()
    0.0
    """

    factor: float = 0.01
    mode: str = "rows"

    def __post_init__(self) -> None:
        if self.mode not in ("rows", "columns"):
            raise ValueError(f"[OrthogonalRegularizer] mode is 'rows' or 'columns': got {self.mode!r}")

    def __call__(self, x: Tensor) -> Tensor:
        if x.ndim != 2:
            raise ValueError(f"[OrthogonalRegularizer] a matrix is expected: got the shape {tuple(x.shape)}")
        rows = functional.normalize(x if self.mode == "rows" else x.T, dim=1)
        products = rows @ rows.T
        count = len(rows)
        between = products * (1 - pyburn.eye(count, dtype=x.dtype, device=x.device))
        return self.factor * 0.5 * between.abs().sum() / max(count * (count - 1) / 2, 1)


def _both() -> L1L2:
    return L1L2(0.01, 0.01)


_table = {"l1": L1, "l2": L2, "l1_l2": _both, "orthogonal_regularizer": OrthogonalRegularizer}
get = Registry("regularizer", Regularizer, _table, default=None)
deserialize = get.deserialize
l1, l2, l1_l2, orthogonal_regularizer = L1, L2, L1L2, OrthogonalRegularizer
__all__ = public(globals(), "deserialize", "get", "serialize")
