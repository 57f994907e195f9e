"""Transforms that are applied by chance: with a probability, in random order, or one of several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import _core
from ..randomness import python_random
from .plain import Transform

Range = tuple[float, float]


def chance(p: float) -> bool:
    """Returns True with probability p."""
    return float(_core.rand(())) < p


class WithProbability(Transform):
    """Base class of transforms that are applied with probability p."""

    def __init__(self, p: float = 0.5) -> None:
        self.p = p

    def __call__(self, img: Any) -> Any:
        return self._changed(img) if chance(self.p) else img

    def _changed(self, img: Any) -> Any:
        raise NotImplementedError


class RandomApply(Transform):
    """Applies several transforms in order, with probability p for all of them.

    Args:
        transforms: The transforms, applied in order.
        p: The probability.

    >>> pyburn.data.transforms.RandomApply([lambda x: x + 1, lambda x: x * 2], p=1.0)(1)
    4
    """

    def __init__(self, transforms: Sequence[Callable[[Any], Any]], p: float = 0.5) -> None:
        self.transforms = transforms
        self.p = p

    def __call__(self, img: Any) -> Any:
        if chance(self.p):
            for transform in self.transforms:
                img = transform(img)
        return img


class RandomOrder(Transform):
    """Applies several transforms in random order.

    Args:
        transforms: The transforms.

    >>> pyburn.data.transforms.RandomOrder([lambda x: x + 1, lambda x: x + 2])(0)
    3
    """

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]) -> None:
        self.transforms = transforms

    def __call__(self, img: Any) -> Any:
        order = list(self.transforms)
        python_random().shuffle(order)
        for transform in order:
            img = transform(img)
        return img


class RandomChoice(Transform):
    """Applies one randomly chosen transform.

    Args:
        transforms: The transforms.
        p: Their weights; None for equal ones.

    Raises:
        ValueError: The number of weights does not match.

    >>> pyburn.data.transforms.RandomChoice([lambda x: x + 1, lambda x: x + 2], p=[0, 1])(0)
    2
    """

    def __init__(self, transforms: Sequence[Callable[[Any], Any]], p: Sequence[float] | None = None) -> None:
        if p is not None and len(p) != len(transforms):
            raise ValueError(f"expected a weight per transform: got {len(p)} and {len(transforms)}")
        self.transforms = transforms
        self.p = p

    def __call__(self, img: Any) -> Any:
        return python_random().choices(list(self.transforms), self.p)[0](img)
