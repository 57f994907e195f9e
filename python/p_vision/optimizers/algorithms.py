"""Keras's optimizers, as options of those of pyburn.optim."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyburn
from pyburn import Tensor, optim

from .optimizer import Optimizer, Rate
from .steps import LayerwiseSteps, LeaderSteps, OrthogonalSteps, RootMeanSquareSteps


@dataclass(eq=False, repr=False)
class SGD(Optimizer):
    """Stochastic gradient descent, optionally with momentum.

    Args:
        learning_rate: A number or a LearningRateSchedule.
        momentum: The decay of the accumulated steps; 0 for none.
        nesterov: Whether to use Nesterov momentum.
        **options: The arguments of every optimizer: weight_decay, clipnorm, clipvalue, global_clipnorm, use_ema and others; see Optimizer.

    >>> weight = p_vision.Variable([1.0, 2.0])
    >>> p_vision.SGD(0.5).apply([pyburn.tensor([1.0, 1.0])], [weight])
    >>> weight.tolist()
    [0.5, 1.5]
    """

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

    renamed = {"betas": ("beta_1", "beta_2"), "eps": "epsilon"}
    learning_rate: Any = Rate()
    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-7


@dataclass(eq=False, repr=False)
class Adam(_Moments):
    """Adam: steps scaled by moving averages of the gradient and its square (Kingma and Ba 2014).

    Args:
        learning_rate: A number or a LearningRateSchedule.
        beta_1: The decay of the moving average of the gradients.
        beta_2: The decay of the moving average of their squares.
        epsilon: A small number that avoids division by zero.
        amsgrad: Whether to use the maximum of the average of squares.
        **options: The arguments of every optimizer: weight_decay, clipnorm, clipvalue, global_clipnorm, use_ema and others; see Optimizer.

    >>> weight = p_vision.Variable([1.0, 2.0])
    >>> optimizer = p_vision.optimizers.Adam()
    >>> optimizer.apply([pyburn.tensor([1.0, 1.0])], [weight])
    >>> bool((weight < pyburn.tensor([1.0, 2.0])).all())
    True
    """

    kind = optim.Adam
    renamed = {**_Moments.renamed, "amsgrad": "amsgrad"}
    amsgrad: bool = False

    def _before_step(self, rate: float) -> None:
        if self._inner is not None:
            epsilon = self.epsilon / math.sqrt(1 - self.beta_2 ** (self._steps() + 1))  # Keras adds it before the bias correction
            for group in self._inner.param_groups:
                group["eps"] = epsilon


@dataclass(eq=False, repr=False)
class AdamW(Adam):
    """Adam with decoupled weight decay, which is applied before the step, as in all optimizers here (Loshchilov and Hutter 2019).

    Args:
        learning_rate: A number or a LearningRateSchedule.
        beta_1: The decay of the moving average of the gradients.
        beta_2: The decay of the moving average of their squares.
        epsilon: A small number that avoids division by zero.
        amsgrad: Whether to use the maximum of the average of squares.
        **options: The arguments of every optimizer: weight_decay, clipnorm, clipvalue, global_clipnorm, use_ema and others; see Optimizer.

    >>> weight = p_vision.Variable([1.0, 2.0])
    >>> optimizer = p_vision.optimizers.AdamW()
    >>> optimizer.apply([pyburn.tensor([1.0, 1.0])], [weight])
    >>> bool((weight < pyburn.tensor([1.0, 2.0])).all())
    True
    """

    weight_decay: float | None = 0.004


@dataclass(eq=False, repr=False)
class Adamax(_Moments):
    """Adamax: Adam with the infinity norm of the gradients.

    Args:
        learning_rate: A number or a LearningRateSchedule.
        beta_1: The decay of the moving average of the gradients.
        beta_2: The decay of the moving average of their squares.
        epsilon: A small number that avoids division by zero.
        **options: The arguments of every optimizer: weight_decay, clipnorm, clipvalue, global_clipnorm, use_ema and others; see Optimizer.

    >>> weight = p_vision.Variable([1.0, 2.0])
    >>> optimizer = p_vision.optimizers.Adamax()
    >>> optimizer.apply([pyburn.tensor([1.0, 1.0])], [weight])
    >>> bool((weight < pyburn.tensor([1.0, 2.0])).all())
    True
    """

    kind = optim.Adamax


@dataclass(eq=False, repr=False)
class Nadam(_Moments):
    """Nadam: Adam with Nesterov momentum. Keras's momentum schedule grows faster than PyTorch's.

    Args:
        learning_rate: A number or a LearningRateSchedule.
        beta_1: The decay of the moving average of the gradients.
        beta_2: The decay of the moving average of their squares.
        epsilon: A small number that avoids division by zero.
        **options: The arguments of every optimizer: weight_decay, clipnorm, clipvalue, global_clipnorm, use_ema and others; see Optimizer.

    >>> weight = p_vision.Variable([1.0, 2.0])
    >>> optimizer = p_vision.optimizers.Nadam()
    >>> optimizer.apply([pyburn.tensor([1.0, 1.0])], [weight])
    >>> bool((weight < pyburn.tensor([1.0, 2.0])).all())
    True
    """

    kind = partial(optim.NAdam, momentum_decay=1.0)


@dataclass(eq=False, repr=False)
class Lamb(_Moments):
    """LAMB: Adam with layer-wise scaling of the step by the norm of the weight, for large batches (You et al. 2019).

    Args:
        learning_rate: A number or a LearningRateSchedule.
        beta_1: The decay of the moving average of the gradients.
        beta_2: The decay of the moving average of their squares.
        epsilon: A small number that avoids division by zero.
        **options: The arguments of every optimizer: weight_decay, clipnorm, clipvalue, global_clipnorm, use_ema and others; see Optimizer.

    >>> weight = p_vision.Variable([1.0, 2.0])
    >>> optimizer = p_vision.optimizers.Lamb()
    >>> optimizer.apply([pyburn.tensor([1.0, 1.0])], [weight])
    >>> bool((weight < pyburn.tensor([1.0, 2.0])).all())
    True
    """

    kind = LayerwiseSteps
    renamed = {"beta_1": "beta_1", "beta_2": "beta_2", "epsilon": "epsilon"}


@dataclass(eq=False, repr=False)
class RMSprop(Optimizer):
    """RMSprop: steps scaled by a moving average of the squared gradient.

    Args:
        learning_rate: A number or a LearningRateSchedule.
        rho: The decay of the moving average.
        momentum: The decay of the accumulated steps; 0 for none.
        epsilon: A small number that avoids division by zero.
        centered: Whether to use the variance of the gradient instead of the mean square.
        **options: The arguments of every optimizer: weight_decay, clipnorm, clipvalue, global_clipnorm, use_ema and others; see Optimizer.

    >>> weight = p_vision.Variable([1.0, 2.0])
    >>> optimizer = p_vision.optimizers.RMSprop()
    >>> optimizer.apply([pyburn.tensor([1.0, 1.0])], [weight])
    >>> bool((weight < pyburn.tensor([1.0, 2.0])).all())
    True
    """

    kind = RootMeanSquareSteps
    renamed = {"rho": "rho", "momentum": "momentum", "epsilon": "epsilon", "centered": "centered"}
    learning_rate: Any = Rate()
    rho: float = 0.9
    momentum: float = 0.0
    epsilon: float = 1e-7
    centered: bool = False


@dataclass(eq=False, repr=False)
class Adagrad(Optimizer):
    """Adagrad: steps scaled by the sum of all squared gradients (Duchi et al. 2011).

    Args:
        learning_rate: A number or a LearningRateSchedule.
        initial_accumulator_value: The initial sum.
        epsilon: A small number that avoids division by zero.
        **options: The arguments of every optimizer: weight_decay, clipnorm, clipvalue, global_clipnorm, use_ema and others; see Optimizer.

    >>> weight = p_vision.Variable([1.0, 2.0])
    >>> optimizer = p_vision.optimizers.Adagrad()
    >>> optimizer.apply([pyburn.tensor([1.0, 1.0])], [weight])
    >>> bool((weight < pyburn.tensor([1.0, 2.0])).all())
    True
    """

    kind = optim.Adagrad
    renamed = {"initial_accumulator_value": "initial_accumulator_value", "eps": "epsilon"}
    learning_rate: Any = Rate()
    initial_accumulator_value: float = 0.1
    epsilon: float = 1e-7


@dataclass(eq=False, repr=False)
class Adadelta(Optimizer):
    """Adadelta: steps scaled by moving averages of squared gradients and squared steps (Zeiler 2012).

    Args:
        learning_rate: A number or a LearningRateSchedule.
        rho: The decay of the moving averages.
        epsilon: A small number that avoids division by zero.
        **options: The arguments of every optimizer: weight_decay, clipnorm, clipvalue, global_clipnorm, use_ema and others; see Optimizer.

    >>> weight = p_vision.Variable([1.0, 2.0])
    >>> optimizer = p_vision.optimizers.Adadelta()
    >>> optimizer.apply([pyburn.tensor([1.0, 1.0])], [weight])
    >>> bool((weight < pyburn.tensor([1.0, 2.0])).all())
    True
    """

    kind = optim.Adadelta
    renamed = {"rho": "rho", "eps": "epsilon"}
    learning_rate: Any = Rate()
    rho: float = 0.95
    epsilon: float = 1e-7


@dataclass(eq=False, repr=False)
class Lion(Optimizer):
    """Lion: steps by the sign of a moving average of the gradient (Chen et al. 2023).

    Args:
        learning_rate: A number or a LearningRateSchedule.
        beta_1: The share of the average in the step.
        beta_2: The decay of the moving average.
        **options: The arguments of every optimizer: weight_decay, clipnorm, clipvalue, global_clipnorm, use_ema and others; see Optimizer.

    >>> weight = p_vision.Variable([1.0, 2.0])
    >>> optimizer = p_vision.optimizers.Lion()
    >>> optimizer.apply([pyburn.tensor([1.0, 1.0])], [weight])
    >>> bool((weight < pyburn.tensor([1.0, 2.0])).all())
    True
    """

    kind = partial(optim.Lion, weight_decay=0.0)
    renamed = {"betas": ("beta_1", "beta_2")}
    learning_rate: Any = Rate()
    beta_1: float = 0.9
    beta_2: float = 0.99


@dataclass(eq=False, repr=False)
class Adafactor(Optimizer):
    """Adafactor: Adam with factored second moments, which needs less memory (Shazeer and Stern 2018).

    Args:
        learning_rate: A number or a LearningRateSchedule.
        beta_2_decay: The exponent of the decay of the second moments.
        epsilon_1: A small number that is added to the squared gradients.
        epsilon_2: The least scale of the step.
        clip_threshold: The limit of the root mean square of the step.
        relative_step: Accepted for compatibility; has no effect.
        **options: The arguments of every optimizer: weight_decay, clipnorm, clipvalue, global_clipnorm, use_ema and others; see Optimizer.

    >>> weight = p_vision.Variable([1.0, 2.0])
    >>> optimizer = p_vision.optimizers.Adafactor()
    >>> optimizer.apply([pyburn.tensor([1.0, 1.0])], [weight])
    >>> bool((weight < pyburn.tensor([1.0, 2.0])).all())
    True
    """

    kind = optim.Adafactor
    renamed = {"beta2_decay": "beta_2_decay", "eps": ("epsilon_1", "epsilon_2"), "d": "clip_threshold"}
    learning_rate: Any = Rate()
    beta_2_decay: float = -0.8
    epsilon_1: float = 1e-30
    epsilon_2: float = 1e-3
    clip_threshold: float = 1.0
    relative_step: bool = True


@dataclass(eq=False, repr=False)
class Ftrl(Optimizer):
    """FTRL (follow the regularized leader); an L1 strength makes the weights of rare features zero (McMahan et al. 2013).

    Args:
        learning_rate: A number or a LearningRateSchedule.
        learning_rate_power: The exponent of the sums of squares, at most 0.
        initial_accumulator_value: The initial sum of squares.
        l1_regularization_strength: The strength of the L1 penalty.
        l2_regularization_strength: The strength of the L2 penalty.
        l2_shrinkage_regularization_strength: The strength of the L2 penalty on the magnitude.
        beta: A number that is added to the roots of the sums.
        **options: The arguments of every optimizer: weight_decay, clipnorm, clipvalue, global_clipnorm, use_ema and others; see Optimizer.

    >>> weight = p_vision.Variable([1.0, 2.0])
    >>> optimizer = p_vision.optimizers.Ftrl()
    >>> optimizer.apply([pyburn.tensor([1.0, 1.0])], [weight])
    >>> bool((weight < pyburn.tensor([1.0, 2.0])).all())
    True
    """

    kind = LeaderSteps
    renamed = {
        "l1": "l1_regularization_strength",
        "l2": "l2_regularization_strength",
        "shrinkage": "l2_shrinkage_regularization_strength",
        "power": "learning_rate_power",
        "start": "initial_accumulator_value",
        "beta": "beta",
    }
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
        if min(getattr(self, ours) for theirs, ours in self.renamed.items() if theirs in ("l1", "l2", "shrinkage", "start")) < 0:
            raise ValueError("[Ftrl] strengths and initial_accumulator_value must be at least 0")


@dataclass(eq=False, repr=False)
class Muon(Optimizer):
    """Muon: orthogonalized momentum for matrices; other weights, and by default embeddings, are trained by Adam (Jordan et al. 2024).

    Args:
        learning_rate: A number or a LearningRateSchedule.
        adam_beta_1: beta_1 of Adam.
        adam_beta_2: beta_2 of Adam.
        adam_weight_decay: The weight decay of the weights that Adam trains.
        epsilon: A small number that avoids division by zero.
        weight_decay: The weight decay of the matrices.
        exclude_embeddings: Whether Adam trains embeddings.
        muon_a: A coefficient of the polynomial; muon_b and muon_c are the others.
        adam_lr_ratio: The learning rate of Adam as a multiple of learning_rate.
        momentum: The decay of the momentum.
        ns_steps: The number of polynomial iterations.
        nesterov: Whether to use Nesterov momentum.
        rms_rate: The root mean square of the steps; None for steps that are not scaled.
        **options: The arguments of every optimizer: weight_decay, clipnorm, clipvalue, global_clipnorm, use_ema and others; see Optimizer.

    >>> weight = p_vision.Variable([1.0, 2.0])
    >>> optimizer = p_vision.optimizers.Muon()
    >>> optimizer.apply([pyburn.tensor([1.0, 1.0])], [weight])
    >>> bool((weight < pyburn.tensor([1.0, 2.0])).all())
    True
    """

    kind = OrthogonalSteps
    renamed = {
        "betas": ("adam_beta_1", "adam_beta_2"),
        "epsilon": "epsilon",
        "polynomial": ("muon_a", "muon_b", "muon_c"),
        "adam_ratio": "adam_lr_ratio",
        "momentum": "momentum",
        "iterations": "ns_steps",
        "nesterov": "nesterov",
        "rms_rate": "rms_rate",
        "without_embeddings": "exclude_embeddings",
    }
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

    def decay_of(self, parameter: Tensor) -> float | None:
        turned = OrthogonalSteps.turns(parameter, self.exclude_embeddings)
        return self.weight_decay if turned else self.adam_weight_decay
