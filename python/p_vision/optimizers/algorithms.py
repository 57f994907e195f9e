"""Keras's optimizers, as options of those of pyburn.optim."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pyburn
from pyburn import Tensor, optim

from .optimizer import Optimizer, Rate
from .steps import LayerwiseSteps, LeaderSteps, OrthogonalSteps, RootMeanSquareSteps


@dataclass(eq=False, repr=False)
class SGD(Optimizer):
    """Stochastic gradient descent, optionally with momentum."""

    learning_rate: Any = Rate(0.01)
    momentum: float = 0.0
    nesterov: bool = False

    def make(self, parameters: list[Tensor]) -> optim.Optimizer:
        return optim.SGD(parameters, lr=1.0, momentum=self.momentum, nesterov=self.nesterov and self.momentum > 0)

    def _before_step(self, rate: float) -> None:
        # Keras accumulates steps, PyTorch gradients: when the learning rate changes, past steps keep the old one.
        before = self._last_rate
        if self.momentum and before and rate and before != rate and self._inner is not None:
            with pyburn.no_grad():
                for kept in self._inner.state.values():
                    if kept.get("momentum_buffer") is not None:
                        kept["momentum_buffer"].mul_(before / rate)


@dataclass(eq=False, repr=False)
class _Moments(Optimizer):
    """Base class of Adam variants."""

    kind: ClassVar[Callable[..., optim.Optimizer]]
    learning_rate: Any = Rate()
    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-7

    def make(self, parameters: list[Tensor]) -> optim.Optimizer:
        return type(self).kind(parameters, lr=1.0, betas=(self.beta_1, self.beta_2), eps=self.epsilon)


@dataclass(eq=False, repr=False)
class Adam(_Moments):
    """Adam: steps scaled by moving averages of the gradient and its square; `amsgrad` uses the maximum of the latter."""

    amsgrad: bool = False

    def make(self, parameters: list[Tensor]) -> optim.Optimizer:
        return optim.Adam(parameters, lr=1.0, betas=(self.beta_1, self.beta_2), eps=self.epsilon, amsgrad=self.amsgrad)

    def _before_step(self, rate: float) -> None:
        if self._inner is not None:
            epsilon = self.epsilon / math.sqrt(1 - self.beta_2 ** (self._steps() + 1))  # Keras adds it before the bias correction
            for group in self._inner.param_groups:
                group["eps"] = epsilon


@dataclass(eq=False, repr=False)
class AdamW(Adam):
    """Adam with decoupled weight decay, which is applied before the step, as in all optimizers here."""

    weight_decay: float | None = 0.004


@dataclass(eq=False, repr=False)
class Adamax(_Moments):
    """Adamax: Adam with the infinity norm of the gradients."""

    kind = optim.Adamax


@dataclass(eq=False, repr=False)
class Nadam(_Moments):
    """Nadam: Adam with Nesterov momentum. Keras's momentum schedule grows faster than PyTorch's."""

    def make(self, parameters: list[Tensor]) -> optim.Optimizer:
        return optim.NAdam(parameters, lr=1.0, betas=(self.beta_1, self.beta_2), eps=self.epsilon, momentum_decay=1.0)


@dataclass(eq=False, repr=False)
class Lamb(_Moments):
    """LAMB: Adam with layer-wise scaling of the step by the norm of the weight, for large batches."""

    def make(self, parameters: list[Tensor]) -> optim.Optimizer:
        return LayerwiseSteps(parameters, beta_1=self.beta_1, beta_2=self.beta_2, epsilon=self.epsilon)


@dataclass(eq=False, repr=False)
class RMSprop(Optimizer):
    """RMSprop: steps scaled by a moving average of the squared gradient."""

    learning_rate: Any = Rate()
    rho: float = 0.9
    momentum: float = 0.0
    epsilon: float = 1e-7
    centered: bool = False

    def make(self, parameters: list[Tensor]) -> optim.Optimizer:
        return RootMeanSquareSteps(parameters, rho=self.rho, momentum=self.momentum, epsilon=self.epsilon, centered=self.centered)


@dataclass(eq=False, repr=False)
class Adagrad(Optimizer):
    """Adagrad: steps scaled by the sum of all squared gradients."""

    learning_rate: Any = Rate()
    initial_accumulator_value: float = 0.1
    epsilon: float = 1e-7

    def make(self, parameters: list[Tensor]) -> optim.Optimizer:
        return optim.Adagrad(parameters, lr=1.0, initial_accumulator_value=self.initial_accumulator_value, eps=self.epsilon)


@dataclass(eq=False, repr=False)
class Adadelta(Optimizer):
    """Adadelta: steps scaled by moving averages of squared gradients and squared steps."""

    learning_rate: Any = Rate()
    rho: float = 0.95
    epsilon: float = 1e-7

    def make(self, parameters: list[Tensor]) -> optim.Optimizer:
        return optim.Adadelta(parameters, lr=1.0, rho=self.rho, eps=self.epsilon)


@dataclass(eq=False, repr=False)
class Lion(Optimizer):
    """Lion: steps by the sign of a moving average of the gradient."""

    learning_rate: Any = Rate()
    beta_1: float = 0.9
    beta_2: float = 0.99

    def make(self, parameters: list[Tensor]) -> optim.Optimizer:
        return optim.Lion(parameters, lr=1.0, betas=(self.beta_1, self.beta_2), weight_decay=0.0)


@dataclass(eq=False, repr=False)
class Adafactor(Optimizer):
    """Adafactor: Adam with factored second moments, which needs less memory."""

    learning_rate: Any = Rate()
    beta_2_decay: float = -0.8
    epsilon_1: float = 1e-30
    epsilon_2: float = 1e-3
    clip_threshold: float = 1.0
    relative_step: bool = True

    def make(self, parameters: list[Tensor]) -> optim.Optimizer:
        eps = (self.epsilon_1, self.epsilon_2)
        return optim.Adafactor(parameters, lr=1.0, beta2_decay=self.beta_2_decay, eps=eps, d=self.clip_threshold)


@dataclass(eq=False, repr=False)
class Ftrl(Optimizer):
    """FTRL (follow the regularized leader); an L1 strength makes the weights of rare features zero."""

    learning_rate: Any = Rate()
    learning_rate_power: float = -0.5
    initial_accumulator_value: float = 0.1
    l1_regularization_strength: float = 0.0
    l2_regularization_strength: float = 0.0
    l2_shrinkage_regularization_strength: float = 0.0
    beta: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.learning_rate_power > 0:
            raise ValueError(f"[Ftrl] learning_rate_power must be at most 0: got {self.learning_rate_power}")
        l1, l2, shrinkage = self._strengths()
        if min(l1, l2, shrinkage, self.initial_accumulator_value) < 0:
            raise ValueError("[Ftrl] strengths and initial_accumulator_value must be at least 0")

    def _strengths(self) -> tuple[float, float, float]:
        return self.l1_regularization_strength, self.l2_regularization_strength, self.l2_shrinkage_regularization_strength

    def make(self, parameters: list[Tensor]) -> optim.Optimizer:
        l1, l2, shrinkage = self._strengths()
        options = {"power": self.learning_rate_power, "start": self.initial_accumulator_value, "beta": self.beta}
        return LeaderSteps(parameters, l1=l1, l2=l2, shrinkage=shrinkage, **options)


@dataclass(eq=False, repr=False)
class Muon(Optimizer):
    """Muon: orthogonalized momentum for matrices; other weights, and by default embeddings, are trained by Adam."""

    learning_rate: Any = Rate()
    adam_beta_1: float = 0.9
    adam_beta_2: float = 0.999
    adam_weight_decay: float = 0.004
    epsilon: float = 1e-7
    weight_decay: float | None = field(default=0.004, kw_only=True)
    exclude_embeddings: bool = True
    muon_a: float = 3.4445
    muon_b: float = -4.7750
    muon_c: float = 2.0315
    adam_lr_ratio: float = 1.0
    momentum: float = 0.95
    ns_steps: int = 5
    nesterov: bool = True
    rms_rate: float | None = 0.2

    def make(self, parameters: list[Tensor]) -> optim.Optimizer:
        return OrthogonalSteps(
            parameters,
            betas=(self.adam_beta_1, self.adam_beta_2),
            epsilon=self.epsilon,
            polynomial=(self.muon_a, self.muon_b, self.muon_c),
            adam_ratio=self.adam_lr_ratio,
            momentum=self.momentum,
            iterations=self.ns_steps,
            nesterov=self.nesterov,
            rms_rate=self.rms_rate,
            embeddings=not self.exclude_embeddings,
        )

    def decay_of(self, parameter: Tensor) -> float | None:
        turned = OrthogonalSteps.turns(parameter, embeddings=not self.exclude_embeddings)
        return self.weight_decay if turned else self.adam_weight_decay
