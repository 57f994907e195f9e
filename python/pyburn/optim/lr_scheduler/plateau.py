"""ReduceLROnPlateau: a scheduler that follows a metric."""

from __future__ import annotations

import math
import warnings
from typing import Any

from ..optimizer import Optimizer
from .base import EPOCH_DEPRECATION_WARNING, LRScheduler, check_optimizer, per_group, set_group_value


class ReduceLROnPlateau(LRScheduler):
    """Reduces the learning rate when a metric, passed to `step`, has stopped improving.

    Args:
        optimizer: The optimizer.
        mode: "min" or "max": whether lower or higher metrics are better.
        factor: The factor of a reduction, less than 1.
        patience: The number of steps without improvement that are tolerated.
        threshold: The minimum change that counts as an improvement.
        threshold_mode: "rel" or "abs": whether the threshold is relative to the best metric.
        cooldown: The number of steps after a reduction in which the metric is ignored.
        min_lr: The lower bound, a number or one per group.
        eps: The minimum change of the learning rate.

    Raises:
        ValueError: An argument is invalid.
        TypeError: optimizer is not an Optimizer.

    >>> import pyburn
    >>> optimizer = pyburn.optim.SGD([pyburn.nn.Parameter(pyburn.ones(1))], lr=1.0)
    >>> scheduler = pyburn.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
    >>> for loss in (3.0, 3.0, 3.0):
    ...     scheduler.step(loss)
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | list[float] = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1:
            raise ValueError("Factor should be < 1.0.")
        check_optimizer(optimizer)
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        several = isinstance(min_lr, (list, tuple))
        if several and len(min_lr) != len(optimizer.param_groups):  # type: ignore[arg-type]
            raise ValueError(f"expected {len(optimizer.param_groups)} min_lrs, got {len(min_lr)}")  # type: ignore[arg-type]
        self.optimizer = optimizer
        self.mode, self.factor, self.patience, self.cooldown, self.eps = mode, factor, patience, cooldown, eps
        self.threshold, self.threshold_mode = threshold, threshold_mode
        self.default_min_lr = None if several else min_lr
        self.min_lrs = per_group("min_lr", optimizer, min_lr)
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.last_epoch = 0
        self._last_lr = [group["lr"] for group in optimizer.param_groups]
        self._reset()

    def _reset(self) -> None:
        self.best = self.mode_worse
        self.cooldown_counter = self.num_bad_epochs = 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Advances the schedule by one step.

        Args:
            metrics: The metric, a number or a tensor with one element.
            epoch: The index of the step; by default the next one.
        """
        current = float(metrics)
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(current, self.best):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._set_rates([group["lr"] for group in self.optimizer.param_groups])

    def _reduce_lr(self) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"The number of param groups in the `optimizer` ({len(groups)}) differs from when `ReduceLROnPlateau` was initialized "
                    f"({len(self.min_lrs)}): please modify the `min_lrs` field to match."
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs):
            old = float(group["lr"])
            new = max(old * self.factor, least)
            if old - new > self.eps:
                set_group_value(group, "lr", new)

    @property
    def in_cooldown(self) -> bool:
        """Whether metrics are currently ignored after a reduction."""
        return self.cooldown_counter > 0

    def _is_better(self, a: float, best: float) -> bool:
        sign = 1 if self.mode == "min" else -1
        goal = best * (1 - sign * self.threshold) if self.threshold_mode == "rel" else best - sign * self.threshold
        return a < goal if self.mode == "min" else a > goal
