"""Learning-rate schedules: functions of the step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..configured import Configured


class LearningRateSchedule(Configured):
    """Base class of schedules: called with the step, returns the learning rate."""

    def __call__(self, step: int) -> float:
        raise NotImplementedError


@dataclass(eq=False, repr=False)
class ExponentialDecay(LearningRateSchedule):
    """Exponential decay: initial_learning_rate * decay_rate ** (step / decay_steps)."""

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
    """Piecewise constant: values[i] up to and including the step boundaries[i], then the last value."""

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
    """Polynomial decay from initial_learning_rate to end_learning_rate in decay_steps."""

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
    """Cosine decay to the fraction alpha in decay_steps, with a linear warm-up if warmup_target is given."""

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
    """Inverse time decay: initial_learning_rate / (1 + decay_rate * step / decay_steps)."""

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
    """Cosine decay with warm restarts: each period is `t_mul` times as long and starts `m_mul` times as high."""

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
