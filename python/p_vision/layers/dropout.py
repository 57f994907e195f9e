"""Dropout and noise layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyburn
from pyburn import Tensor
from pyburn.nn import functional

from ..regularizers import L1L2
from .declared import DeclaredLayer


class SeededLayer(DeclaredLayer):
    """Base class of layers with random numbers; with an argument `seed`, the layer has its own generator."""

    supports_masking = True

    def _numbers(self) -> Any:
        seed = getattr(self, "seed", None)
        if seed is not None and "_generator" not in self.__dict__:
            self._generator = pyburn.Generator().manual_seed(seed)
        return self.__dict__.get("_generator")

    def dropped(self, x: Tensor, rate: float, noise_shape: Sequence[int | None] | None = None) -> Tensor:
        """Applies dropout in training mode."""
        if not self.training or not rate:
            return x
        generator = self._numbers()
        if noise_shape is None and generator is None:
            return functional.dropout(x, rate, True)
        return x * kept(noise_sizes(x, noise_shape), rate, x, generator)

    def _normal(self, like: Tensor) -> Tensor:
        return pyburn.randn(like.shape, dtype=like.dtype, device=like.device, generator=self._numbers())


class Dropout(SeededLayer):
    """Dropout: in training mode, sets elements to 0 with probability `rate` and scales the others by 1 / (1 - rate).

    >>> layer = p_vision.Dropout(0.5, seed=0)
    >>> x = pyburn.ones(2, 3)
    >>> bool((layer(x) == x).all()), sorted(set(layer(pyburn.ones(99), training=True).tolist()))
    (True, [0.0, 2.0])
    """

    rate: float
    noise_shape: Sequence[int | None] | None = None
    seed: int | None = None

    def forward(self, inputs: Tensor) -> Tensor:
        return self.dropped(inputs, self.rate, self.noise_shape)


class _SpatialDropout(SeededLayer):
    """Dropout of entire channels."""

    rate: float
    data_format: str | None = "channels_last"
    seed: int | None = None

    def forward(self, inputs: Tensor) -> Tensor:
        steps = [1] * (inputs.ndim - 2)
        return self.dropped(inputs, self.rate, [None, None, *steps] if self.data_format == "channels_first" else [None, *steps, None])


class SpatialDropout1D(_SpatialDropout):
    """Dropout of entire channels of (N, steps, channels).

    >>> p_vision.SpatialDropout1D(0.5, seed=0)(pyburn.ones(2, 3, 4), training=True).shape
    pyburn.Size([2, 3, 4])
    """


class SpatialDropout2D(_SpatialDropout):
    """Dropout of entire channels of (N, height, width, channels).

    >>> out = p_vision.SpatialDropout2D(0.5, seed=0)(pyburn.ones(2, 3, 3, 8), training=True)
    >>> bool((out == out[:, :1, :1]).all())
    True
    """


class SpatialDropout3D(_SpatialDropout):
    """Dropout of entire channels of (N, depth, height, width, channels).

    >>> p_vision.SpatialDropout3D(0.5, seed=0)(pyburn.ones(2, 3, 3, 3, 4), training=True).shape
    pyburn.Size([2, 3, 3, 3, 4])
    """


class GaussianNoise(SeededLayer):
    """In training mode, adds Gaussian noise with mean 0.

    Args:
        stddev: The standard deviation of the noise.

    >>> p_vision.GaussianNoise(0.1, seed=0)(pyburn.zeros(1000), training=True).std().item() < 0.2
    True
    """

    stddev: float
    seed: int | None = None

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs + self.stddev * self._normal(inputs) if self.training else inputs


class GaussianDropout(SeededLayer):
    """In training mode, multiplies by Gaussian noise with mean 1 and variance rate / (1 - rate).

    Args:
        rate: The dropout rate that the noise corresponds to.

    >>> p_vision.GaussianDropout(0.5, seed=0)(pyburn.ones(2, 3), training=True).shape
    pyburn.Size([2, 3])
    """

    rate: float
    seed: int | None = None

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs * (1 + (self.rate / (1 - self.rate)) ** 0.5 * self._normal(inputs)) if self.training else inputs


class AlphaDropout(SeededLayer):
    """Alpha dropout: keeps the mean and the variance of SELU outputs. Active in training mode.

    >>> p_vision.AlphaDropout(0.2, seed=0)(pyburn.ones(2, 3), training=True).shape
    pyburn.Size([2, 3])
    """

    rate: float
    noise_shape: Sequence[int | None] | None = None
    seed: int | None = None

    def forward(self, inputs: Tensor) -> Tensor:
        if not self.training or not self.rate:
            return inputs
        if self.noise_shape is None and self.seed is None:
            return functional.alpha_dropout(inputs, self.rate, True)
        low = -1.0507009873554805 * 1.6732632423543772  # the limit of selu at minus infinity
        a = ((1 - self.rate) * (1 + self.rate * low**2)) ** -0.5
        stays = kept(noise_sizes(inputs, self.noise_shape), self.rate, inputs, self._numbers()) > 0
        return a * pyburn.where(stays, inputs, low) - a * low * self.rate


class ActivityRegularization(DeclaredLayer):
    """Returns its input and adds an L1 and L2 penalty on it to the loss.

    Args:
        l1: The factor of the sum of absolute values.
        l2: The factor of the sum of squares.

    >>> layer = p_vision.ActivityRegularization(l1=0.5)
    >>> layer(pyburn.tensor([[1.0, -3.0]])).tolist(), layer.losses[0].item()
    ([[1.0, -3.0]], 2.0)
    """

    supports_masking = True
    l1: float = 0.0
    l2: float = 0.0

    def prepare(self) -> None:
        self.activity_regularizer = L1L2(self.l1, self.l2)

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        del config["activity_regularizer"]
        return config

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs


def noise_sizes(inputs: Tensor, given: Sequence[int | None] | None) -> list[int]:
    """Returns the shape of a dropout mask; None stands for the size of the input."""
    return [a if b is None else b for a, b in zip(inputs.shape, given or [None] * inputs.ndim)]


def kept(shape: Sequence[int], rate: float, like: Tensor, generator: Any = None) -> Tensor:
    """Returns a dropout mask, scaled by 1 / (1 - rate) to keep the mean."""
    draws = pyburn.rand(list(shape), generator=generator, device=like.device)
    return (draws >= rate).to(like.dtype) / (1 - rate)
