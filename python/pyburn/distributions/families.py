"""Further distributions: Independent, Laplace, Gumbel, Exponential, Poisson, MultivariateNormal, OneHotCategorical."""

from __future__ import annotations

import math
from typing import Any

from .. import _core, linalg
from .._core import Tensor
from ..autograd import no_grad
from ..tensor import broadcast_shapes, finfo
from .basic import Distribution, _tensors

__all__ = ["Exponential", "Gumbel", "Independent", "Laplace", "MultivariateNormal", "OneHotCategorical", "Poisson"]


class Independent(Distribution):
    """Treats the last batch dimensions of a distribution as one event: log probabilities are summed.

    Args:
        base_distribution: The distribution.
        reinterpreted_batch_ndims: The number of batch dimensions that become event dimensions.
        validate_args: Whether arguments are checked.

    Raises:
        ValueError: The distribution has fewer batch dimensions.

    >>> pyburn.distributions.Independent(pyburn.distributions.Normal(pyburn.zeros(3), pyburn.ones(3)), 1).event_shape
    pyburn.Size([3])
    """

    def __init__(self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None) -> None:
        shape = base_distribution.batch_shape
        if reinterpreted_batch_ndims > len(shape):
            raise ValueError(f"expected at most {len(shape)} axes of the batch: got {reinterpreted_batch_ndims}")
        self.base_dist, self.axes = base_distribution, reinterpreted_batch_ndims
        self.batch_shape = shape[: len(shape) - reinterpreted_batch_ndims]
        self.event_shape = shape[len(shape) - reinterpreted_batch_ndims :]

    mean = property(lambda self: self.base_dist.mean)
    variance = property(lambda self: self.base_dist.variance)
    has_rsample = property(lambda self: self.base_dist.has_rsample)  # type: ignore[assignment]

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def _added(self, values: Tensor) -> Tensor:
        return values.sum(tuple(range(-self.axes, 0))) if self.axes else values

    def log_prob(self, value: Tensor) -> Tensor:
        return self._added(self.base_dist.log_prob(value))

    def entropy(self) -> Tensor:
        return self._added(self.base_dist.entropy())


class _LocationScale(Distribution):
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = _tensors(loc, scale)
        self.batch_shape = self.loc.shape

    def _uniform(self, sample_shape: Any) -> Tensor:
        drawn = _core.rand(*self._extended(sample_shape), dtype=self.loc.dtype)
        return drawn.clamp(finfo(self.loc.dtype).tiny, 1 - finfo(self.loc.dtype).eps / 2)


class Laplace(_LocationScale):
    """The Laplace distribution with density exp(-|x - loc| / scale) / (2 scale).

    >>> pyburn.distributions.Laplace(0.0, 1.0).log_prob(pyburn.tensor(0.0))
    tensor(-0.6931)
    """

    mean = property(lambda self: self.loc)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        u = self._uniform(sample_shape) - 0.5
        return self.loc - self.scale * u.sign() * _core.log1p(-2 * u.abs())

    def log_prob(self, value: Tensor) -> Tensor:
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def entropy(self) -> Tensor:
        return 1 + (2 * self.scale).log()


class Gumbel(_LocationScale):
    """The Gumbel distribution.

    >>> pyburn.distributions.Gumbel(0.0, 1.0).mean
    tensor(0.5772)
    """

    mean = property(lambda self: self.loc + self.scale * 0.5772156649015329)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.loc - self.scale * (-self._uniform(sample_shape).log()).log()

    def log_prob(self, value: Tensor) -> Tensor:
        y = (self.loc - value) / self.scale
        return y - y.exp() - self.scale.log()

    def entropy(self) -> Tensor:
        return self.scale.log() + 1.5772156649015329


class Exponential(Distribution):
    """The exponential distribution with density rate exp(-rate x).

    Args:
        rate: The rate.
        validate_args: Whether arguments are checked.

    >>> pyburn.distributions.Exponential(2.0).mean
    tensor(0.5000)
    """

    has_rsample = True

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = _tensors(rate)
        self.batch_shape = self.rate.shape

    mean = property(lambda self: self.rate.reciprocal())

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return -_core.log1p(-_core.rand(*self._extended(sample_shape), dtype=self.rate.dtype)) / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        return self.rate.log() - self.rate * value

    def entropy(self) -> Tensor:
        return 1 - self.rate.log()


class Poisson(Distribution):
    """The Poisson distribution with the given rate.

    Args:
        rate: The rate.
        validate_args: Whether arguments are checked.

    >>> pyburn.distributions.Poisson(pyburn.tensor(3.0)).mean
    tensor(3.)
    """

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = _tensors(rate)
        self.batch_shape = self.rate.shape

    mean = variance = property(lambda self: self.rate)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            return _core.poisson(self.rate.expand(*self._extended(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        return value * self.rate.log() - self.rate - (value + 1).lgamma()


class MultivariateNormal(Distribution):
    """The multivariate normal distribution, given by its covariance, its precision or a Cholesky factor of the covariance.

    Args:
        loc: The mean (*, D).
        covariance_matrix: The covariance (*, D, D).
        precision_matrix: Its inverse.
        scale_tril: Its lower Cholesky factor.
        validate_args: Whether arguments are checked.

    Raises:
        ValueError: Not exactly one of covariance_matrix, precision_matrix and scale_tril is given.

    >>> pyburn.distributions.MultivariateNormal(pyburn.zeros(2), pyburn.eye(2)).log_prob(pyburn.zeros(2))
    tensor(-1.8379)
    """

    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if (covariance_matrix is None) + (precision_matrix is None) + (scale_tril is None) != 2:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        if precision_matrix is not None:
            covariance_matrix = linalg.inv(precision_matrix)
        factor: Any = scale_tril if covariance_matrix is None else linalg.cholesky(covariance_matrix)
        shape = broadcast_shapes(loc.shape, factor.shape[:-1])
        self.loc, self.scale_tril = loc.expand(*shape), factor.expand(*shape, shape[-1])
        self.batch_shape, self.event_shape = self.loc.shape[:-1], self.loc.shape[-1:]

    mean = property(lambda self: self.loc)
    covariance_matrix = property(lambda self: self.scale_tril @ self.scale_tril.mT)
    variance = property(lambda self: self.scale_tril.square().sum(-1))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        noise = _core.randn(*sample_shape, *self.loc.shape, dtype=self.loc.dtype)
        return self.loc + (self.scale_tril @ noise[..., None])[..., 0]

    def _log_determinant(self) -> Tensor:
        return self.scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        difference = value - self.loc
        factor = self.scale_tril.expand(*difference.shape, difference.shape[-1])
        whitened = linalg.solve_triangular(factor, difference[..., None], upper=False)[..., 0]
        return -0.5 * (difference.shape[-1] * math.log(2 * math.pi) + whitened.square().sum(-1)) - self._log_determinant()

    def entropy(self) -> Tensor:
        return 0.5 * self.loc.shape[-1] * (1 + math.log(2 * math.pi)) + self._log_determinant()


class OneHotCategorical(Distribution):
    """The categorical distribution over one-hot vectors.

    Args:
        probs: The probabilities (*, K); normalised to sum 1.
        logits: Unnormalised log-probabilities, instead of probs.
        validate_args: Whether arguments are checked.

    >>> pyburn.distributions.OneHotCategorical(probs=pyburn.ones(4)).sample().sum()
    tensor(1.)
    """

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        from .basic import Categorical

        self._categorical = Categorical(probs, logits)
        self.probs, self.logits = self._categorical.probs, self._categorical.logits
        self.batch_shape, self.event_shape = self._categorical.batch_shape, self.probs.shape[-1:]

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return _core.one_hot(self._categorical.sample(sample_shape), self.probs.shape[-1]).to(self.probs.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Tensor:
        return self._categorical.entropy()
