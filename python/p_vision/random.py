"""Keras's `random`: random tensors. A seed is an integer, which gives the same values each time, or a SeedGenerator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyburn
from pyburn import Tensor
from pyburn.nn import functional, init

from .conversion import as_input, dtype_of
from .symbolic.operation import drawing

Shape = int | Sequence[int]


class SeedGenerator:
    """A random generator that advances with each call and is reproducible for a seed.

    Args:
        seed: The seed; None for a random one.
        name: The name of the generator.

    >>> generator = p_vision.random.SeedGenerator(1)
    >>> a, b = (p_vision.random.normal((2,), seed=generator) for _ in range(2))
    >>> bool((a == b).all())
    False
    """

    def __init__(self, seed: int | None = None, name: str | None = None) -> None:
        self.name = name
        self.generator = pyburn.Generator()
        if seed is None:
            self.generator.seed()
        else:
            self.generator.manual_seed(int(seed))


def _generator(seed: Any) -> pyburn.Generator | None:
    if seed is None:
        return None
    return seed.generator if isinstance(seed, SeedGenerator) else pyburn.Generator().manual_seed(int(seed))


def _extents(shape: Shape) -> list[int]:
    return [shape] if isinstance(shape, int) else [int(extent) for extent in shape]


def normal(shape: Shape, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: Any = None) -> Tensor:
    """Samples from a normal distribution.

    Args:
        shape: The shape.
        mean: The mean.
        stddev: The standard deviation.
        dtype: The dtype; by default float32.
        seed: An integer, which gives the same values each time, or a SeedGenerator.

    Returns:
        The tensor.

    >>> p_vision.random.normal((2, 3), seed=1).shape
    pyburn.Size([2, 3])
    """
    return pyburn.randn(_extents(shape), dtype=dtype_of(dtype), generator=_generator(seed)) * stddev + mean


def uniform(shape: Shape, minval: float = 0.0, maxval: float = 1.0, dtype: Any = None, seed: Any = None) -> Tensor:
    """Samples from a uniform distribution.

    Args:
        shape: The shape.
        minval: The lowest value.
        maxval: The limit above.
        dtype: The dtype; by default float32.
        seed: An integer, which gives the same values each time, or a SeedGenerator.

    Returns:
        The tensor.

    >>> p_vision.random.uniform((2, 3), seed=1).shape
    pyburn.Size([2, 3])
    """
    return pyburn.rand(_extents(shape), dtype=dtype_of(dtype), generator=_generator(seed)) * (maxval - minval) + minval


def randint(shape: Shape, minval: int, maxval: int, dtype: Any = "int32", seed: Any = None) -> Tensor:
    """Samples integers from a uniform distribution.

    Args:
        shape: The shape.
        minval: The lowest value.
        maxval: The limit above, which is not included.
        dtype: The dtype.
        seed: An integer, which gives the same values each time, or a SeedGenerator.

    Returns:
        The tensor.

    >>> p_vision.random.randint((2, 3), 0, 10, seed=1).shape
    pyburn.Size([2, 3])
    """
    return pyburn.randint(int(minval), int(maxval), _extents(shape), generator=_generator(seed)).to(dtype=dtype_of(dtype))


def truncated_normal(shape: Shape, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: Any = None) -> Tensor:
    """Samples from a normal distribution truncated at two standard deviations.

    Args:
        shape: The shape.
        mean: The mean.
        stddev: The standard deviation.
        dtype: The dtype; by default float32.
        seed: An integer, which gives the same values each time, or a SeedGenerator.

    Returns:
        The tensor.

    >>> p_vision.random.truncated_normal((2, 3), seed=1).shape
    pyburn.Size([2, 3])
    """
    empty = pyburn.empty(_extents(shape), dtype=dtype_of(dtype))
    return init.trunc_normal_(empty, mean, stddev, mean - 2 * stddev, mean + 2 * stddev, generator=_generator(seed))


def categorical(logits: Any, num_samples: int, dtype: Any = "int32", seed: Any = None) -> Tensor:
    """Samples class indices from the logits of each row: (rows, num_samples).

    Args:
        logits: The logits (rows, classes).
        num_samples: The number of samples per row.
        dtype: The dtype.
        seed: An integer, which gives the same values each time, or a SeedGenerator.

    Returns:
        The tensor.

    >>> p_vision.random.categorical(pyburn.zeros(2, 5), 3, seed=1).shape
    pyburn.Size([2, 3])
    """
    shares = as_input(logits).softmax(-1)
    return pyburn.multinomial(shares, num_samples, replacement=True, generator=_generator(seed)).to(dtype=dtype_of(dtype))


def gamma(shape: Shape, alpha: Any, dtype: Any = None, seed: Any = None) -> Tensor:
    """Samples from a gamma distribution by Marsaglia and Tsang's rejection method.

    Args:
        shape: The shape.
        alpha: The shape parameter: a number or a tensor.
        dtype: The dtype; by default float32.
        seed: An integer, which gives the same values each time, or a SeedGenerator.

    Returns:
        The tensor.

    >>> p_vision.random.gamma((2, 3), 2.0, seed=1).shape
    pyburn.Size([2, 3])
    """
    from pyburn.distributions.gammas import standard_gamma

    wanted = pyburn.as_tensor(alpha, dtype=pyburn.float32).expand(_extents(shape)).contiguous()
    return standard_gamma(wanted, _generator(seed)).to(dtype=dtype_of(dtype) or pyburn.float32)


def beta(shape: Shape, alpha: Any, beta: Any, dtype: Any = None, seed: Any = None) -> Tensor:
    """Samples from a beta distribution.

    Args:
        shape: The shape.
        alpha: The first parameter.
        beta: The second parameter.
        dtype: The dtype; by default float32.
        seed: An integer, which gives the same values each time, or a SeedGenerator.

    Returns:
        The tensor.

    >>> p_vision.random.beta((2, 3), 2.0, 1.0, seed=1).shape
    pyburn.Size([2, 3])
    """
    shared = seed if seed is None or isinstance(seed, SeedGenerator) else SeedGenerator(seed)
    x, y = gamma(shape, alpha, dtype, shared), gamma(shape, beta, dtype, shared)
    return x / (x + y)


def binomial(shape: Shape, counts: Any, probabilities: Any, dtype: Any = None, seed: Any = None) -> Tensor:
    """Samples from a binomial distribution.

    Args:
        shape: The shape.
        counts: The number of trials.
        probabilities: The probability of success.
        dtype: The dtype; by default float32.
        seed: An integer, which gives the same values each time, or a SeedGenerator.

    Returns:
        The tensor.

    >>> p_vision.random.binomial((2, 3), 10, 0.5, seed=1).shape
    pyburn.Size([2, 3])
    """
    extents = _extents(shape)
    count, chance = (pyburn.as_tensor(value, dtype=pyburn.float32).expand(extents).contiguous() for value in (counts, probabilities))
    return pyburn.binomial(count, chance, generator=_generator(seed)).to(dtype=dtype_of(dtype) or pyburn.float32)


def shuffle(x: Any, axis: int = 0, seed: Any = None) -> Tensor:
    """Shuffles the slices along an axis.

    Args:
        x: The tensor or array.
        axis: The axis.
        seed: An integer, which gives the same values each time, or a SeedGenerator.

    Returns:
        The tensor.

    >>> p_vision.random.shuffle(pyburn.arange(5), seed=1).shape
    pyburn.Size([5])
    """
    tensor = as_input(x)
    order = pyburn.randperm(tensor.shape[axis], generator=_generator(seed))
    return tensor.index_select(axis, order.to(tensor.device))


def _dropout(inputs: Tensor, rate: float, noise_shape: Sequence[int | None] | None = None, seed: Any = None) -> Tensor:
    if noise_shape is None and seed is None:
        return functional.dropout(inputs, rate, True)
    from .layers.dropout import kept, noise_sizes

    return inputs * kept(noise_sizes(inputs, noise_shape), rate, inputs, _generator(seed))


dropout = drawing(_dropout, "random.dropout", "dropout")
__all__ = [
    "SeedGenerator",
    "beta",
    "binomial",
    "categorical",
    "dropout",
    "gamma",
    "normal",
    "randint",
    "shuffle",
    "truncated_normal",
    "uniform",
]
