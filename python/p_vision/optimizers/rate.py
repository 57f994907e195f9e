"""The learning rate of an optimizer: a number, or a schedule."""

from __future__ import annotations

from typing import Any

from .schedules import LearningRateSchedule


class Rate:
    """The field `learning_rate` of an optimizer: a number or a schedule is stored, the number for the next step is read."""

    def __init__(self, default: float = 0.001) -> None:
        self.default = default

    def __get__(self, optimizer: Any, cls: Any = None) -> Any:
        if optimizer is None:
            return self.default
        rate = optimizer._rate
        return rate(optimizer.iterations) if isinstance(rate, LearningRateSchedule) else rate

    def __set__(self, optimizer: Any, value: Any) -> None:
        if isinstance(getattr(optimizer, "_rate", None), LearningRateSchedule) and not isinstance(value, LearningRateSchedule):
            raise TypeError("[optimizer] the learning rate follows a schedule: give a number to the optimizer to set it yourself")
        optimizer._rate = value
