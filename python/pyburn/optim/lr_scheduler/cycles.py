"""Cyclic schedulers, optionally with inverse momentum cycling."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..._core import _optim
from ..optimizer import Optimizer
from .base import LRScheduler, check_optimizer, per_group, set_group_value
from .factors import saved_function

Schedule = _optim.Schedule


class _MomentumCycle:
    """Momentum (or beta1) handling of CyclicLR and OneCycleLR."""

    optimizer: Any
    use_beta1: bool

    def _start_momentum(self, base: Any, largest: Any, set_now: bool) -> tuple[list[Any], list[Any]]:
        defaults = self.optimizer.defaults
        if "momentum" not in defaults and "betas" not in defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in defaults
        bases, tops = per_group("base_momentum", self.optimizer, base), per_group("max_momentum", self.optimizer, largest)
        if set_now:
            for group, low, high in zip(self.optimizer.param_groups, bases, tops):
                self._set_momentum(group, high)
                group["max_momentum"], group["base_momentum"] = high, low
        return bases, tops

    def _set_momentum(self, group: dict[str, Any], momentum: float) -> None:
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum


class CosineAnnealingWarmRestarts(LRScheduler):
    """Cosine annealing with warm restarts (SGDR).

    Args:
        optimizer: The optimizer.
        T_0: The number of steps of the first cycle.
        T_mult: The growth factor of the cycle length.
        eta_min: The minimum learning rate.
        last_epoch: The index of the last step; -1 to start.

    Raises:
        ValueError: T_0, T_mult or eta_min is invalid.

    >>> import pyburn
    >>> from pyburn.lr_scheduler import CosineAnnealingWarmRestarts, rates
    >>> optimizer = pyburn.optim.SGD([pyburn.nn.Parameter(pyburn.ones(1))], lr=1.0, momentum=0.9)
    >>> rates(CosineAnnealingWarmRestarts(optimizer, T_0=2), 4)
    [[1.0, 0.5, 1.0, 0.5]]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(T_0, int) or T_0 <= 0:
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0, self.T_i, self.T_mult, self.eta_min = T_0, T_0, T_mult, eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Advances by one step, or to `epoch`, which may be fractional.

        Args:
            epoch: The position to go to; None for the next step.
        """
        if epoch is None and self.last_epoch >= 0:
            self.last_epoch += 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            self._go_to(epoch or 0)
        self._set_rates(self._asked_lr())

    def _go_to(self, epoch: float) -> None:
        if epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        self.T_i, self.T_cur = self.T_0, epoch
        if self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            while self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        self.last_epoch = math.floor(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self.step(epoch)


class CyclicLR(LRScheduler, _MomentumCycle):
    """Cycles the learning rate linearly between base_lr and max_lr.

    Args:
        optimizer: The optimizer.
        base_lr: The lower bound, a number or one per group.
        max_lr: The upper bound, a number or one per group.
        step_size_up: The number of steps from the lower to the upper bound.
        step_size_down: The number of steps back; by default step_size_up.
        mode: "triangular", "triangular2" (amplitude halved each cycle) or "exp_range" (amplitude decays by gamma per step).
        gamma: The decay for "exp_range".
        scale_fn: A scaling function instead of mode.
        scale_mode: Whether scale_fn is a function of the "cycle" or of "iterations".
        cycle_momentum: Whether to cycle the momentum inversely.
        base_momentum: The lower bound of the momentum.
        max_momentum: The upper bound of the momentum.
        last_epoch: The index of the last step; -1 to start.

    Raises:
        ValueError: mode is unknown, or the optimizer has no momentum to cycle.

    >>> import pyburn
    >>> from pyburn.lr_scheduler import CyclicLR, rates
    >>> optimizer = pyburn.optim.SGD([pyburn.nn.Parameter(pyburn.ones(1))], lr=1.0, momentum=0.9)
    >>> rates(CyclicLR(optimizer, 0.5, 1.0, step_size_up=2), 5)
    [[0.5, 0.75, 1.0, 0.75, 0.5]]
    """

    per_step = True

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: float = 2000,
        step_size_down: float | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for rate, group in zip(base_lrs, optimizer.param_groups):
                set_group_value(group, "lr", rate)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        self.total_size = float(step_size_up) + float(step_size_up if step_size_down is None else step_size_down)
        self.step_ratio = step_size_up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma, self._scale_fn_custom = mode, gamma, scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = self._start_momentum(base_momentum, max_momentum, last_epoch == -1)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def _height(self) -> float:
        """Returns the position between the bounds, from 0 to 1."""
        up = self.total_size * self.step_ratio
        if abs(up - round(up)) < 1e-9 * up:  # undoes rounding errors of the ratio for integer steps
            up = round(up)
        sizes = (float(up), self.total_size - up)
        if self._scale_fn_custom is None:
            return Schedule.cyclic(0.0, 1.0, *sizes, self.mode, self.gamma)(self.last_epoch)
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        scale = self._scale_fn_custom(cycle if self.scale_mode == "cycle" else self.last_epoch)
        return Schedule.cyclic(0.0, 1.0, *sizes)(self.last_epoch) * scale

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        height = self._height()
        if self.cycle_momentum:
            for group, low, high in zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums):
                self._set_momentum(group, high - (high - low) * height)
        return [low + (high - low) * height for low, high in zip(self.base_lrs, self.max_lrs)]

    def state_dict(self) -> dict[str, Any]:
        state = super().state_dict()
        custom = state["_scale_fn_custom"]
        state["_scale_fn_custom"] = None if custom is None else saved_function(custom)
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        saved = state_dict["_scale_fn_custom"]
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "_scale_fn_custom"})
        if saved is not None and self._scale_fn_custom is not None:
            self._scale_fn_custom.__dict__.update(saved)


class OneCycleLR(LRScheduler, _MomentumCycle):
    """The 1cycle policy: anneals to max_lr, then to a minimum far below the initial learning rate. Call `step` after every batch.

    Args:
        optimizer: The optimizer.
        max_lr: The maximum learning rate, a number or one per group.
        total_steps: The number of steps; or give epochs and steps_per_epoch.
        epochs: The number of epochs.
        steps_per_epoch: The number of steps per epoch.
        pct_start: The fraction of steps with increasing learning rate.
        anneal_strategy: "cos" or "linear".
        cycle_momentum: Whether to cycle the momentum inversely.
        base_momentum: The lower bound of the momentum.
        max_momentum: The upper bound of the momentum.
        div_factor: max_lr divided by the initial learning rate.
        final_div_factor: The initial learning rate divided by the minimum one.
        three_phase: Whether to add a third phase that anneals from the initial to the minimum learning rate.
        last_epoch: The index of the last step; -1 to start.

    Raises:
        ValueError: An argument is invalid, or there is neither total_steps nor epochs and steps_per_epoch.

    >>> import pyburn
    >>> optimizer = pyburn.optim.SGD([pyburn.nn.Parameter(pyburn.ones(1))], momentum=0.9)
    >>> scheduler = pyburn.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10)
    >>> round(scheduler.get_last_lr()[0], 6), optimizer.param_groups[0]["momentum"]
    (0.04, 0.95)
    """

    per_step = True

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        if total_steps is not None:
            self.total_steps = _positive("total_steps", total_steps)
        elif epochs is not None and steps_per_epoch is not None:
            self.total_steps = _positive("epochs", epochs) * _positive("steps_per_epoch", steps_per_epoch)
        else:
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type = anneal_strategy
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        if last_epoch == -1:
            for group, top in zip(optimizer.param_groups, per_group("max_lr", optimizer, max_lr)):
                group["initial_lr"], group["max_lr"] = top / div_factor, top
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._start_momentum(base_momentum, max_momentum, last_epoch == -1)
        super().__init__(optimizer, last_epoch)

    def _value(self, first: float, top: float, last: float) -> float:
        """Interpolates between the values at the start, at the peak and at the end."""
        up = (self._schedule_phases[0]["end_step"] + 1) / self.total_steps
        shape = (self.total_steps, up, self._anneal_func_type, float(top / first), float(first / last), len(self._schedule_phases) == 3)
        return Schedule.one_cycle(float(top), *shape)(self.last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self.last_epoch > self.total_steps:
            raise ValueError(f"Tried to step {self.last_epoch} times. The specified number of total steps is {self.total_steps}")
        groups = self.optimizer.param_groups
        if self.cycle_momentum:
            for group in groups:
                high = group["max_momentum"]
                self._set_momentum(group, self._value(high, group["base_momentum"], high))
        return [self._value(group["initial_lr"], group["max_lr"], group["min_lr"]) for group in groups]


def _phases(total_steps: int, pct_start: float, three_phase: bool) -> list[dict[str, Any]]:
    """Returns the ends of the phases, as in PyTorch's state dicts."""
    up = {"lr": ("initial_lr", "max_lr"), "momentum": ("max_momentum", "base_momentum")}
    back = {"lr": ("max_lr", "initial_lr"), "momentum": ("base_momentum", "max_momentum")}
    rest = {"lr": ("initial_lr", "min_lr"), "momentum": ("max_momentum", "max_momentum")}
    down = {"lr": ("max_lr", "min_lr"), "momentum": ("base_momentum", "max_momentum")}
    ends: list[float] = [float(pct_start * total_steps) - 1]
    ends += [float(2 * pct_start * total_steps) - 2, total_steps - 1] if three_phase else [total_steps - 1]
    return [
        {"end_step": end, **{f"{which}_{what}": way[what][i] for what in ("lr", "momentum") for i, which in enumerate(("start", "end"))}}
        for end, way in zip(ends, (up, back, rest) if three_phase else (up, down))
    ]


def _positive(name: str, value: int) -> int:
    if not isinstance(value, int) or value <= 0:
        raise ValueError(f"Expected positive integer {name}, but got {value}")
    return value
