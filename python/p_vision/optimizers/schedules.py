"""Learning-rate schedules: functions of the step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..configured import Configured


class LearningRateSchedule(Configured):
    """Base class of schedules: called with the step, returns the learning rate.

    >>> class Halving(p_vision.LearningRateSchedule):
    ...     def __call__(self, step):
    ...         return 0.1 * 0.5 ** step
    >>> Halving()(2)
    0.025
    """

    def __call__(self, step: int) -> float:
        raise NotImplementedError


@dataclass(eq=False, repr=False)
class ExponentialDecay(LearningRateSchedule):
    """Exponential decay: initial_learning_rate * decay_rate ** (step / decay_steps).

    Args:
        initial_learning_rate: The first learning rate.
        decay_steps: The number of steps of the decay.
        decay_rate: The factor per decay_steps.
        staircase: Whether the rate changes only every decay_steps.
        name: The name of the schedule.

    >>> p_vision.optimizers.schedules.ExponentialDecay(0.1, decay_steps=10, decay_rate=0.5)(20)
    0.025
    """

    initial_learning_rate: float
    decay_steps: int
    decay_rate: float
    staircase: bool = False
    name: str = "ExponentialDecay"

    def __call__(self, step: int) -> float:
        times = step / self.decay_steps
        return self.initial_learning_rate * self.decay_rate ** (math.floor(times) if self.staircase else times)


@dataclass(eq=False, repr=False)
class PiecewiseConstantDecay(LearningRateSchedule):
    """Piecewise constant: values[i] up to and including the step boundaries[i], then the last value.

    Args:
        boundaries: The last step of each value but the last one.
        values: The learning rates.
        name: The name of the schedule.

    Raises:
        ValueError: There is not one value more than boundaries.

    >>> p_vision.optimizers.schedules.PiecewiseConstantDecay([10, 20], [1.0, 0.1, 0.01])(15)
    0.1
    """

    boundaries: Sequence[int]
    values: Sequence[float]
    name: str = "PiecewiseConstantDecay"

    def __post_init__(self) -> None:
        if len(self.boundaries) + 1 != len(self.values):
            raise ValueError(f"expected one value more than boundaries: got {len(self.values)} and {len(self.boundaries)}")
        self.boundaries, self.values = list(self.boundaries), list(self.values)

    def __call__(self, step: int) -> float:
        return self.values[sum(step > boundary for boundary in self.boundaries)]


@dataclass(eq=False, repr=False)
class PolynomialDecay(LearningRateSchedule):
    """Polynomial decay from initial_learning_rate to end_learning_rate in decay_steps.

    Args:
        initial_learning_rate: The first learning rate.
        decay_steps: The number of steps of the decay.
        end_learning_rate: The last learning rate.
        power: The exponent; 1 is linear.
        cycle: Whether decay_steps are repeated, each time from a higher start.
        name: The name of the schedule.

    >>> p_vision.optimizers.schedules.PolynomialDecay(1.0, 10, end_learning_rate=0.0)(5)
    0.5
    """

    initial_learning_rate: float
    decay_steps: int
    end_learning_rate: float = 0.0001
    power: float = 1.0
    cycle: bool = False
    name: str = "PolynomialDecay"

    def __call__(self, step: int) -> float:
        steps = self.decay_steps * max(1, math.ceil(step / self.decay_steps)) if self.cycle else self.decay_steps
        rest = 1 - min(step, steps) / steps
        return (self.initial_learning_rate - self.end_learning_rate) * rest**self.power + self.end_learning_rate


@dataclass(eq=False, repr=False)
class CosineDecay(LearningRateSchedule):
    """Cosine decay to a fraction of the first rate, with an optional linear warm-up.

    Args:
        initial_learning_rate: The first learning rate.
        decay_steps: The number of steps of the decay.
        alpha: The last rate as a fraction of the first one.
        warmup_target: The rate at the end of the warm-up; None for no warm-up.
        warmup_steps: The number of steps of the warm-up.
        name: The name of the schedule.

    >>> p_vision.optimizers.schedules.CosineDecay(1.0, 10)(5)
    0.5
    """

    initial_learning_rate: float
    decay_steps: int
    alpha: float = 0.0
    warmup_target: float | None = None
    warmup_steps: int = 0
    name: str = "CosineDecay"

    def __call__(self, step: int) -> float:
        top = self.initial_learning_rate
        if self.warmup_target is not None:
            if step < self.warmup_steps:
                return top + (self.warmup_target - top) * step / self.warmup_steps
            top, step = self.warmup_target, step - self.warmup_steps
        wave = 0.5 * (1 + math.cos(math.pi * min(step, self.decay_steps) / self.decay_steps))
        return top * ((1 - self.alpha) * wave + self.alpha)


@dataclass(eq=False, repr=False)
class InverseTimeDecay(LearningRateSchedule):
    """Inverse time decay: initial_learning_rate / (1 + decay_rate * step / decay_steps).

    Args:
        initial_learning_rate: The first learning rate.
        decay_steps: The number of steps of the decay.
        decay_rate: The strength of the decay.
        staircase: Whether the rate changes only every decay_steps.
        name: The name of the schedule.

    >>> p_vision.optimizers.schedules.InverseTimeDecay(1.0, 10, 1.0)(10)
    0.5
    """

    initial_learning_rate: float
    decay_steps: int
    decay_rate: float
    staircase: bool = False
    name: str = "InverseTimeDecay"

    def __call__(self, step: int) -> float:
        times = step / self.decay_steps
        return self.initial_learning_rate / (1 + self.decay_rate * (math.floor(times) if self.staircase else times))


@dataclass(eq=False, repr=False)
class CosineDecayRestarts(LearningRateSchedule):
    """Cosine decay with warm restarts (Loshchilov and Hutter 2017).

    Args:
        initial_learning_rate: The first learning rate.
        first_decay_steps: The number of steps of the first period.
        t_mul: Each period is this many times as long as the one before.
        m_mul: Each period starts this many times as high as the one before.
        alpha: The lowest rate as a fraction of the first one.
        name: The name of the schedule.

    >>> p_vision.optimizers.schedules.CosineDecayRestarts(1.0, 10)(10)
    1.0
    """

    initial_learning_rate: float
    first_decay_steps: int
    t_mul: float = 2.0
    m_mul: float = 1.0
    alpha: float = 0.0
    name: str = "CosineDecayRestarts"

    def __call__(self, step: int) -> float:
        done = step / self.first_decay_steps
        if self.t_mul == 1.0:
            restarts, part = math.floor(done), done % 1
        else:
            restarts = math.floor(math.log(1 - done * (1 - self.t_mul)) / math.log(self.t_mul) + 1e-12)
            begun = (1 - self.t_mul**restarts) / (1 - self.t_mul)
            part = (done - begun) / self.t_mul**restarts
        wave = 0.5 * self.m_mul**restarts * (1 + math.cos(math.pi * part))
        return self.initial_learning_rate * ((1 - self.alpha) * wave + self.alpha)
