"""Distributions for random tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from .. import _core
from .._core import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._types import DeviceLike, DTypeLike, Generator


class Distribution:
    """A distribution for random tensors: Default, Bernoulli(p), Uniform(low, high) or Normal(mean, std).

    Args:
        kind: "Default", "Bernoulli", "Uniform" or "Normal".
        *parameters: The parameters.

    Raises:
        ValueError: The kind is unknown, or has another number of parameters.

    >>> pyburn.Distribution.Uniform(-1, 1)
    Distribution.Uniform(-1.0, 1.0)
    """

    __slots__ = ("kind", "parameters")
    Default: ClassVar[Distribution]

    def __init__(self, kind: str, *parameters: float):
        counts = {"Default": 0, "Bernoulli": 1, "Uniform": 2, "Normal": 2}
        if counts.get(kind) != len(parameters):
            raise ValueError(
                "[Distribution] expected Default, Bernoulli(p), Uniform(low, high) or Normal(mean, std): "
                f"got {kind!r} with {len(parameters)} numbers"
            )
        self.kind = kind
        self.parameters = tuple(float(p) for p in parameters)

    @staticmethod
    def Bernoulli(p: float) -> Distribution:
        """The Bernoulli distribution: 1 with probability p, else 0.

        Args:
            p: The probability of 1.

        Returns:
            The distribution.

        Raises:
            ValueError: p is not between 0 and 1.

        >>> pyburn.rand(3, distribution=pyburn.Distribution.Bernoulli(0.0))
        tensor([0., 0., 0.])
        """
        if not 0 <= p <= 1:
            raise ValueError(f"[Distribution.Bernoulli] expected a probability between 0 and 1: got {p}")
        return Distribution("Bernoulli", p)

    @staticmethod
    def Uniform(low: float, high: float) -> Distribution:
        """The uniform distribution on [low, high); integers for integer dtypes.

        Args:
            low: The lower bound (inclusive).
            high: The upper bound (exclusive).

        Returns:
            The distribution.

        Raises:
            ValueError: low is above high.

        >>> pyburn.rand(2, distribution=pyburn.Distribution.Uniform(7, 8), dtype=pyburn.int64)
        tensor([7, 7])
        """
        if not low <= high:
            raise ValueError(f"[Distribution.Uniform] expected low <= high: got {low} and {high}")
        return Distribution("Uniform", low, high)

    @staticmethod
    def Normal(mean: float, std: float) -> Distribution:
        """The normal distribution with the given mean and standard deviation.

        Args:
            mean: The mean.
            std: The standard deviation.

        Returns:
            The distribution.

        Raises:
            ValueError: std is negative.

        >>> pyburn.rand(2, distribution=pyburn.Distribution.Normal(3, 0))
        tensor([3., 3.])
        """
        if not std >= 0:
            raise ValueError(f"[Distribution.Normal] expected a deviation of at least 0: got {std}")
        return Distribution("Normal", mean, std)

    def draw(
        self,
        size: int | Sequence[int],
        *,
        dtype: DTypeLike | None = None,
        device: DeviceLike | None = None,
        generator: Generator | None = None,
    ) -> Tensor:
        """Samples a tensor from the distribution.

        Args:
            size: The shape.
            dtype: The dtype.
            device: The device.
            generator: The random generator; by default that of the process.

        Returns:
            A tensor of the given shape.

        Raises:
            DTypeError: The distribution needs a floating dtype.

        >>> pyburn.Distribution.Normal(0, 1).draw((2, 2)).shape
        pyburn.Size([2, 2])
        """
        made = _core.empty(size, dtype=dtype, device=device)
        kind, parameters = self.kind, self.parameters
        if kind == "Default" and made.dtype is _core.bool:  # 0 or 1 with equal probability
            kind, parameters = "Bernoulli", (0.5,)
        elif kind == "Default":
            kind, parameters = "Uniform", (0.0, 1.0)
        if kind == "Bernoulli":
            return made.bernoulli_(*parameters, generator=generator)
        if kind == "Uniform" and not made.dtype.is_floating_point and self.kind != "Default":
            low, high = (-int(-p // 1) for p in parameters)  # the integers in [low, high)
            return _core.randint(low, high, made.shape, dtype=made.dtype, device=made.device, generator=generator)
        if not made.dtype.is_floating_point:
            raise _core.DTypeError(f"[Distribution.{self.kind}] expected a floating dtype: got {made.dtype.name}")
        return made.uniform_(*parameters, generator=generator) if kind == "Uniform" else made.normal_(*parameters, generator=generator)

    def __repr__(self) -> str:
        return f"Distribution.{self.kind}" + (f"({', '.join(map(repr, self.parameters))})" if self.parameters else "")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Distribution) and (self.kind, self.parameters) == (other.kind, other.parameters)

    def __hash__(self) -> int:
        return hash((self.kind, self.parameters))

    def __reduce__(self) -> tuple[Any, ...]:
        return Distribution, (self.kind, *self.parameters)


Distribution.Default = Distribution("Default")
