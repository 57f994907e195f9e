"""Detects non-finite losses without synchronizing with the device after each batch, and explains them."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import Tensor
from .._nested import tensors
from ..autograd import no_grad
from .metrics import Loss

if TYPE_CHECKING:
    from .learner import Learner

_MOST_WAITING = 512
_SHOWN = 5  # losses that a report quotes
_GROWTH = 10.0  # between the smallest and the last of them, from where training counts as diverging


@dataclass
class BadLoss:
    """A non-finite loss and its position in training."""

    value: float
    batch: int
    step: int


class LossRecord:
    """Collects the losses of an epoch, which stay on the device until they are needed.

    Args:
        patience: The number of consecutive non-finite losses that are tolerated; None for any number. With 0, a flag on the device becomes
            NaN with the first one.
        guard: Called with this flag before the first step, so that later steps can be skipped on the device.
    """

    def __init__(self, patience: int | None, guard: Callable[[Tensor], None]) -> None:
        self.patience, self.guard = patience, guard
        self.epoch, self.recent = Loss(), Loss()  # recent: since the last log line
        self.bad: BadLoss | None = None  # set by look()
        self.last: deque[float] = deque(maxlen=_SHOWN)  # losses before it, the newest at the end
        self._found_inf: Tensor | None = None
        self.mean = math.nan
        self._in_a_row = 0
        self._waiting: list[tuple[Tensor, int, int, int]] = []

    def add(self, loss: Tensor, count: int, batch: int, step: int) -> None:
        """Adds the loss of a batch of `count` samples, computed after `step` steps."""
        self.start(loss.device)
        self.mark(loss)
        self.note(loss, count, batch, step)

    def start(self, device: Any) -> None:
        """Creates the flag, before the first loss.

        Args:
            device: The device of the losses.
        """
        if self.patience == 0 and self._found_inf is None:
            self._found_inf = _core.zeros((), device=device)
            self.guard(self._found_inf)

    def mark(self, loss: Tensor) -> None:
        """Sets the flag if a loss is not finite.

        Args:
            loss: The loss.
        """
        if self._found_inf is not None:
            self._found_inf.add_(loss, alpha=0)  # 0 * inf is NaN

    def note(self, loss: Tensor, count: int, batch: int, step: int) -> None:
        """Adds a loss that was marked already.

        Args:
            loss: The loss.
            count: The number of samples of its batch.
            batch: The number of the batch.
            step: The number of steps before it.
        """
        self._waiting.append((loss, count, batch, step))
        if len(self._waiting) >= _MOST_WAITING:
            self.look()

    def add_unchecked(self, loss: Tensor, count: int) -> None:
        """Adds the loss of a batch after which the weights were updated in any case."""
        self.epoch.update(loss, count)
        self.recent.update(loss, count)

    def look(self) -> None:
        """Reads the pending losses from the device."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        values = _core.stack([loss for loss, *_ in waiting]).tolist()
        good = 0  # losses before the bad one
        for value, (_, _, batch, step) in zip(values, waiting):
            self._in_a_row = 0 if math.isfinite(value) else self._in_a_row + 1
            if self.patience is not None and self._in_a_row > self.patience and self.bad is None:
                self.bad = BadLoss(value, batch, step)
            if self.bad is None:
                good += 1
                self.last.append(value)
        sums = {"value": values[:good], "weight": [count for _, count, *_ in waiting[:good]]}
        self.epoch.take(sums)
        self.recent.take(sums)

    def recent_mean(self) -> float:
        """Returns the mean since the last log line, or the previous mean if there are no new losses."""
        self.look()
        if self.recent.state["weight"]:
            self.mean = self.recent.compute()
        return self.mean

    def forget_bad(self) -> None:
        """Keeps the losses up to the bad one and drops the rest."""
        self.bad = None
        if self._found_inf is not None:
            self._found_inf.zero_()  # the same tensor: optimizer and compiled steps use it
        self._waiting, self._in_a_row = [], 0

    def reset(self) -> None:
        """Starts a new epoch."""
        self.epoch.reset()
        self.recent.reset()
        self.forget_bad()


def _finite(tensor: Tensor) -> bool:
    with no_grad():
        return not tensor.is_floating_point() or bool(_core.isfinite(tensor.detach()).all().item())


def all_finite(model: Any) -> bool:
    """Returns whether all parameters and buffers of a model are finite."""
    return all(_finite(tensor) for tensor in model.state_dict().values() if isinstance(tensor, Tensor))


def _diverged(losses: Sequence[float]) -> bool:
    return len(losses) > 1 and math.isfinite(losses[-1]) and losses[-1] == max(losses) and losses[-1] > _GROWTH * abs(min(losses))


def bad_loss_report(learner: Learner, bad: BadLoss, last: Sequence[float] = ()) -> str:
    """Returns a report of where the loss became non-finite, which tensors are finite, and what usually helps.

    The loss may be noticed some batches later. The weights have not changed since: if the loss of the current batch is non-finite as well,
    it shows the cause; if not, the cause was in the data of the earlier batch.
    """
    state = learner.state
    lr = float(learner.optimizer.param_groups[0]["lr"])
    lines = [f"the loss is {bad.value} in epoch {state.epoch}, batch {bad.batch}, step {bad.step} (learning rate {lr:g})"]
    if state.step > bad.step:
        lines.append(f"It was noticed in batch {state.batch}: steps {bad.step + 1} to {state.step} were left out.")
    if last:
        lines.append(f"The losses before were {', '.join(f'{loss:.4g}' for loss in last)}.")
    if learner.updater.grad_norm is not None:
        lines.append(f"The gradient norm of the last step was {learner.updater.grad_norm:.4g}.")
    named = learner.model.state_dict().items()
    broken = [name for name, tensor in named if isinstance(tensor, Tensor) and not _finite(tensor)]
    if math.isfinite(state.loss):
        lines.append("Later batches have finite losses with the same weights: look at the data of that batch.")
    elif not all(_finite(tensor) for tensor in tensors(state.inputs)):
        lines.append("The batch itself has values that are not finite: look at the data.")
    elif _diverged(last):
        lines.append(
            f"Training diverged: the learning rate {lr:g} is too high. Lower it (learner.find_lr suggests one), or use clip_norm=1.0."
        )
    elif broken:
        lines.append(f"{len(broken)} parameters are not finite any more, first {broken[0]!r}: the step before went wrong.")
        lines.append("A lower learning rate, clip_norm=1.0 or a warm-up usually help.")
    elif state.result is not None and not all(_finite(tensor) for tensor in tensors(state.result.output)):
        lines.append("Parameters and batch are finite, but the output of the model is not: something in it overflows or divides by zero.")
    else:
        lines.append("Parameters, batch and output are finite: the loss function makes it, such as the logarithm of zero.")
    return "\n".join(lines)
