"""Schedulers that multiply the initial learning rate by a factor: PyTorch's, and any Schedule."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from ..._core import _optim
from ..optimizer import Optimizer
from .base import LRScheduler, group_values

Schedule = _optim.Schedule


class _FunctionLR(LRScheduler):
    """Base class of schedulers with a function per group. Functions are not saved in the state dict; callable objects are."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        count = len(optimizer.param_groups)
        several = isinstance(lr_lambda, (list, tuple))
        if several and len(lr_lambda) != count:
            raise ValueError(f"Expected {count} lr_lambdas, but got {len(lr_lambda)}")
        self.lr_lambdas: list[Callable[[int], float]] = list(lr_lambda) if several else [lr_lambda] * count
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(f"lr_lambda should be a function, but got {type(function).__name__}")
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        state = super().state_dict()
        state["lr_lambdas"] = [saved_function(f) for f in self.lr_lambdas]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "lr_lambdas"})
        for function, saved in zip(self.lr_lambdas, state_dict["lr_lambdas"]):
            if saved is not None:
                function.__dict__.update(saved)


def saved_function(function: Any) -> dict[str, Any] | None:
    """Returns the state of a callable object, or None for a function."""
    return None if hasattr(function, "__code__") or not hasattr(function, "__dict__") else dict(function.__dict__)


class LambdaLR(_FunctionLR):
    """Multiplies the initial learning rate by lr_lambda(step).

    Args:
        optimizer: The optimizer.
        lr_lambda: The function, or a list with one per group.
        last_epoch: The index of the last step; -1 to start.

    >>> import pyburn
    >>> optimizer = pyburn.optim.SGD([pyburn.nn.Parameter(pyburn.ones(1))], lr=1.0)
    >>> scheduler = pyburn.lr_scheduler.LambdaLR(optimizer, lambda step: 0.5**step)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        return [base * function(self.last_epoch) for function, base in zip(self.lr_lambdas, self.base_lrs)]


class MultiplicativeLR(_FunctionLR):
    """Multiplies the current learning rate by lr_lambda(step).

    Args:
        optimizer: The optimizer.
        lr_lambda: The function, or a list with one per group.
        last_epoch: The index of the last step; -1 to start.

    >>> import pyburn
    >>> from pyburn.lr_scheduler import MultiplicativeLR, rates
    >>> optimizer = pyburn.optim.SGD([pyburn.nn.Parameter(pyburn.ones(1))], lr=1.0, momentum=0.9)
    >>> rates(MultiplicativeLR(optimizer, lambda step: 0.5), 3)
    [[1.0, 0.5, 0.25]]
    """

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        rates = group_values(self.optimizer, "lr")
        return rates if self._is_initial else [rate * f(self.last_epoch) for rate, f in zip(rates, self.lr_lambdas)]


class FactorLR(LRScheduler):
    """Base class of schedulers whose closed form is a factor of the initial learning rate. Each step multiplies the current rate by its
    change.
    """

    _moves_on_resuming = False  # whether the constructor's step advances the schedule when resuming

    def _factor(self) -> Any:
        """Returns the Schedule of the factor."""
        raise NotImplementedError

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        rates = group_values(self.optimizer, "lr")
        factor = self._factor()
        if self.last_epoch == 0:
            change = factor(0)
        elif self._is_initial and not self._moves_on_resuming:
            return rates
        else:
            before, now = factor(self.last_epoch - 1), factor(self.last_epoch)
            change = 1.0 if before == now or before == 0 else now / before
        return rates if change == 1 else [rate * change for rate in rates]

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self._factor()(self.last_epoch) for base in self.base_lrs]


class StepLR(FactorLR):
    """Multiplies the learning rate by gamma every `step_size` steps.

    Args:
        optimizer: The optimizer.
        step_size: The number of steps.
        gamma: The factor.
        last_epoch: The index of the last step; -1 to start.

    >>> import pyburn
    >>> from pyburn.lr_scheduler import StepLR, rates
    >>> optimizer = pyburn.optim.SGD([pyburn.nn.Parameter(pyburn.ones(1))], lr=1.0, momentum=0.9)
    >>> rates(StepLR(optimizer, 2, gamma=0.5), 4)
    [[1.0, 1.0, 0.5, 0.5]]
    """

    _moves_on_resuming = True

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> Any:
        return Schedule.step(1.0, self.step_size, self.gamma)


class MultiStepLR(FactorLR):
    """Multiplies the learning rate by gamma at each milestone.

    Args:
        optimizer: The optimizer.
        milestones: The steps.
        gamma: The factor.
        last_epoch: The index of the last step; -1 to start.

    >>> import pyburn
    >>> from pyburn.lr_scheduler import MultiStepLR, rates
    >>> optimizer = pyburn.optim.SGD([pyburn.nn.Parameter(pyburn.ones(1))], lr=1.0, momentum=0.9)
    >>> rates(MultiStepLR(optimizer, [1, 3], gamma=0.5), 4)
    [[1.0, 0.5, 0.5, 0.25]]
    """

    _moves_on_resuming = True

    def __init__(self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> Any:
        return Schedule.multi_step(sorted(self.milestones.elements()), self.gamma)


class ConstantLR(FactorLR):
    """Multiplies the learning rate by `factor` for the first `total_iters` steps.

    Args:
        optimizer: The optimizer.
        factor: The factor, in [0, 1].
        total_iters: The number of steps.
        last_epoch: The index of the last step; -1 to start.

    Raises:
        ValueError: factor is not in [0, 1].

    >>> import pyburn
    >>> from pyburn.lr_scheduler import ConstantLR, rates
    >>> optimizer = pyburn.optim.SGD([pyburn.nn.Parameter(pyburn.ones(1))], lr=1.0, momentum=0.9)
    >>> rates(ConstantLR(optimizer, 0.5, total_iters=2), 3)
    [[0.5, 0.5, 1.0]]
    """

    _moves_on_resuming = True

    def __init__(self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1) -> None:
        if not 0 <= factor <= 1:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> Any:
        return Schedule.constant_factor(self.factor, self.total_iters)


class LinearLR(FactorLR):
    """Changes the factor of the learning rate linearly from start_factor to end_factor, for example as a warm-up.

    Args:
        optimizer: The optimizer.
        start_factor: The first factor, in (0, 1].
        end_factor: The last factor, in [0, 1].
        total_iters: The number of steps.
        last_epoch: The index of the last step; -1 to start.

    Raises:
        ValueError: A factor is out of range.

    >>> import pyburn
    >>> from pyburn.lr_scheduler import LinearLR, rates
    >>> optimizer = pyburn.optim.SGD([pyburn.nn.Parameter(pyburn.ones(1))], lr=1.0, momentum=0.9)
    >>> rates(LinearLR(optimizer, 0.5, total_iters=2), 4)
    [[0.5, 0.75, 1.0, 1.0]]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if not 0 <= end_factor <= 1:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> Any:
        return Schedule.linear_factor(self.start_factor, self.end_factor, self.total_iters)


class ExponentialLR(FactorLR):
    """Multiplies the learning rate by gamma every step.

    Args:
        optimizer: The optimizer.
        gamma: The factor.
        last_epoch: The index of the last step; -1 to start.

    >>> import pyburn
    >>> from pyburn.lr_scheduler import ExponentialLR, rates
    >>> optimizer = pyburn.optim.SGD([pyburn.nn.Parameter(pyburn.ones(1))], lr=1.0, momentum=0.9)
    >>> rates(ExponentialLR(optimizer, 0.5), 3)
    [[1.0, 0.5, 0.25]]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> Any:
        return Schedule.exponential(1.0, self.gamma)


class PolynomialLR(FactorLR):
    """Decays the learning rate to zero over `total_iters` steps, as a polynomial of the remaining fraction.

    Args:
        optimizer: The optimizer.
        total_iters: The number of steps.
        power: The power of the polynomial.
        last_epoch: The index of the last step; -1 to start.

    >>> import pyburn
    >>> from pyburn.lr_scheduler import PolynomialLR, rates
    >>> optimizer = pyburn.optim.SGD([pyburn.nn.Parameter(pyburn.ones(1))], lr=1.0, momentum=0.9)
    >>> rates(PolynomialLR(optimizer, 2), 4)
    [[1.0, 0.5, 0.0, 0.0]]
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> Any:
        return Schedule.polynomial(self.total_iters, self.power)


class CosineAnnealingLR(LRScheduler):
    """Anneals the learning rate from the initial one to eta_min with a cosine of half period `T_max`.

    Args:
        optimizer: The optimizer.
        T_max: The number of steps to the minimum.
        eta_min: The minimum learning rate.
        last_epoch: The index of the last step; -1 to start.

    >>> import pyburn
    >>> optimizer = pyburn.optim.SGD([pyburn.nn.Parameter(pyburn.ones(1))], lr=1.0)
    >>> scheduler = pyburn.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
    >>> for _ in range(2):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.0]
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        rates = group_values(self.optimizer, "lr")
        if self._is_initial:
            return rates
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # at the minimum, where the recursion would divide by zero
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [rate + (base - self.eta_min) * rise for rate, base in zip(rates, self.base_lrs)]
        now, before = (1 + math.cos(math.pi * step / self.T_max) for step in (self.last_epoch, self.last_epoch - 1))
        return [now / before * (rate - self.eta_min) + self.eta_min for rate in rates]

    def _get_closed_form_lr(self) -> list[Any]:
        return [Schedule.cosine(float(base), self.eta_min, self.T_max)(self.last_epoch) for base in self.base_lrs]


class ScheduledLR(LRScheduler):
    """Sets the learning rate to a Schedule or any function of the step, independent of the optimizer's initial one.

    Args:
        optimizer: The optimizer.
        schedule: The function, or a list with one per group.
        last_epoch: The index of the last step; -1 to start.

    Raises:
        ValueError: The number of schedules does not match the groups.

    >>> import pyburn
    >>> from pyburn.lr_scheduler import Schedule, ScheduledLR
    >>> optimizer = pyburn.optim.SGD([pyburn.nn.Parameter(pyburn.ones(1))])
    >>> rate = Schedule.linear(0.0, 1.0, steps=2) * Schedule.constant(0.5)
    >>> scheduler = ScheduledLR(optimizer, rate)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.25]
    """

    def __init__(self, optimizer: Optimizer, schedule: Any, last_epoch: int = -1) -> None:
        self._schedules = list(schedule) if isinstance(schedule, (list, tuple)) else [schedule] * len(optimizer.param_groups)
        if len(self._schedules) != len(optimizer.param_groups):
            raise ValueError(f"Expected {len(optimizer.param_groups)} schedules, but got {len(self._schedules)}")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        return [schedule(self.last_epoch) for schedule in self._schedules]

    def state_dict(self) -> dict[str, Any]:
        return {key: value for key, value in super().state_dict().items() if key != "_schedules"}


class NoamLR(ScheduledLR):
    """The Noam schedule: linear warm-up, then decay with the inverse square root of the step. After Burn.

    Args:
        optimizer: The optimizer.
        model_size: The model size; the learning rate is scaled by 1 / sqrt(model_size).
        warmup_steps: The number of warm-up steps.
        factor: The scale factor.
        last_epoch: The index of the last step; -1 to start.

    >>> import pyburn
    >>> optimizer = pyburn.optim.Adam([pyburn.nn.Parameter(pyburn.ones(1))])
    >>> scheduler = pyburn.lr_scheduler.NoamLR(optimizer, model_size=4, warmup_steps=1)
    >>> scheduler.get_last_lr()
    [0.5]
    """

    per_step = True

    def __init__(
        self, optimizer: Optimizer, model_size: int = 512, warmup_steps: int = 4000, factor: float = 1.0, last_epoch: int = -1
    ) -> None:
        super().__init__(optimizer, Schedule.noam(factor, warmup_steps, model_size), last_epoch)
