"""Distributions that are sampled from gamma variables: Gamma, Chi2, StudentT, Beta and Dirichlet."""

from __future__ import annotations

import math
from typing import Any

from .. import _core
from .._core import Tensor
from ..tensor import as_tensor, finfo
from .basic import Distribution, _tensors

__all__ = ["Beta", "Chi2", "Dirichlet", "Gamma", "StudentT"]


def standard_gamma(shape: Tensor, generator: Any = None) -> Tensor:
    """Samples from gamma distributions of rate 1 by Marsaglia and Tsang's rejection method.

    Args:
        shape: The shape parameter of each sample.
        generator: The random generator; by default that of the device.

    Raises:
        NotImplementedError: A gradient for the shape parameters is asked for.
    """

    def draw(source: Any) -> Tensor:
        return source(shape.shape, dtype=shape.dtype, device=shape.device, generator=generator)

    if shape.requires_grad and _core.is_grad_enabled():
        raise NotImplementedError("samples of gamma variables have no gradient for their concentration: use sample(), or no_grad()")
    shape = shape.detach()
    d = _core.where(shape < 1, shape + 1, shape) - 1 / 3
    result, waiting = _core.zeros_like(shape), _core.ones_like(shape, dtype=_core.bool)
    while bool(waiting.any()):
        x, u = draw(_core.randn), draw(_core.rand)
        v = (1 + x / (9 * d).sqrt()) ** 3
        fits = (v > 0) & (u.log() < x * x / 2 + d * (1 - v + v.clamp(min=1e-30).log()))
        result = _core.where(waiting & fits, d * v, result)
        waiting = waiting & ~fits
    small = draw(_core.rand) ** shape.reciprocal()  # for concentrations below 1: a sample of concentration + 1, times this
    return (result * _core.where(shape < 1, small, 1.0)).clamp(min=finfo(shape.dtype).tiny)


class Gamma(Distribution):
    """The gamma distribution with density proportional to x^(concentration - 1) exp(-rate x).

    Args:
        concentration: The shape parameter.
        rate: The rate.
        validate_args: Whether arguments are checked.

    Raises:
        ValueError: A parameter is not positive.

    >>> pyburn.distributions.Gamma(2.0, 1.0).mean
    tensor(2.)
    """

    has_rsample = True

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = _tensors(concentration, rate)
        if validate_args is not False and not bool(((self.concentration > 0) & (self.rate > 0)).all()):
            raise ValueError("expected a positive concentration and a positive rate")
        self.batch_shape = self.concentration.shape

    mean = property(lambda self: self.concentration / self.rate)
    variance = property(lambda self: self.concentration / self.rate**2)
    mode = property(lambda self: ((self.concentration - 1) / self.rate).clamp(min=0))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return standard_gamma(self.concentration.expand(*self._extended(sample_shape))) / self.rate

    def log_prob(self, value: Any) -> Tensor:
        value = as_tensor(value, dtype=self.rate.dtype)
        a, b = self.concentration, self.rate
        return a * b.log() + (a - 1) * value.log() - b * value - _core.lgamma(a)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - self.rate.log() + _core.lgamma(a) + (1 - a) * _core.digamma(a)


class Chi2(Gamma):
    """The chi-squared distribution with df degrees of freedom.

    Args:
        df: The degrees of freedom.
        validate_args: Whether arguments are checked.

    >>> pyburn.distributions.Chi2(3.0).mean
    tensor(3.)
    """

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        (degrees,) = _tensors(df)
        super().__init__(degrees / 2, _core.full_like(degrees, 0.5), validate_args)

    df = property(lambda self: self.concentration * 2)


class StudentT(Distribution):
    """Student's t-distribution with df degrees of freedom, location and scale.

    Args:
        df: The degrees of freedom.
        loc: The location.
        scale: The scale.
        validate_args: Whether arguments are checked.

    Raises:
        ValueError: df or scale is not positive.

    >>> pyburn.distributions.StudentT(5.0).variance
    tensor(1.6667)
    """

    has_rsample = True

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = _tensors(df, loc, scale)
        if validate_args is not False and not bool(((self.df > 0) & (self.scale > 0)).all()):
            raise ValueError("expected positive degrees of freedom and a positive scale")
        self.batch_shape = self.df.shape

    mode = property(lambda self: self.loc)

    @property
    def mean(self) -> Tensor:
        return _core.where(self.df > 1, self.loc, math.nan)

    @property
    def variance(self) -> Tensor:
        finite = self.scale**2 * self.df / (self.df - 2)
        return _core.where(self.df > 2, finite, _core.where(self.df > 1, math.inf, math.nan))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        extended = self._extended(sample_shape)
        normal = _core.randn(extended, dtype=self.df.dtype, device=self.df.device)
        squares = standard_gamma((self.df / 2).expand(*extended)) * 2
        return self.loc + self.scale * normal * (squares / self.df).rsqrt()

    def log_prob(self, value: Any) -> Tensor:
        y = (as_tensor(value, dtype=self.loc.dtype) - self.loc) / self.scale
        half = (self.df + 1) / 2
        scale = self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi) + _core.lgamma(self.df / 2) - _core.lgamma(half)
        return -half * _core.log1p(y**2 / self.df) - scale

    def entropy(self) -> Tensor:
        half, beta = (self.df + 1) / 2, _core.lgamma(self.df / 2) + math.lgamma(0.5) - _core.lgamma((self.df + 1) / 2)
        return self.scale.log() + half * (_core.digamma(half) - _core.digamma(self.df / 2)) + 0.5 * self.df.log() + beta


class Dirichlet(Distribution):
    """The Dirichlet distribution over the last dimension.

    Args:
        concentration: The concentrations (*, K).
        validate_args: Whether arguments are checked.

    Raises:
        ValueError: concentration is 0-d or not positive.

    >>> pyburn.distributions.Dirichlet(pyburn.ones(4)).mean
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        if validate_args is not False and not bool((concentration > 0).all()):
            raise ValueError("expected a positive concentration")
        self.concentration = concentration
        self.batch_shape, self.event_shape = concentration.shape[:-1], concentration.shape[-1:]

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, keepdim=True)

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, keepdim=True)
        return self.mean * (1 - self.mean) / (total + 1)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        parts = standard_gamma(self.concentration.expand(*sample_shape, *self.concentration.shape))
        return parts / parts.sum(-1, keepdim=True)

    def log_prob(self, value: Any) -> Tensor:
        a = self.concentration
        return ((a - 1) * as_tensor(value).log()).sum(-1) + _core.lgamma(a.sum(-1)) - _core.lgamma(a).sum(-1)

    def entropy(self) -> Tensor:
        a, k = self.concentration, self.concentration.shape[-1]
        total = a.sum(-1)
        spread = (total - k) * _core.digamma(total) - ((a - 1) * _core.digamma(a)).sum(-1)
        return _core.lgamma(a).sum(-1) - _core.lgamma(total) + spread


class Beta(Distribution):
    """The beta distribution.

    Args:
        concentration1: The first shape parameter.
        concentration0: The second shape parameter.
        validate_args: Whether arguments are checked.

    >>> pyburn.distributions.Beta(2.0, 2.0).mean
    tensor(0.5000)
    """

    has_rsample = True

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = _tensors(concentration1, concentration0)
        self._both = Dirichlet(_core.stack([self.concentration1, self.concentration0], -1), validate_args)
        self.batch_shape = self.concentration1.shape

    mean = property(lambda self: self.concentration1 / (self.concentration1 + self.concentration0))

    @property
    def variance(self) -> Tensor:
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total**2 * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self._both.rsample(sample_shape)[..., 0]

    def log_prob(self, value: Any) -> Tensor:
        value = as_tensor(value, dtype=self.concentration1.dtype)
        return self._both.log_prob(_core.stack([value, 1 - value], -1))

    def entropy(self) -> Tensor:
        return self._both.entropy()
