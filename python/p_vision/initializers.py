"""Weight initializers, by name or as objects with options."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyburn
from pyburn import DType, Tensor
from pyburn.nn import init

from .configured import Configured, Registry, serialize, snake_case

Shape = Sequence[int]
Start = Callable[..., Tensor]  # (shape, dtype) -> Tensor


class Initializer(Configured):
    """Base class of initializers: called with a shape and a dtype, returns the initial values.

    >>> class Half(p_vision.Initializer):
    ...     def __call__(self, shape, dtype=None):
    ...         return pyburn.full(list(shape), 0.5)
    >>> p_vision.Dense(1, kernel_initializer=Half())(pyburn.ones(1, 4)).item()
    2.0
    """

    def __call__(self, shape: Shape, dtype: DType | None = None) -> Tensor:
        tensor = pyburn.empty(list(shape), dtype=dtype)
        if tensor.device.type == "meta":  # models created on the meta device have no values
            return tensor
        with pyburn.no_grad():
            return self.fill(tensor)

    seed: int | None = None  # with a seed, each call returns the same values

    def generator(self) -> pyburn.Generator | None:
        return None if self.seed is None else pyburn.Generator().manual_seed(int(self.seed))

    def fill(self, tensor: Tensor) -> Tensor:
        """Fills a tensor in place.

        Args:
            tensor: The tensor.

        Returns:
            The tensor.
        """
        raise NotImplementedError(f"{type(self).__name__} defines neither fill nor __call__")


class Zeros(Initializer):
    """Initializes with zeros.

    >>> p_vision.Zeros()([2]).tolist()
    [0.0, 0.0]
    """

    def fill(self, tensor: Tensor) -> Tensor:
        return tensor.zero_()


class Ones(Initializer):
    """Initializes with ones.

    >>> p_vision.Ones()([2]).tolist()
    [1.0, 1.0]
    """

    def fill(self, tensor: Tensor) -> Tensor:
        return tensor.fill_(1)


@dataclass(eq=False, repr=False)
class Constant(Initializer):
    """Initializes with a constant.

    Args:
        value: The value.

    >>> p_vision.Constant(3.0)([2]).tolist()
    [3.0, 3.0]
    """

    value: float = 0.0

    def fill(self, tensor: Tensor) -> Tensor:
        return tensor.fill_(self.value)


@dataclass(eq=False, repr=False)
class RandomNormal(Initializer):
    """Samples from a normal distribution.

    Args:
        mean: The mean.
        stddev: The standard deviation.
        seed: The seed: each call returns the same values; None uses the default generator.

    >>> p_vision.RandomNormal()([2, 3]).shape
    pyburn.Size([2, 3])
    """

    mean: float = 0.0
    stddev: float = 0.05
    seed: int | None = None

    def fill(self, tensor: Tensor) -> Tensor:
        return tensor.normal_(self.mean, self.stddev, generator=self.generator())


@dataclass(eq=False, repr=False)
class RandomUniform(Initializer):
    """Samples from a uniform distribution.

    Args:
        minval: The lowest value.
        maxval: The highest value.
        seed: The seed: each call returns the same values; None uses the default generator.

    >>> p_vision.RandomUniform()([2, 3]).shape
    pyburn.Size([2, 3])
    """

    minval: float = -0.05
    maxval: float = 0.05
    seed: int | None = None

    def fill(self, tensor: Tensor) -> Tensor:
        return tensor.uniform_(self.minval, self.maxval, generator=self.generator())


@dataclass(eq=False, repr=False)
class TruncatedNormal(Initializer):
    """Samples from a normal distribution truncated at two standard deviations.

    Args:
        mean: The mean.
        stddev: The standard deviation.
        seed: The seed: each call returns the same values; None uses the default generator.

    >>> p_vision.TruncatedNormal()([2, 3]).shape
    pyburn.Size([2, 3])
    """

    mean: float = 0.0
    stddev: float = 0.05
    seed: int | None = None

    def fill(self, tensor: Tensor) -> Tensor:
        low, high = self.mean - 2 * self.stddev, self.mean + 2 * self.stddev
        return init.trunc_normal_(tensor, self.mean, self.stddev, low, high, generator=self.generator())


_DEVIATION_OF_TRUNCATED = 0.87962566103423978  # the standard deviation of a standard normal distribution truncated at -2 and 2


@dataclass(eq=False, repr=False)
class VarianceScaling(Initializer):
    """Samples with variance scale / n, where n is the fan-in, the fan-out or their average.

    Args:
        scale: The scale.
        mode: "fan_in", "fan_out" or "fan_avg".
        distribution: "truncated_normal", "untruncated_normal" or "uniform".
        seed: The seed: each call returns the same values; None uses the default generator.

    Raises:
        ValueError: The mode or the distribution is unknown.

    >>> p_vision.VarianceScaling(2.0, "fan_out", "uniform")([4, 2]).shape
    pyburn.Size([4, 2])
    """

    scale: float = 1.0
    mode: str = "fan_in"
    distribution: str = "truncated_normal"
    seed: int | None = None

    def __post_init__(self) -> None:
        if self.mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(f"mode must be 'fan_in', 'fan_out' or 'fan_avg': got {self.mode!r}")
        if self.distribution not in ("truncated_normal", "untruncated_normal", "uniform"):
            raise ValueError(f"distribution must be 'truncated_normal', 'untruncated_normal' or 'uniform': got {self.distribution!r}")

    def fill(self, tensor: Tensor) -> Tensor:
        inputs, outputs = fans(tensor.shape)
        n = {"fan_in": inputs, "fan_out": outputs, "fan_avg": (inputs + outputs) / 2}[self.mode]
        variance = self.scale / max(1.0, n)
        if self.distribution == "uniform":
            limit = math.sqrt(3 * variance)
            return tensor.uniform_(-limit, limit, generator=self.generator())
        deviation = math.sqrt(variance)
        if self.distribution == "untruncated_normal":
            return tensor.normal_(0.0, deviation, generator=self.generator())
        return TruncatedNormal(0.0, deviation / _DEVIATION_OF_TRUNCATED, self.seed).fill(tensor)


class _Scaled(VarianceScaling):
    """A VarianceScaling with fixed options."""

    options: tuple[float, str, str]

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(*self.options, seed=seed)


class GlorotUniform(_Scaled):
    """Glorot (Xavier) uniform initialization: limits ±sqrt(6 / (fan-in + fan-out)).

    Args:
        seed: The seed: each call returns the same values; None uses the default generator.

    >>> p_vision.GlorotUniform(seed=0)([4, 2]).shape
    pyburn.Size([4, 2])
    """

    options = (1.0, "fan_avg", "uniform")


class GlorotNormal(_Scaled):
    """Glorot (Xavier) normal initialization: variance 2 / (fan-in + fan-out).

    Args:
        seed: The seed: each call returns the same values; None uses the default generator.

    >>> p_vision.GlorotNormal(seed=0)([4, 2]).shape
    pyburn.Size([4, 2])
    """

    options = (1.0, "fan_avg", "truncated_normal")


class HeUniform(_Scaled):
    """He uniform initialization: limits ±sqrt(6 / fan-in).

    Args:
        seed: The seed: each call returns the same values; None uses the default generator.

    >>> p_vision.HeUniform(seed=0)([4, 2]).shape
    pyburn.Size([4, 2])
    """

    options = (2.0, "fan_in", "uniform")


class HeNormal(_Scaled):
    """He normal initialization: variance 2 / fan-in.

    Args:
        seed: The seed: each call returns the same values; None uses the default generator.

    >>> p_vision.HeNormal(seed=0)([4, 2]).shape
    pyburn.Size([4, 2])
    """

    options = (2.0, "fan_in", "truncated_normal")


class LecunUniform(_Scaled):
    """Lecun uniform initialization: limits ±sqrt(3 / fan-in).

    Args:
        seed: The seed: each call returns the same values; None uses the default generator.

    >>> p_vision.LecunUniform(seed=0)([4, 2]).shape
    pyburn.Size([4, 2])
    """

    options = (1.0, "fan_in", "uniform")


class LecunNormal(_Scaled):
    """Lecun normal initialization: variance 1 / fan-in.

    Args:
        seed: The seed: each call returns the same values; None uses the default generator.

    >>> p_vision.LecunNormal(seed=0)([4, 2]).shape
    pyburn.Size([4, 2])
    """

    options = (1.0, "fan_in", "truncated_normal")


@dataclass(eq=False, repr=False)
class Orthogonal(Initializer):
    """Initializes with an orthogonal matrix; all dimensions before the last one are flattened.

    Args:
        gain: The factor.
        seed: The seed: each call returns the same values; None uses the default generator.

    >>> p_vision.Orthogonal(seed=0)([4, 2]).shape
    pyburn.Size([4, 2])
    """

    gain: float = 1.0
    seed: int | None = None

    def fill(self, tensor: Tensor) -> Tensor:
        if tensor.ndim < 2:
            raise ValueError(f"an orthogonal start needs two axes or more: got the shape {tuple(tensor.shape)}")
        rows = pyburn.empty(math.prod(tensor.shape[:-1]), tensor.shape[-1], dtype=tensor.dtype, device=tensor.device)
        return tensor.copy_(init.orthogonal_(rows, self.gain, generator=self.generator()).reshape(tensor.shape))


@dataclass(eq=False, repr=False)
class Identity(Initializer):
    """Initializes a matrix with the identity.

    Args:
        gain: The factor.

    >>> p_vision.Identity()([2, 2]).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    gain: float = 1.0

    def fill(self, tensor: Tensor) -> Tensor:
        return tensor.copy_(self.gain * pyburn.eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


def fans(shape: Shape) -> tuple[float, float]:
    """Returns the fan-in and fan-out of a kernel (..., inputs, outputs)."""
    if len(shape) < 2:
        n = float(math.prod(shape))
        return n, n
    field = math.prod(shape[:-2])
    return float(field * shape[-2]), float(field * shape[-1])


_ALL = (
    Zeros,
    Ones,
    Constant,
    RandomNormal,
    RandomUniform,
    TruncatedNormal,
    VarianceScaling,
    GlorotUniform,
    GlorotNormal,
    HeUniform,
    HeNormal,
    LecunUniform,
    LecunNormal,
    Orthogonal,
    Identity,
)
_TABLE = {**{snake_case(cls.__name__): cls for cls in _ALL}, "normal": RandomNormal, "uniform": RandomUniform}
get = Registry("initializer", Initializer, _TABLE)
deserialize = get.deserialize
globals().update(_TABLE)  # `initializers.he_normal` is the class, as in Keras
IdentityInitializer, OrthogonalInitializer = Identity, Orthogonal
__all__ = [name for name, value in globals().items() if isinstance(value, type) and issubclass(value, Initializer)]
__all__ += ["deserialize", "get", "serialize"]
