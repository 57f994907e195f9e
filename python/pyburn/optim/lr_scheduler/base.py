"""LRScheduler: base class of learning-rate schedulers."""

from __future__ import annotations

import warnings
from typing import Any

from ..._core import Tensor
from ..optimizer import Optimizer

_ORDER = "See https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. If epoch is given, the closed form is used in place of the chainable one, if there is one."
)


def group_values(optimizer: Any, key: str) -> list[Any]:
    """Returns an option of all groups; tensors are copied."""
    return [group[key].clone() if isinstance(group[key], Tensor) else group[key] for group in optimizer.param_groups]


def set_group_value(group: dict[str, Any], key: str, value: Any) -> None:
    """Sets an option; tensors are modified in place."""
    if isinstance(group[key], Tensor):
        group[key].fill_(float(value))
    else:
        group[key] = value


def per_group(name: str, optimizer: Any, value: Any) -> list[Any]:
    """Returns one value per group, from a single value or a list.

    Raises:
        ValueError: The list has the wrong length.
    """
    groups = optimizer.param_groups
    if not isinstance(value, (list, tuple)):
        return [_own(value) for _ in groups]
    if len(value) != len(groups):
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, param_groups has {len(groups)}."
        )
    return [_own(one) for one in value]


def _own(value: Any) -> Any:
    """Returns the value; tensors are copied, since schedulers modify them in place."""
    return value.clone() if isinstance(value, Tensor) else value


def _replaced_step(optimizer: Any) -> Any:
    """Returns a `step` that replaced the optimizer's own one, or None."""
    return getattr(optimizer, "__dict__", {}).get("step")


class LRScheduler:
    """Base class of learning-rate schedulers. Subclasses implement `get_lr`.

    Learning rates are computed from the current ones, so that several schedulers can be combined. Call `step` after `optimizer.step`.

    Args:
        optimizer: The optimizer.
        last_epoch: The index of the last step; -1 to start.

    Raises:
        TypeError: optimizer is not an Optimizer.
        KeyError: last_epoch is not -1, but the groups have no "initial_lr".

    >>> import pyburn
    >>> optimizer = pyburn.optim.SGD([pyburn.nn.Parameter(pyburn.ones(1))], lr=1.0)
    >>> class Halving(pyburn.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [0.5**self.last_epoch for _ in self.optimizer.param_groups]
    >>> scheduler = Halving(optimizer)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    _get_lr_called_within_step = False
    _is_initial = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        optimizer._step_when_scheduled = _replaced_step(optimizer)
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"].clone() if isinstance(group["lr"], Tensor) else group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with last_epoch >= 0: "
                    "load the state of the optimizer first"
                )
        self.base_lrs: list[Any] = group_values(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Returns the state, without the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restores the state from `state_dict`.

        Args:
            state_dict: A state from `state_dict`.
        """
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """Returns the current learning rate of each group."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """Computes the next learning rate of each group; called by `step`.

        Returns:
            The learning rates, one per parameter group.
        """
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Advances the schedule by one step, or to `epoch`.

        Args:
            epoch: The step to go to; None for the next one.
        """
        if self._step_count == 1:
            self._warn_of_order()
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _warn_of_order(self) -> None:
        if _replaced_step(self.optimizer) is not getattr(self.optimizer, "_step_when_scheduled", None):
            warnings.warn(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. Please, make sure to call "
                f"`optimizer.step()` before `lr_scheduler.step()`. {_ORDER}",
                UserWarning,
                stacklevel=3,
            )
        elif not getattr(self.optimizer, "_opt_called", True):
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. You should call them in the opposite order: "
                "`optimizer.step()` before `lr_scheduler.step()`. Failure to do this will result in skipping the first value of the "
                f"learning rate schedule. {_ORDER}",
                UserWarning,
                stacklevel=3,
            )

    def _update_lr(self, epoch: int | None = None) -> None:
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        closed = getattr(self, "_get_closed_form_lr", None) if epoch is not None else None
        self._set_rates(closed() if closed else self._asked_lr())

    def _asked_lr(self) -> list[Any]:
        self._get_lr_called_within_step = True
        try:
            return self.get_lr()
        finally:
            self._get_lr_called_within_step = False

    def _set_rates(self, rates: list[Any]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates):
            set_group_value(group, "lr", rate)
        self._last_lr = group_values(self.optimizer, "lr")

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.", UserWarning, stacklevel=3)

    def plot(self, steps: int = 100, file: str | None = None, metrics: list[float] | None = None) -> None:
        """Plots the learning rates of the next steps to an SVG or PNG file, or as text. See `pyburn.lr_scheduler.plot`.

        Args:
            steps: The number of steps.
            file: The file to write; None prints text.
            metrics: The metric of each step, for schedules that depend on one.
        """
        from .curves import plot

        plot(self, steps, file, metrics)


_LRScheduler = LRScheduler  # its name in PyTorch before 2.0


def check_optimizer(optimizer: Any) -> None:
    """Raises TypeError if the value is not an Optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
