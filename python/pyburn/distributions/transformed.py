"""TransformedDistribution, its transforms, and LogNormal."""

from __future__ import annotations

import math
from typing import Any

from .. import _core
from .._core import Tensor
from ..tensor import as_tensor
from .basic import Distribution, Normal

__all__ = ["AffineTransform", "ExpTransform", "LogNormal", "SigmoidTransform", "TanhTransform", "TransformedDistribution"]


class TanhTransform:
    """The transform y = tanh(x)."""

    def __init__(self, cache_size: int = 0) -> None:
        pass

    def __call__(self, x: Tensor) -> Tensor:
        return x.tanh()

    def inv(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return 2.0 * (math.log(2.0) - x - _core.softplus(-2.0 * x))


class ExpTransform(TanhTransform):
    """The transform y = exp(x)."""

    def __call__(self, x: Tensor) -> Tensor:
        return x.exp()

    def inv(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class SigmoidTransform(TanhTransform):
    """The transform y = 1 / (1 + exp(-x))."""

    def __call__(self, x: Tensor) -> Tensor:
        return x.sigmoid()

    def inv(self, y: Tensor) -> Tensor:
        return y.logit()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -_core.softplus(-x) - _core.softplus(x)


class AffineTransform(TanhTransform):
    """The transform y = loc + scale * x."""

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        self.loc, self.scale = loc, scale

    def __call__(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def inv(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return as_tensor(self.scale).abs().log().expand(*x.shape)


class TransformedDistribution(Distribution):
    """Applies a sequence of element-wise transforms to the samples of a distribution."""

    has_rsample = True

    def __init__(self, base_distribution: Distribution, transforms: Any, validate_args: bool | None = None) -> None:
        self.base_dist = base_distribution
        self.transforms = list(transforms) if isinstance(transforms, (list, tuple)) else [transforms]
        self.batch_shape = base_distribution.batch_shape

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        x = self.base_dist.rsample(sample_shape)
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value: Tensor) -> Tensor:
        result: Any = 0.0
        for transform in reversed(self.transforms):
            x = transform.inv(value)
            result = result - transform.log_abs_det_jacobian(x, value)
            value = x
        return result + self.base_dist.log_prob(value)


class LogNormal(TransformedDistribution):
    """The log-normal distribution: the exponential of a normal distribution."""

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale), ExpTransform())
