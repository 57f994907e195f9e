"""Weight regularizers: penalties that are added to the loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyburn
from pyburn import Tensor
from pyburn.nn import functional

from .configured import Configured, Named, deserializer, serialize


class Regularizer(Configured):
    """Base class of regularizers: called with a weight, returns the penalty."""

    def __call__(self, x: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} does not say what it adds: define __call__(self, x)")


class L1L2(Regularizer):
    """L1 and L2 penalty: l1 * sum(|w|) + l2 * sum(w²)."""

    def __init__(self, l1: float = 0.0, l2: float = 0.0) -> None:
        self.l1, self.l2 = l1, l2

    def __call__(self, x: Tensor) -> Tensor:
        return self.l1 * x.abs().sum() + self.l2 * x.square().sum()


class L1(L1L2):
    def __init__(self, l1: float = 0.01) -> None:
        super().__init__(l1=l1)


class L2(L1L2):
    def __init__(self, l2: float = 0.01) -> None:
        super().__init__(l2=l2)


class OrthogonalRegularizer(Regularizer):
    """Encourages orthogonal rows (or columns) of a matrix: factor times the mean absolute cosine of two of them."""

    def __init__(self, factor: float = 0.01, mode: str = "rows") -> None:
        if mode not in ("rows", "columns"):
            raise ValueError(f"[OrthogonalRegularizer] mode is 'rows' or 'columns': got {mode!r}")
        self.factor, self.mode = factor, mode

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


_named = Named("regularizer", {"l1": L1, "l2": L2, "l1_l2": _both, "orthogonal_regularizer": OrthogonalRegularizer})


def get(identifier: Any) -> Callable[[Tensor], Tensor] | None:
    """Returns the regularizer for a name, class, config, object, function or None."""
    if identifier is None or (callable(identifier) and not isinstance(identifier, type)):
        return identifier
    if isinstance(identifier, dict):
        return deserialize(identifier)
    if isinstance(identifier, type) and issubclass(identifier, Regularizer):
        return identifier()
    if isinstance(identifier, str):
        return _named(identifier)()
    raise TypeError(f"a regularizer is a name, an object, a function or None: got {identifier!r}")


deserialize = deserializer(get)
l1, l2, l1_l2, orthogonal_regularizer = L1, L2, L1L2, OrthogonalRegularizer
__all__ = [
    "L1",
    "L1L2",
    "L2",
    "OrthogonalRegularizer",
    "Regularizer",
    "deserialize",
    "get",
    "l1",
    "l1_l2",
    "l2",
    "orthogonal_regularizer",
    "serialize",
]
