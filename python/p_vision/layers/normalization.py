"""Normalization layers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pyburn
from pyburn import Tensor
from pyburn.nn import functional

from .. import initializers
from .arguments import positive
from .declared import DeclaredLayer


class _Normalization(DeclaredLayer):
    """Base class: an optional scale and an optional offset."""

    supports_masking = True

    def _add_scale(self, shape: Sequence[int]) -> None:
        self.gamma = self.weight_of("gamma", shape) if self.scale else None
        self.beta = self.weight_of("beta", shape) if self.center else None


class BatchNormalization(_Normalization):
    """Batch normalization: uses the statistics of the batch in training, and updates the moving averages; otherwise uses the moving
    averages.

    A frozen layer (`trainable = False`) always uses the moving averages and does not update them.

    Args:
        axis: The axis of the channels, which have separate statistics.
        momentum: The decay of the moving averages.
        moving_mean_initializer: The initializer of the moving average of the mean.
        moving_variance_initializer: The initializer of the moving average of the variance.
        renorm: Whether to use batch renormalization (Ioffe 2017).
        renorm_clipping: The limits of batch renormalization: a dict with "rmin", "rmax" and "dmax".
        renorm_momentum: The decay of the statistics of batch renormalization.
        synchronized: Must be False: a model is on one device.

    Raises:
        ValueError: renorm_clipping has an unknown key, or synchronized is True.

    >>> layer = p_vision.BatchNormalization()
    >>> x = pyburn.randn(64, 3) * 5 + 2
    >>> layer(x, training=True).std(0, correction=0).round(decimals=2).tolist()
    [1.0, 1.0, 1.0]
    >>> [weight.name for weight in layer.weights]
    ['gamma', 'beta', 'moving_mean', 'moving_variance']
    """

    axis: int = -1
    momentum: float = 0.99
    epsilon: float = 1e-3
    center: bool = True
    scale: bool = True
    beta_initializer: Any = "zeros"
    gamma_initializer: Any = "ones"
    moving_mean_initializer: Any = "zeros"
    moving_variance_initializer: Any = "ones"
    beta_regularizer: Any = None
    gamma_regularizer: Any = None
    renorm: bool = False
    renorm_clipping: Mapping[str, float] | None = None
    renorm_momentum: float = 0.99
    synchronized: bool = False

    def prepare(self) -> None:
        if self.synchronized:
            raise ValueError("[BatchNormalization] synchronized=True is for several devices, and a model is on one")
        unknown = set(self.renorm_clipping or ()) - {"rmin", "rmax", "dmax"}
        if unknown:
            raise ValueError(f"[BatchNormalization] renorm_clipping has 'rmin', 'rmax' and 'dmax': got {sorted(unknown)[0]!r}")

    def build(self, input_shape: Any) -> None:
        shape = (input_shape[self.axis],)
        self._add_scale(shape)
        self.moving_mean = self.add_weight(shape, self.moving_mean_initializer, trainable=False)
        self.moving_variance = self.add_weight(shape, self.moving_variance_initializer, trainable=False)
        if self.renorm:
            self.moving_stddev = self.add_weight(shape, self._first_deviation, trainable=False)
            self.renorm_mean = self.add_weight(shape, self.moving_mean_initializer, trainable=False)
            self.renorm_stddev = self.add_weight(shape, self._first_deviation, trainable=False)

    def _first_deviation(self, shape: Sequence[int], dtype: Any = None) -> Tensor:
        return initializers.get(self.moving_variance_initializer)(shape, dtype).sqrt()

    def forward(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        x = inputs.movedim(self.axis, 1)
        gamma, beta = self.gamma, self.beta
        if not (self.training and self.trainable):
            mean, variance = self.moving_mean, self.moving_variance
        elif mask is None and not self.renorm and x.numel() != x.shape[1]:  # the usual case uses one fused kernel
            self._move_averages(*_moments(x.detach(), None))
            return functional.batch_norm(x, None, None, gamma, beta, True, 0.0, self.epsilon).movedim(1, self.axis)
        else:
            mean, variance = _moments(x, mask)
            if self.renorm:
                gamma, beta = self._corrected(mean, variance)
            else:
                self._move_averages(mean.detach(), variance.detach())
        return functional.batch_norm(x, mean, variance, gamma, beta, False, 0.0, self.epsilon).movedim(1, self.axis)

    def _move_averages(self, mean: Tensor, variance: Tensor) -> None:
        """Updates the moving averages with the biased variance (divided by n), as Keras does; PyTorch uses the unbiased variance."""
        self._move(1 - self.momentum, (self.moving_mean, mean), (self.moving_variance, variance))

    def _move(self, share: float, *pairs: tuple[Tensor, Tensor]) -> None:
        with pyburn.no_grad():
            for average, value in pairs:
                average.lerp_(value.to(average.dtype), share)

    def _corrected(self, mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the scale and the offset of batch renormalization, and updates the moving averages."""
        limits = self.renorm_clipping or {}
        with pyburn.no_grad():
            mean, deviation = mean.detach(), (variance.detach() + self.epsilon).sqrt()
            usual = self.renorm_stddev.clamp(min=self.epsilon**0.5)
            ratio = (deviation / usual).clamp(limits.get("rmin", -math.inf), limits.get("rmax", math.inf))
            distance = ((mean - self.renorm_mean) / usual).clamp(-limits.get("dmax", math.inf), limits.get("dmax", math.inf))
            self._move(1 - self.renorm_momentum, (self.renorm_mean, mean), (self.renorm_stddev, deviation))
            self._move(1 - self.momentum, (self.moving_mean, mean), (self.moving_stddev, deviation))
            self.moving_variance.copy_((self.moving_stddev.square() - self.epsilon).clamp(min=0))
        scale, shift = (ratio, distance) if self.gamma is None else (self.gamma * ratio, self.gamma * distance)
        return scale, shift if self.beta is None else self.beta + shift


def _moments(x: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """Returns the mean and the variance of each channel (dimension 1) over the unmasked steps."""
    axes = [0, *range(2, x.ndim)]
    if mask is None:
        variance, mean = pyburn.var_mean(x, axes, correction=0)
        return mean, variance
    weight = mask.unsqueeze(1).to(x.dtype)
    total = weight.sum() * (x[0, 0].numel() / weight[0, 0].numel())
    mean = (x * weight).sum(axes) / total
    distance = x - mean.reshape([-1, *[1] * (x.ndim - 2)])
    return mean, (distance.square() * weight).sum(axes) / total


class LayerNormalization(_Normalization):
    """Layer normalization: normalizes each sample along one or several axes.

    Args:
        axis: The axis, or the axes, to normalize along.

    >>> p_vision.LayerNormalization()(pyburn.tensor([[1.0, 2.0, 3.0]])).detach()
    tensor([[-1.2238,  0.0000,  1.2238]])
    """

    axis: int | Sequence[int] = -1
    epsilon: float = 1e-3
    center: bool = True
    scale: bool = True
    beta_initializer: Any = "zeros"
    gamma_initializer: Any = "ones"
    beta_regularizer: Any = None
    gamma_regularizer: Any = None

    def _axes(self, rank: int) -> list[int]:
        return sorted(axis % rank for axis in ([self.axis] if isinstance(self.axis, int) else self.axis))

    def build(self, input_shape: Any) -> None:
        self._add_scale([input_shape[axis] for axis in self._axes(len(input_shape))])

    def forward(self, inputs: Tensor) -> Tensor:
        axes = self._axes(inputs.ndim)
        last = list(range(inputs.ndim - len(axes), inputs.ndim))
        x = inputs if axes == last else inputs.movedim(axes, last)
        result = functional.layer_norm(x, x.shape[-len(axes) :], self.gamma, self.beta, self.epsilon)
        return result if axes == last else result.movedim(last, axes)


class GroupNormalization(_Normalization):
    """Group normalization: normalizes each sample over groups of channels.

    Args:
        groups: The number of groups; -1 makes each channel its own group.
        axis: The axis of the channels.

    Raises:
        ValueError: The channels are not a multiple of groups.

    >>> p_vision.GroupNormalization(groups=2)(pyburn.rand(2, 5, 5, 8)).shape
    pyburn.Size([2, 5, 5, 8])
    """

    checks = {"groups": None}
    groups: int = 32
    axis: int = -1
    epsilon: float = 1e-3
    center: bool = True
    scale: bool = True
    beta_initializer: Any = "zeros"
    gamma_initializer: Any = "ones"
    beta_regularizer: Any = None
    gamma_regularizer: Any = None

    def prepare(self) -> None:
        if self.groups != -1:
            positive("GroupNormalization", "groups", self.groups)

    def build(self, input_shape: Any) -> None:
        channels = input_shape[self.axis]
        if self.groups != -1 and channels % self.groups:
            raise ValueError(f"[GroupNormalization] the channels must be a multiple of groups: got {channels} and {self.groups}")
        self._add_scale((channels,))

    def forward(self, inputs: Tensor) -> Tensor:
        x = inputs.movedim(self.axis, 1)
        groups = x.shape[1] if self.groups == -1 else self.groups
        return functional.group_norm(x, groups, self.gamma, self.beta, self.epsilon).movedim(1, self.axis)


class RMSNormalization(DeclaredLayer):
    """RMS normalization: divides by the root mean square along an axis, and multiplies by a learned scale.

    Args:
        axis: The axis to normalize along.
        epsilon: A small number that is added to the mean square.

    >>> p_vision.RMSNormalization()(pyburn.tensor([[3.0, 4.0]])).detach()
    tensor([[0.8485, 1.1314]])
    """

    supports_masking = True
    axis: int = -1
    epsilon: float = 1e-6

    def build(self, input_shape: Any) -> None:
        self.scale = self.add_weight((input_shape[self.axis],), "ones")

    def forward(self, inputs: Tensor) -> Tensor:
        x = inputs.movedim(self.axis, -1)
        return functional.rms_norm(x, [x.shape[-1]], self.scale, self.epsilon).movedim(-1, self.axis)


class UnitNormalization(DeclaredLayer):
    """Divides by the L2 norm along one or several axes.

    Args:
        axis: The axis, or the axes, of the norm.

    >>> p_vision.UnitNormalization()(pyburn.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """

    supports_masking = True
    axis: int | Sequence[int] = -1

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs / inputs.square().sum(self.axis, keepdim=True).clamp(min=1e-12).sqrt()
