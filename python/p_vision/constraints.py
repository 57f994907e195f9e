"""Weight constraints, applied after each step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyburn import Tensor

from .configured import Configured, Named, deserializer, serialize

_EPSILON = 1e-7


class Constraint(Configured):
    """Base class of constraints: called with a weight, returns the constrained weight."""

    def __call__(self, w: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} does not say what it allows: define __call__(self, w)")


def _norms(w: Tensor, axis: int | Sequence[int]) -> Tensor:
    return w.square().sum(axis, keepdim=True).sqrt()


class MaxNorm(Constraint):
    """Limits the norms along an axis to max_value; axis 0 of a Dense kernel holds the inputs of a unit."""

    def __init__(self, max_value: float = 2, axis: int | Sequence[int] = 0) -> None:
        self.max_value, self.axis = max_value, axis

    def __call__(self, w: Tensor) -> Tensor:
        norms = _norms(w, self.axis)
        return w * (norms.clamp(0, self.max_value) / (norms + _EPSILON))


class NonNeg(Constraint):
    """Sets negative weights to 0."""

    def __call__(self, w: Tensor) -> Tensor:
        return w.clamp(min=0)


class UnitNorm(Constraint):
    """Scales the norms along an axis to 1."""

    def __init__(self, axis: int | Sequence[int] = 0) -> None:
        self.axis = axis

    def __call__(self, w: Tensor) -> Tensor:
        return w / (_norms(w, self.axis) + _EPSILON)


class MinMaxNorm(Constraint):
    """Moves the norms along an axis into [min_value, max_value]; a rate below 1 moves only that fraction of the way."""

    def __init__(self, min_value: float = 0.0, max_value: float = 1.0, rate: float = 1.0, axis: int | Sequence[int] = 0) -> None:
        self.min_value, self.max_value, self.rate, self.axis = min_value, max_value, rate, axis

    def __call__(self, w: Tensor) -> Tensor:
        norms = _norms(w, self.axis)
        wanted = self.rate * norms.clamp(self.min_value, self.max_value) + (1 - self.rate) * norms
        return w * (wanted / (norms + _EPSILON))


max_norm, non_neg, unit_norm, min_max_norm = MaxNorm, NonNeg, UnitNorm, MinMaxNorm

_TABLE = {"max_norm": MaxNorm, "non_neg": NonNeg, "unit_norm": UnitNorm, "min_max_norm": MinMaxNorm}
_named = Named("constraint", {**_TABLE, **{cls.__name__: cls for cls in _TABLE.values()}})


def get(identifier: Any) -> Callable[[Tensor], Tensor] | None:
    """Returns the constraint for a name, class, object, function or None.

    Raises:
        TypeError: identifier is none of these.
    """
    if isinstance(identifier, str):
        return _named(identifier)()
    if isinstance(identifier, type) and issubclass(identifier, Constraint):
        return identifier()
    if identifier is None or callable(identifier):
        return identifier
    raise TypeError(f"a constraint is a name, an object, a function or None: got {identifier!r}")


deserialize = deserializer(get)
__all__ = [
    "Constraint",
    "MaxNorm",
    "MinMaxNorm",
    "NonNeg",
    "UnitNorm",
    "deserialize",
    "get",
    "max_norm",
    "min_max_norm",
    "non_neg",
    "serialize",
    "unit_norm",
]
