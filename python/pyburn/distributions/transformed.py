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
    """The transform y = tanh(x).

    Args:
        cache_size: Accepted for compatibility.

    >>> pyburn.distributions.TanhTransform()(pyburn.tensor(0.0))
    tensor(0.)
    """

    def __init__(self, cache_size: int = 0) -> None:
        pass

    def __call__(self, x: Tensor) -> Tensor:
        return x.tanh()

    def inv(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return 2.0 * (math.log(2.0) - x - _core.softplus(-2.0 * x))


class ExpTransform(TanhTransform):
    """The transform y = exp(x).

    >>> pyburn.distributions.ExpTransform()(pyburn.tensor(0.0))
    tensor(1.)
    """

    def __call__(self, x: Tensor) -> Tensor:
        return x.exp()

    def inv(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class SigmoidTransform(TanhTransform):
    """The transform y = 1 / (1 + exp(-x)).

    >>> pyburn.distributions.SigmoidTransform()(pyburn.tensor(0.0))
    tensor(0.5000)
    """

    def __call__(self, x: Tensor) -> Tensor:
        return x.sigmoid()

    def inv(self, y: Tensor) -> Tensor:
        return y.logit()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -_core.softplus(-x) - _core.softplus(x)


class AffineTransform(TanhTransform):
    """The transform y = loc + scale * x.

    Args:
        loc: The offset.
        scale: The factor.
        event_dim: The number of event dimensions.
        cache_size: Accepted for compatibility.

    >>> pyburn.distributions.AffineTransform(1.0, 2.0)(pyburn.tensor(3.0))
    tensor(7.)
    """

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        self.loc, self.scale = loc, scale

    def __call__(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def inv(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return as_tensor(self.scale).abs().log().expand(*x.shape)


class TransformedDistribution(Distribution):
    """Applies a sequence of element-wise transforms to the samples of a distribution.

    Args:
        base_distribution: The distribution.
        transforms: A transform or a list of them.
        validate_args: Whether arguments are checked.

    >>> normal = pyburn.distributions.Normal(0.0, 1.0)
    >>> transformed = pyburn.distributions.TransformedDistribution(normal, [pyburn.distributions.ExpTransform()])
    >>> transformed.log_prob(pyburn.tensor(1.0))
    tensor(-0.9189)
    """

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
    """The log-normal distribution: the exponential of a normal distribution.

    Args:
        loc: The mean of the logarithm.
        scale: The standard deviation of the logarithm.
        validate_args: Whether arguments are checked.

    >>> pyburn.distributions.LogNormal(0.0, 1.0).log_prob(pyburn.tensor(1.0))
    tensor(-0.9189)
    """

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale), ExpTransform())
