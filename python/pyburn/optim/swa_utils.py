"""Weight averaging: stochastic weight averaging (SWA) and exponential moving averages (EMA)."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterable
from typing import Any

from .. import nn
from .._core import Tensor, int64, zeros
from ..autograd import no_grad
from .lr_scheduler.base import LRScheduler, per_group
from .lr_scheduler.factors import Schedule
from .optimizer import Optimizer

__all__ = ["SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn", "update_bn"]


def get_ema_avg_fn(decay: float = 0.999) -> Callable[..., Any]:
    """Returns an avg_fn of AveragedModel that computes exponential moving averages.

    Args:
        decay: The weight of the old average.

    Raises:
        ValueError: decay is not in [0, 1].

    >>> import pyburn
    >>> pyburn.optim.swa_utils.get_ema_avg_fn(0.75)(pyburn.ones(1), pyburn.zeros(1), 3).item()
    0.75
    """
    _check_decay(decay)

    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        with no_grad():
            return ema_param * decay + current_param * (1 - decay)

    return ema_update


def get_swa_avg_fn() -> Callable[..., Any]:
    """Returns an avg_fn of AveragedModel that computes the mean over all updates.

    >>> import pyburn
    >>> pyburn.optim.swa_utils.get_swa_avg_fn()(pyburn.ones(1), pyburn.zeros(1), 3).item()
    0.75
    """

    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        with no_grad():
            return averaged_param + (current_param - averaged_param) / (int(num_averaged) + 1)

    return swa_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., None]:
    """Returns a multi_avg_fn of AveragedModel that computes exponential moving averages.

    Args:
        decay: The weight of the old average.

    Raises:
        ValueError: decay is not in [0, 1].

    >>> import pyburn
    >>> mean = pyburn.ones(1)
    >>> pyburn.optim.swa_utils.get_ema_multi_avg_fn(0.75)([mean], [pyburn.zeros(1)], 3)
    >>> mean.item()
    0.75
    """
    return _in_place(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn() -> Callable[..., None]:
    """Returns a multi_avg_fn of AveragedModel that computes the mean over all updates.

    >>> import pyburn
    >>> mean = pyburn.ones(1)
    >>> pyburn.optim.swa_utils.get_swa_multi_avg_fn()([mean], [pyburn.zeros(1)], 3)
    >>> mean.item()
    0.75
    """
    return _in_place(get_swa_avg_fn())


def _check_decay(decay: float) -> None:
    if not 0 <= decay <= 1:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def _in_place(average: Callable[..., Tensor]) -> Callable[..., None]:
    def update(averaged: Iterable[Tensor], current: Iterable[Tensor], num_averaged: Any) -> None:
        with no_grad():
            for mean, value in zip(averaged, current):
                mean.copy_(average(mean, value, num_averaged))

    return update


class AveragedModel(nn.Module):
    """A copy of a model with averaged parameters.

    Args:
        model: The model to copy.
        device: The device of the copy.
        avg_fn: The average of one parameter; by default the mean.
        multi_avg_fn: The average of lists of parameters, in place.
        use_buffers: Whether to average buffers as well; otherwise they are copied.

    Raises:
        AssertionError: Both avg_fn and multi_avg_fn are given.

    >>> import pyburn
    >>> from pyburn.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
    >>> model = pyburn.nn.Linear(1, 1, bias=False)
    >>> average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.5))
    >>> for value in (1.0, 3.0):
    ...     with pyburn.no_grad():
    ...         _ = model.weight.fill_(value)
    ...     average.update_parameters(model)
    >>> average.module.weight.item()
    2.0
    """

    def __init__(
        self,
        model: nn.Module,
        device: Any = None,
        avg_fn: Callable[..., Any] | None = None,
        multi_avg_fn: Callable[..., None] | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", zeros((), dtype=int64, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the averaged model.

        Args:
            *args: The inputs.
            **kwargs: Keyword arguments of the model.

        Returns:
            The output of the averaged model.
        """
        return self.module(*args, **kwargs)

    def _averaged(self, model: nn.Module) -> Iterable[Tensor]:
        return itertools.chain(model.parameters(), model.buffers()) if self.use_buffers else model.parameters()

    def update_parameters(self, model: nn.Module) -> None:
        """Updates the averages with the current parameters of the model.

        Args:
            model: The model that is trained.
        """
        count = int(self.n_averaged)
        mine = [p.detach() for p in self._averaged(self.module)]
        theirs = [p.detach().to(q.device) for p, q in zip(self._averaged(model), mine)]
        with no_grad():
            if count == 0:
                for mean, value in zip(mine, theirs):
                    mean.copy_(value)
            elif self.avg_fn is not None:
                for mean, value in zip(mine, theirs):
                    mean.copy_(self.avg_fn(mean, value, self.n_averaged))
            else:
                (self.multi_avg_fn or get_swa_multi_avg_fn())(mine, theirs, self.n_averaged)
            if not self.use_buffers:
                for buffer, value in zip(self.module.buffers(), model.buffers()):
                    buffer.copy_(value.to(buffer.device))
            self.n_averaged += 1


def update_bn(loader: Iterable[Any], model: nn.Module, device: Any = None) -> None:
    """Recomputes the running statistics of the batch norm layers of a model.

    Args:
        loader: The batches: inputs, or lists or tuples whose first item is the input.
        model: The model.
        device: The device that inputs are moved to.

    >>> import pyburn
    >>> model = pyburn.nn.Sequential(pyburn.nn.BatchNorm2d(1))
    >>> pyburn.optim.swa_utils.update_bn([pyburn.full((1, 1, 2, 2), 3.0)], model)
    >>> model[0].running_mean.item()
    3.0
    """
    norms = [m for m in model.modules() if any("BatchNorm" in c.__name__ for c in type(m).__mro__)]
    if not norms:
        return
    momenta = [norm.momentum for norm in norms]
    was_training = model.training
    model.train()
    try:
        for norm in norms:
            norm.reset_running_stats()
            norm.momentum = None  # cumulative averages
        with no_grad():
            for item in loader:
                x = item[0] if isinstance(item, (list, tuple)) else item
                model(x if device is None else x.to(device))
    finally:
        for norm, momentum in zip(norms, momenta):
            norm.momentum = momentum
        model.train(was_training)


class SWALR(LRScheduler):
    """Anneals the learning rate to `swa_lr` and keeps it constant.

    Args:
        optimizer: The optimizer.
        swa_lr: The final learning rate, a number or one per group.
        anneal_epochs: The number of steps of annealing.
        anneal_strategy: "cos" or "linear".
        last_epoch: The index of the last step; -1 to start.

    Raises:
        ValueError: anneal_epochs is negative, or anneal_strategy is unknown.

    >>> import pyburn
    >>> optimizer = pyburn.optim.SGD([pyburn.nn.Parameter(pyburn.ones(1))], lr=1.0)
    >>> scheduler = pyburn.optim.swa_utils.SWALR(optimizer, swa_lr=0.5, anneal_epochs=2, anneal_strategy="linear")
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.75]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        for group, rate in zip(optimizer.param_groups, per_group("swa_lr", optimizer, swa_lr)):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _weight(self, step: int) -> float:
        """Returns the weight of swa_lr, from 0 to 1."""
        length = max(1, self.anneal_epochs)
        curve = Schedule.cosine if self._anneal_strategy == "cos" else Schedule.linear
        return curve(0.0, 1.0, length)(max(0, min(step, length)))

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        step = self._step_count - 1 if self.anneal_epochs else max(1, self._step_count - 1)
        before, now = self._weight(step - 1), self._weight(step)
        rates = []
        for group in self.optimizer.param_groups:
            end = group["swa_lr"]
            start = end if before == 1 else (group["lr"] - before * end) / (1 - before)  # the initial rate, if nothing else changed it
            rates.append(end * now + start * (1 - now))
        return rates
