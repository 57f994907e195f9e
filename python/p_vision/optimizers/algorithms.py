"""Keras's optimizers, as options of those of pyburn.optim."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyburn
from pyburn import Tensor, optim

from .optimizer import Optimizer
from .rate import Rate
from .steps import LayerwiseSteps, RootMeanSquareSteps


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
