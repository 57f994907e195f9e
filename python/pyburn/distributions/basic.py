"""The base class, the most used distributions, and kl_divergence."""

from __future__ import annotations

import math
from typing import Any

from .. import _core
from .._core import Tensor
from ..autograd import no_grad
from ..tensor import as_tensor, broadcast_shapes

__all__ = ["Bernoulli", "Categorical", "Distribution", "Normal", "Uniform", "kl_divergence"]


class Distribution:
    """Base class of distributions. `batch_shape` is the shape of a single sample.

    >>> isinstance(pyburn.distributions.Normal(0.0, 1.0), pyburn.distributions.Distribution)
    True
    """

    has_rsample = False
    batch_shape: Any = _core.Size(())

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draws samples without gradients.

        Args:
            sample_shape: The shape of the sample; each element is a draw.

        Returns:
            A tensor (*sample_shape, *batch_shape, *event_shape).
        """
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Draws samples that are differentiable with respect to the parameters (reparameterization trick).

        Args:
            sample_shape: The shape of the sample; each element is a draw.

        Returns:
            A tensor (*sample_shape, *batch_shape, *event_shape).

        Raises:
            NotImplementedError: The distribution has no reparameterization.
        """
        raise NotImplementedError(f"{type(self).__name__} has no rsample")

    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the log density or log probability of a value.

        Args:
            value: The value.
        """
        raise NotImplementedError

    def entropy(self) -> Tensor:
        raise NotImplementedError

    def _extended(self, sample_shape: Any) -> list[int]:
        return [*sample_shape, *self.batch_shape]


def _tensors(*values: Any) -> list[Tensor]:
    return list(_core.broadcast_tensors(*(value if isinstance(value, Tensor) else as_tensor(float(value)) for value in values)))


class Normal(Distribution):
    """The normal distribution with mean `loc` and standard deviation `scale`.

    Args:
        loc: The mean.
        scale: The standard deviation.
        validate_args: Whether arguments are checked.

    Raises:
        ValueError: scale is not positive.

    >>> pyburn.distributions.Normal(0.0, 1.0).log_prob(pyburn.tensor(0.0))
    tensor(-0.9189)
    """

    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = _tensors(loc, scale)
        if validate_args is not False and not bool((self.scale > 0).all()):
            raise ValueError("expected a positive scale")
        self.batch_shape = self.loc.shape

    mean = property(lambda self: self.loc)
    stddev = property(lambda self: self.scale)
    variance = property(lambda self: self.scale.square())

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        noise = _core.randn(self._extended(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + noise * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        return -((value - self.loc) ** 2) / (2 * self.scale**2) - self.scale.log() - 0.5 * math.log(2 * math.pi)

    def entropy(self) -> Tensor:
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()

    def cdf(self, value: Tensor) -> Tensor:
        return 0.5 * (1 + _core.erf((value - self.loc) / (self.scale * math.sqrt(2))))


class Uniform(Distribution):
    """The uniform distribution on [low, high).

    Args:
        low: The lower bound (inclusive).
        high: The upper bound (exclusive).
        validate_args: Whether arguments are checked.

    Raises:
        ValueError: low is not below high.

    >>> pyburn.distributions.Uniform(0.0, 2.0).mean
    tensor(1.)
    """

    has_rsample = True

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = _tensors(low, high)
        if validate_args is not False and not bool((self.low < self.high).all()):
            raise ValueError("Uniform is not defined when low >= high")
        self.batch_shape = self.low.shape

    mean = property(lambda self: (self.low + self.high) / 2)
    variance = property(lambda self: (self.high - self.low) ** 2 / 12)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.low + _core.rand(self._extended(sample_shape), dtype=self.low.dtype, device=self.low.device) * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        inside = ((value >= self.low) & (value < self.high)).to(self.low.dtype)
        return inside.log() - (self.high - self.low).log()

    def entropy(self) -> Tensor:
        return (self.high - self.low).log()


class Bernoulli(Distribution):
    """The Bernoulli distribution: 1 with probability `probs` (or `logits`), else 0.

    Args:
        probs: The probability of 1.
        logits: The log-odds of 1, instead of probs.
        validate_args: Whether arguments are checked.

    Raises:
        ValueError: Both or none of probs and logits are given.

    >>> pyburn.distributions.Bernoulli(probs=pyburn.tensor(0.5)).entropy()
    tensor(0.6931)
    """

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        self.logits = _tensors(logits)[0] if probs is None else _core.logit(_tensors(probs)[0], 1e-7)
        self.probs = _core.sigmoid(self.logits) if probs is None else _tensors(probs)[0]
        self.batch_shape = self.probs.shape

    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            return _core.bernoulli(self.probs.expand(*self._extended(sample_shape)) if sample_shape or self.batch_shape else self.probs)

    def log_prob(self, value: Tensor) -> Tensor:
        return -_core.binary_cross_entropy_with_logits(self.logits.expand(value.shape), value, reduction="none")

    def entropy(self) -> Tensor:
        return _core.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")


class Categorical(Distribution):
    """The categorical distribution over the last dimension of `probs` or `logits`.

    Args:
        probs: The probabilities (*, K); normalised to sum 1.
        logits: Unnormalised log-probabilities, instead of probs.
        validate_args: Whether arguments are checked.

    Raises:
        ValueError: Both or none of probs and logits are given.

    >>> pyburn.distributions.Categorical(probs=pyburn.tensor([0.5, 0.25, 0.25])).log_prob(pyburn.tensor(1))
    tensor(-1.3863)
    """

    def __init__(self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        if probs is not None:
            self.probs = probs / probs.sum(-1, keepdim=True)
            self.logits = self.probs.clamp(1.2e-7, 1 - 1.2e-7).log()
        else:
            assert logits is not None
            self.logits = logits - logits.logsumexp(-1, keepdim=True)
            self.probs = self.logits.exp()
        self.batch_shape = self.probs.shape[:-1]

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            count = math.prod(sample_shape)
            drawn = _core.multinomial(self.probs.reshape(-1, self.probs.shape[-1]), count, True).T
            return drawn.reshape(self._extended(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        value, logits = value.long().unsqueeze(-1), self.logits
        shape = _core.Size(broadcast_shapes(value.shape[:-1], logits.shape[:-1]))
        return logits.expand(*shape, -1).gather(-1, value.expand(*shape, -1)).squeeze(-1)

    def entropy(self) -> Tensor:
        return -(self.logits * self.probs).sum(-1)


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """Returns the Kullback-Leibler divergence of two distributions of the same class.

    Args:
        p: The first distribution.
        q: The second distribution.

    >>> pyburn.distributions.kl_divergence(pyburn.distributions.Normal(0.0, 1.0), pyburn.distributions.Normal(1.0, 1.0))
    tensor(0.5000)
    """
    if isinstance(p, Normal) and isinstance(q, Normal):
        ratio = (p.scale / q.scale) ** 2
        return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - ratio.log())
    if isinstance(p, Categorical) and isinstance(q, Categorical):
        return (p.probs * (p.logits - q.logits)).sum(-1)
    if isinstance(p, Bernoulli) and isinstance(q, Bernoulli):
        cross = _core.binary_cross_entropy_with_logits(q.logits, p.probs, reduction="none")
        return cross - p.entropy()
    raise NotImplementedError(f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}")
