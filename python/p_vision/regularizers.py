"""Penalties on weights that are added to the loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyburn import Tensor

from .configured import Configured, Named


class L1L2(Configured):
    """l1 * sum(|w|) + l2 * sum(w²)."""

    def __init__(self, l1: float = 0.0, l2: float = 0.0) -> None:
        self.l1, self.l2 = l1, l2

    def __call__(self, weight: Tensor) -> Tensor:
        return self.l1 * weight.abs().sum() + self.l2 * weight.square().sum()


class L1(L1L2):
    def __init__(self, l1: float = 0.01) -> None:
        super().__init__(l1=l1)


class L2(L1L2):
    def __init__(self, l2: float = 0.01) -> None:
        super().__init__(l2=l2)


def _both() -> L1L2:
    return L1L2(0.01, 0.01)


_named = Named("regularizer", {"l1": L1, "l2": L2, "l1_l2": _both})


def get(identifier: Any) -> Callable[[Tensor], Tensor] | None:
    """The penalty that a name, an object, a function or None means."""
    if identifier is None or (callable(identifier) and not isinstance(identifier, type)):
        return identifier
    if isinstance(identifier, str):
        return _named(identifier)()
    raise TypeError(f"a regularizer is a name, an object, a function or None: got {identifier!r}")
