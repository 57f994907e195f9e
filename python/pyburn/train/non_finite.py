"""Losses that are not finite: found without asking the device after each batch, and explained."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import Tensor
from ..autograd import no_grad
from .metrics import Loss

if TYPE_CHECKING:
    from .learner import Learner

_MOST_WAITING = 512


@dataclass
class BadLoss:
    """A loss that is not finite, and where it was computed."""

    value: float
    batch: int
    step: int


class LossRecord:
    """The losses of an epoch. They stay on their device until somebody looks.

    `patience` is the number of bad losses in a row that are no reason to stop. With 0, a tensor on the device becomes NaN with the first bad
    one; `guard` gets it before the first step, to leave out steps from then on.
    """

    def __init__(self, patience: int | None, guard: Callable[[Tensor], None]) -> None:
        self.patience, self.guard = patience, guard  # patience None: any number
        self.epoch, self.recent = Loss(), Loss()  # recent: since the last line of the log
        self.bad: BadLoss | None = None  # known after a look
        self._found_inf: Tensor | None = None
        self.mean = math.nan  # before the first
        self._in_a_row = 0
        self._waiting: list[tuple[Tensor, int, int, int]] = []

    def add(self, loss: Tensor, count: int, batch: int, step: int) -> None:
        """The loss of a batch of `count` items, computed after `step` steps."""
        if self.patience == 0:
            if self._found_inf is None:
                self._found_inf = _core.zeros((), device=loss.device)
                self.guard(self._found_inf)
            self._found_inf.add_(loss, alpha=0)  # 0 * inf is NaN
        self._waiting.append((loss, count, batch, step))
        if len(self._waiting) >= _MOST_WAITING:
            self.look()

    def look(self) -> None:
        """Reads the losses that wait."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        values = _core.stack([loss for loss, *_ in waiting]).tolist()
        good = 0  # those before the bad one
        for value, (_, _, batch, step) in zip(values, waiting):
            self._in_a_row = 0 if math.isfinite(value) else self._in_a_row + 1
            if self.patience is not None and self._in_a_row > self.patience and self.bad is None:
                self.bad = BadLoss(value, batch, step)
            good += self.bad is None
        sums = {"value": values[:good], "weight": [count for _, count, *_ in waiting[:good]]}
        self.epoch.take(sums)
        self.recent.take(sums)

    def recent_mean(self) -> float:
        """The mean since the last line of the log, or up to it if nothing came after."""
        self.look()
        if self.recent.state["weight"]:
            self.mean = self.recent.compute()
        return self.mean

    def forget_bad(self) -> None:
        """Keeps the losses up to the bad one."""
        self.bad = self._found_inf = None
        self._waiting, self._in_a_row = [], 0

    def reset(self) -> None:
        """Starts over, at the beginning of an epoch."""
        self.epoch.reset()
        self.recent.reset()
        self.forget_bad()


def _finite(tensor: Tensor) -> bool:
    with no_grad():
        return not tensor.is_floating_point() or bool(_core.isfinite(tensor.detach()).all().item())


def all_finite(model: Any) -> bool:
    """Whether all parameters and buffers of a model are finite."""
    return all(_finite(tensor) for tensor in model.state_dict().values() if isinstance(tensor, Tensor))


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, Mapping):
        value = list(value.values())
    return [found for part in value for found in _tensors(part)] if isinstance(value, (list, tuple)) else []


def bad_loss_report(learner: Learner, bad: BadLoss) -> str:
    """Where it happened, what is finite and what is not, and what usually helps.

    It may have been noticed some batches later. Weights have not changed since, so the batch that is there now tells as much, if its loss is
    not finite either; if it is, the batch was to blame.
    """
    state = learner.state
    lr = float(learner.optimizer.param_groups[0]["lr"])
    lines = [f"the loss is {bad.value} in epoch {state.epoch}, batch {bad.batch}, step {bad.step} (learning rate {lr:g})"]
    if state.step > bad.step:
        lines.append(f"It was noticed in batch {state.batch}: steps {bad.step + 1} to {state.step} were left out.")
    named = learner.model.state_dict().items()
    broken = [name for name, tensor in named if isinstance(tensor, Tensor) and not _finite(tensor)]
    if math.isfinite(state.loss):
        lines.append("Later batches have finite losses with the same weights: look at the data of that batch.")
    elif not all(_finite(tensor) for tensor in _tensors(state.inputs)):
        lines.append("The batch itself has values that are not finite: look at the data.")
    elif broken:
        lines.append(f"{len(broken)} parameters are not finite any more, first {broken[0]!r}: the step before went wrong.")
        lines.append("A lower learning rate, clip_norm=1.0 or a warm-up usually help.")
    elif state.result is not None and not all(_finite(tensor) for tensor in _tensors(state.result.output)):
        lines.append("Parameters and batch are finite, but the output of the model is not: something in it overflows or divides by zero.")
    else:
        lines.append("Parameters, batch and output are finite: the loss function makes it, such as the logarithm of zero.")
    return "\n".join(lines)
