"""Normalization layers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pyburn
from pyburn import Tensor
from pyburn.nn import functional

from .. import initializers
from ..layer import Layer
from .dense import positive


class _Normalization(Layer):
    """Base class: an optional scale and an optional offset."""

    supports_masking = True

    def _prepare(self, epsilon: float, center: bool, scale: bool, initializers: tuple[Any, Any], regularizers: tuple[Any, Any]) -> None:
        self.epsilon, self.center, self.scale = epsilon, center, scale
        self.beta_initializer, self.gamma_initializer = initializers
        self.beta_regularizer, self.gamma_regularizer = regularizers

    def _add_scale(self, shape: Sequence[int]) -> None:
        self.gamma = self.add_weight(shape, self.gamma_initializer, regularizer=self.gamma_regularizer) if self.scale else None
        self.beta = self.add_weight(shape, self.beta_initializer, regularizer=self.beta_regularizer) if self.center else None


class BatchNormalization(_Normalization):
    """Batch normalization: uses the statistics of the batch in training, and updates the moving averages; otherwise uses the moving
    averages.

    A frozen layer (`trainable = False`) always uses the moving averages and does not update them. `renorm` is batch renormalization (Ioffe
    2017), with the limits `rmin`, `rmax` and `dmax` in `renorm_clipping`.
    """

    def __init__(
        self,
        axis: int = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        moving_mean_initializer: Any = "zeros",
        moving_variance_initializer: Any = "ones",
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        renorm: bool = False,
        renorm_clipping: Mapping[str, float] | None = None,
        renorm_momentum: float = 0.99,
        synchronized: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._prepare(epsilon, center, scale, (beta_initializer, gamma_initializer), (beta_regularizer, gamma_regularizer))
        self.axis, self.momentum = axis, momentum
        self.moving_mean_initializer, self.moving_variance_initializer = moving_mean_initializer, moving_variance_initializer
        if synchronized:
            raise ValueError("[BatchNormalization] synchronized=True is for several devices, and a model is on one")
        unknown = set(renorm_clipping or ()) - {"rmin", "rmax", "dmax"}
        if unknown:
            raise ValueError(f"[BatchNormalization] renorm_clipping has 'rmin', 'rmax' and 'dmax': got {sorted(unknown)[0]!r}")
        self.renorm, self.renorm_clipping, self.renorm_momentum = renorm, renorm_clipping, renorm_momentum
        self.synchronized = synchronized

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
    """Layer normalization: normalizes each sample along one or several axes."""

    def __init__(
        self,
        axis: int | Sequence[int] = -1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._prepare(epsilon, center, scale, (beta_initializer, gamma_initializer), (beta_regularizer, gamma_regularizer))
        self.axis = axis

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
    """Group normalization: normalizes each sample over groups of channels; groups=-1 makes each channel its own group."""

    def __init__(
        self,
        groups: int = 32,
        axis: int = -1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._prepare(epsilon, center, scale, (beta_initializer, gamma_initializer), (beta_regularizer, gamma_regularizer))
        self.groups, self.axis = groups if groups == -1 else positive("GroupNormalization", "groups", groups), axis

    def build(self, input_shape: Any) -> None:
        channels = input_shape[self.axis]
        if self.groups != -1 and channels % self.groups:
            raise ValueError(f"[GroupNormalization] the channels must be a multiple of groups: got {channels} and {self.groups}")
        self._add_scale((channels,))

    def forward(self, inputs: Tensor) -> Tensor:
        x = inputs.movedim(self.axis, 1)
        groups = x.shape[1] if self.groups == -1 else self.groups
        return functional.group_norm(x, groups, self.gamma, self.beta, self.epsilon).movedim(1, self.axis)


class RMSNormalization(Layer):
    """RMS normalization: divides by the root mean square along an axis, and scales."""

    supports_masking = True

    def __init__(self, axis: int = -1, epsilon: float = 1e-6, **options: Any) -> None:
        super().__init__(**options)
        self.axis, self.epsilon = axis, epsilon

    def build(self, input_shape: Any) -> None:
        self.scale = self.add_weight((input_shape[self.axis],), "ones")

    def forward(self, inputs: Tensor) -> Tensor:
        x = inputs.movedim(self.axis, -1)
        return functional.rms_norm(x, [x.shape[-1]], self.scale, self.epsilon).movedim(-1, self.axis)


class UnitNormalization(Layer):
    """Divides by the L2 norm along one or several axes."""

    supports_masking = True

    def __init__(self, axis: int | Sequence[int] = -1, **options: Any) -> None:
        super().__init__(**options)
        self.axis = axis

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs / inputs.square().sum(self.axis, keepdim=True).clamp(min=1e-12).sqrt()
