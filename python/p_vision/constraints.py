"""Weight constraints, applied after each step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyburn import Tensor

from .configured import Configured, Registry, public
from .configured import serialize as serialize

_EPSILON = 1e-7


class Constraint(Configured):
    """Base class of constraints: called with a weight after each step, returns the constrained weight.

    >>> class Clip(p_vision.Constraint):
    ...     def __call__(self, w):
    ...         return w.clamp(-1.0, 1.0)
    >>> Clip()(pyburn.tensor([[3.0], [4.0]])).tolist()
    [[1.0], [1.0]]
    """

    def __call__(self, w: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} does not say what it allows: define __call__(self, w)")


def _norms(w: Tensor, axis: int | Sequence[int]) -> Tensor:
    return w.square().sum(axis, keepdim=True).sqrt()


@dataclass(eq=False, repr=False)
class MaxNorm(Constraint):
    """Limits the norms along an axis; axis 0 of a Dense kernel holds the inputs of a unit.

    Args:
        max_value: The largest norm.
        axis: The axis, or the axes, of the norms.

    >>> p_vision.MaxNorm(1.0)(pyburn.tensor([[3.0], [4.0]]))
    tensor([[0.6000],
            [0.8000]])
    """

    max_value: float = 2
    axis: int | Sequence[int] = 0

    def __call__(self, w: Tensor) -> Tensor:
        norms = _norms(w, self.axis)
        return w * (norms.clamp(0, self.max_value) / (norms + _EPSILON))


class NonNeg(Constraint):
    """Sets negative weights to 0.

    >>> p_vision.NonNeg()(pyburn.tensor([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """

    def __call__(self, w: Tensor) -> Tensor:
        return w.clamp(min=0)


@dataclass(eq=False, repr=False)
class UnitNorm(Constraint):
    """Scales the norms along an axis to 1.

    Args:
        axis: The axis, or the axes, of the norms.

    >>> p_vision.UnitNorm()(pyburn.tensor([[3.0], [4.0]]))
    tensor([[0.6000],
            [0.8000]])
    """

    axis: int | Sequence[int] = 0

    def __call__(self, w: Tensor) -> Tensor:
        return w / (_norms(w, self.axis) + _EPSILON)


@dataclass(eq=False, repr=False)
class MinMaxNorm(Constraint):
    """Moves the norms along an axis into a range.

    Args:
        min_value: The least norm.
        max_value: The largest norm.
        rate: The fraction of the way that a norm is moved.
        axis: The axis, or the axes, of the norms.

    >>> p_vision.MinMaxNorm(max_value=2.5)(pyburn.tensor([[3.0], [4.0]]))
    tensor([[1.5000],
            [2.0000]])
    """

    min_value: float = 0.0
    max_value: float = 1.0
    rate: float = 1.0
    axis: int | Sequence[int] = 0

    def __call__(self, w: Tensor) -> Tensor:
        norms = _norms(w, self.axis)
        wanted = self.rate * norms.clamp(self.min_value, self.max_value) + (1 - self.rate) * norms
        return w * (wanted / (norms + _EPSILON))


max_norm, non_neg, unit_norm, min_max_norm = MaxNorm, NonNeg, UnitNorm, MinMaxNorm

_TABLE = {"max_norm": MaxNorm, "non_neg": NonNeg, "unit_norm": UnitNorm, "min_max_norm": MinMaxNorm}
get = Registry("constraint", Constraint, {**_TABLE, **{cls.__name__: cls for cls in _TABLE.values()}}, default=None)
deserialize = get.deserialize
__all__ = public(globals(), "deserialize", "get", "serialize")
