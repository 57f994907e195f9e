"""Distributions that come from the gamma function: Gamma and Chi2, StudentT, Beta and Dirichlet. Their samples have no gradient."""

from __future__ import annotations

import math
from typing import Any

import pyburn

from .. import _core
from .._core import Tensor
from ..autograd import no_grad
from .distributions import Distribution, _tensors

__all__ = ["Beta", "Chi2", "Dirichlet", "Gamma", "StudentT"]


def _standard_gamma(concentration: Tensor) -> Tensor:
    """A number for each concentration, by Marsaglia and Tsang: a cubed normal number that is accepted nearly always."""
    shape = concentration.shape
    wanted = concentration.detach().reshape(-1)
    raised = _core.where(wanted < 1, wanted + 1, wanted)
    d = raised - 1 / 3
    drawn, open_places = _core.zeros_like(wanted), _core.arange(len(wanted), device=wanted.device)
    while len(open_places):
        rest = d[open_places]
        x = _core.randn(len(rest), dtype=wanted.dtype, device=wanted.device)
        v = (1 + x / (3 * rest.sqrt())) ** 3
        u = _core.rand(len(rest), dtype=wanted.dtype, device=wanted.device)
        accepted = (v > 0) & (u.log() < 0.5 * x * x + rest * (1 - v + v.clamp(min=1e-30).log()))
        drawn[open_places[accepted]] = (rest * v)[accepted]
        open_places = open_places[~accepted]
    power = _core.rand(len(wanted), dtype=wanted.dtype, device=wanted.device) ** (1 / wanted)
    return _core.where(wanted < 1, drawn * power, drawn).clamp(min=pyburn.finfo(wanted.dtype).tiny).reshape(*shape)


class Gamma(Distribution):
    """x ** (concentration - 1) exp(-rate x), normalised."""

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = _tensors(concentration, rate)
        if validate_args is not False and not bool(((self.concentration > 0) & (self.rate > 0)).all()):
            raise ValueError("expected a positive concentration and rate")
        self.batch_shape = self.rate.shape

    mean = property(lambda self: self.concentration / self.rate)
    variance = property(lambda self: self.concentration / self.rate**2)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            return _standard_gamma(self.concentration.expand(*self._extended(sample_shape))) / self.rate

    def log_prob(self, value: Any) -> Tensor:
        value = pyburn.as_tensor(value, dtype=self.rate.dtype)
        a = self.concentration
        return _core.xlogy(a, self.rate) + _core.xlogy(a - 1, value) - self.rate * value - a.lgamma()

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1 - a) * a.digamma()


class Chi2(Gamma):
    """The sum of `df` squares of normal numbers."""

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        (freedom,) = _tensors(df)
        super().__init__(0.5 * freedom, _core.full_like(freedom, 0.5), validate_args)

    df = property(lambda self: self.concentration * 2)


class StudentT(Distribution):
    """A normal number whose variance was estimated from `df` others."""

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = _tensors(df, loc, scale)
        if validate_args is not False and not bool(((self.df > 0) & (self.scale > 0)).all()):
            raise ValueError("expected positive degrees of freedom and a positive scale")
        self.batch_shape = self.df.shape

    @property
    def mean(self) -> Tensor:
        return _core.where(self.df <= 1, math.nan, self.loc)

    @property
    def variance(self) -> Tensor:
        finite = self.scale**2 * self.df / (self.df - 2)
        return _core.where(self.df > 2, finite, _core.where(self.df > 1, math.inf, _core.full_like(self.df, math.nan)))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            shape = self._extended(sample_shape)
            normal = _core.randn(*shape, dtype=self.df.dtype, device=self.df.device)
            squares = 2 * _standard_gamma(0.5 * self.df.expand(*shape))
            return self.loc + self.scale * normal * (self.df / squares).sqrt()

    def log_prob(self, value: Tensor) -> Tensor:
        y = (value - self.loc) / self.scale
        scaled = (
            self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi) + (0.5 * self.df).lgamma() - (0.5 * (self.df + 1)).lgamma()
        )
        return -0.5 * (self.df + 1) * _core.log1p(y**2 / self.df) - scaled

    def entropy(self) -> Tensor:
        half, next_half = 0.5 * self.df, 0.5 * (self.df + 1)
        beta = half.lgamma() + math.lgamma(0.5) - next_half.lgamma()
        return self.scale.log() + next_half * (next_half.digamma() - half.digamma()) + 0.5 * self.df.log() + beta


class Dirichlet(Distribution):
    """Shares that add up to 1, along the last axis."""

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.ndim < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        if validate_args is not False and not bool((concentration > 0).all()):
            raise ValueError("expected a positive concentration")
        self.concentration = concentration
        self.batch_shape, self.event_shape = concentration.shape[:-1], concentration.shape[-1:]

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total**2 * (total + 1))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            drawn = _standard_gamma(self.concentration.expand(*sample_shape, *self.concentration.shape))
            return drawn / drawn.sum(-1, True)

    def log_prob(self, value: Tensor) -> Tensor:
        a = self.concentration
        return _core.xlogy(a - 1, value).sum(-1) + a.sum(-1).lgamma() - a.lgamma().sum(-1)

    def entropy(self) -> Tensor:
        a, k = self.concentration, self.concentration.shape[-1]
        total = a.sum(-1)
        return a.lgamma().sum(-1) - total.lgamma() - (k - total) * total.digamma() - ((a - 1) * a.digamma()).sum(-1)


class Beta(Distribution):
    """A share between 0 and 1."""

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self._pair = Dirichlet(_core.stack(_tensors(concentration1, concentration0), -1), validate_args)
        self.batch_shape = self._pair.batch_shape

    concentration1 = property(lambda self: self._pair.concentration[..., 0])
    concentration0 = property(lambda self: self._pair.concentration[..., 1])
    mean = property(lambda self: self._pair.mean[..., 0])
    variance = property(lambda self: self._pair.variance[..., 0])

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self._pair.sample(sample_shape)[..., 0]

    def log_prob(self, value: Tensor) -> Tensor:
        return self._pair.log_prob(_core.stack([value, 1 - value], -1))

    def entropy(self) -> Tensor:
        return self._pair.entropy()
