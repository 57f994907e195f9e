"""Dropout and noise layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyburn
from pyburn import Tensor
from pyburn.nn import functional

from ..layer import Layer
from ..regularizers import L1L2
from .windows import checked_format


class SeededLayer(Layer):
    """Base class of layers with random numbers; with a seed, the layer has its own generator."""

    supports_masking = True
    seed: int | None = None
    _generator: Any = None

    def _numbers(self) -> Any:
        if self.seed is not None and self._generator is None:
            self._generator = pyburn.Generator().manual_seed(self.seed)
        return self._generator

    def dropped(self, x: Tensor, rate: float) -> Tensor:
        """Applies dropout in training mode."""
        if not self.training or not rate:
            return x
        return functional.dropout(x, rate, True) if self.seed is None else x * kept(x.shape, rate, x, self._numbers())

    def _normal(self, like: Tensor) -> Tensor:
        return pyburn.randn(like.shape, dtype=like.dtype, device=like.device, generator=self._numbers())


class Dropout(SeededLayer):
    """Dropout: in training mode, sets elements to 0 with probability `rate` and scales the others by 1 / (1 - rate).

    Args:
        rate: The probability of dropping an element.
        noise_shape: The shape of the dropout mask, which is broadcast; None for the size of the input.
        seed: The seed of the layer's own generator.
    """

    def __init__(self, rate: float, noise_shape: Sequence[int | None] | None = None, seed: int | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.rate, self.noise_shape, self.seed = probability(type(self).__name__, rate), noise_shape, seed

    def forward(self, inputs: Tensor) -> Tensor:
        if self.noise_shape is None or not self.training or not self.rate:
            return self.dropped(inputs, self.rate)
        return inputs * kept(_noise_shape(inputs, self.noise_shape), self.rate, inputs, self._numbers())


class _SpatialDropout(Dropout):
    """Dropout of entire channels."""

    def __init__(self, rate: float, data_format: str | None = "channels_last", seed: int | None = None, **options: Any) -> None:
        super().__init__(rate, None, seed, **options)
        self.data_format = checked_format(type(self).__name__, data_format)

    def forward(self, inputs: Tensor) -> Tensor:
        if not self.training or not self.rate:
            return inputs
        n, extents = inputs.shape[0], [1] * (inputs.ndim - 2)
        shape = [n, inputs.shape[1], *extents] if self.data_format == "channels_first" else [n, *extents, inputs.shape[-1]]
        return inputs * kept(shape, self.rate, inputs, self._numbers())


class SpatialDropout1D(_SpatialDropout):
    """Dropout of entire channels of (N, steps, channels)."""


class SpatialDropout2D(_SpatialDropout):
    """Dropout of entire channels of (N, height, width, channels)."""


class SpatialDropout3D(_SpatialDropout):
    """Dropout of entire channels of (N, depth, height, width, channels)."""


class GaussianNoise(SeededLayer):
    """In training mode, adds Gaussian noise with standard deviation `stddev`."""

    def __init__(self, stddev: float, seed: int | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.stddev, self.seed = stddev, seed

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs + self.stddev * self._normal(inputs) if self.training else inputs


class GaussianDropout(SeededLayer):
    """In training mode, multiplies by Gaussian noise with mean 1 and variance rate / (1 - rate)."""

    def __init__(self, rate: float, seed: int | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.rate, self.seed = probability("GaussianDropout", rate), seed

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs * (1 + (self.rate / (1 - self.rate)) ** 0.5 * self._normal(inputs)) if self.training else inputs


class AlphaDropout(SeededLayer):
    """Alpha dropout: keeps the mean and the variance of SELU outputs. Active in training mode."""

    def __init__(self, rate: float, noise_shape: Sequence[int | None] | None = None, seed: int | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.rate, self.noise_shape, self.seed = probability("AlphaDropout", rate), noise_shape, seed

    def forward(self, inputs: Tensor) -> Tensor:
        if not self.training or not self.rate:
            return inputs
        if self.noise_shape is None and self.seed is None:
            return functional.alpha_dropout(inputs, self.rate, True)
        low = -1.0507009873554805 * 1.6732632423543772  # the limit of selu at minus infinity
        a = ((1 - self.rate) * (1 + self.rate * low**2)) ** -0.5
        stays = kept(_noise_shape(inputs, self.noise_shape), self.rate, inputs, self._numbers()) > 0
        return a * pyburn.where(stays, inputs, low) - a * low * self.rate


class ActivityRegularization(Layer):
    """Returns its input and adds an L1 and L2 penalty on it to the loss."""

    supports_masking = True

    def __init__(self, l1: float = 0.0, l2: float = 0.0, **options: Any) -> None:
        super().__init__(activity_regularizer=L1L2(l1, l2), **options)
        self.l1, self.l2 = l1, l2

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        del config["activity_regularizer"]
        return config

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs


def _noise_shape(inputs: Tensor, given: Sequence[int | None] | None) -> list[int]:
    return [a if b is None else b for a, b in zip(inputs.shape, given or [None] * inputs.ndim)]


def kept(shape: Sequence[int], rate: float, like: Tensor, generator: Any = None) -> Tensor:
    """Returns a dropout mask, scaled by 1 / (1 - rate) to keep the mean."""
    draws = pyburn.rand(list(shape), generator=generator, device=like.device)
    return (draws >= rate).to(like.dtype) / (1 - rate)


def probability(layer: str, rate: float) -> float:
    if not 0 <= rate < 1:
        raise ValueError(f"[{layer}] rate must be at least 0 and below 1: got {rate!r}")
    return rate
