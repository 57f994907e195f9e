"""Weight updates from losses: gradient accumulation, mixed precision, gradient clipping, weight averaging."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from .. import _core
from .._core import Tensor
from ..amp import GradScaler, autocast
from ..autograd import no_grad
from ..nn.utils import clip_grad_norm_, clip_grad_value_

_NO_AUTOCAST = nullcontext()
_PRECISIONS = {"bfloat16": _core.bfloat16, "float16": _core.float16}


class Updater:
    """Turns losses into weight updates, with accumulation, mixed precision and clipping. The Learner uses it; it also works in custom
    loops.

    Args:
        model: The module.
        optimizer: Its optimizer.
        accumulate: The number of batches per optimizer step.
        clip_norm: The maximum norm of the gradients.
        clip_value: The maximum absolute value of gradient elements.
        precision: "float32", "bfloat16" or "float16", or such a dtype.
        scaler: A GradScaler; with float16 one is created by default.
        ema: A decay, or an AveragedModel, for a moving average of the weights.

    Raises:
        ValueError: An option has an invalid value.

    >>> model = pyburn.nn.Linear(2, 1)
    >>> update = pyburn.train.Updater(model, pyburn.optim.SGD(model.parameters(), lr=0.1), accumulate=2, clip_norm=1.0)
    >>> for count in (8, 4):  # two batches make one step, with the gradient of the mean over all twelve items
    ...     with update.precision():
    ...         loss = model(pyburn.ones(count, 2)).mean()
    ...     update.backward(loss, count)
    ...     stepped = update.step_if_due()
    >>> stepped
    True
    """

    def __init__(
        self,
        model: Any,
        optimizer: Any,
        *,
        accumulate: int = 1,
        clip_norm: float | None = None,
        clip_value: float | None = None,
        precision: str | Any | None = None,
        scaler: GradScaler | None = None,
        ema: float | Any | None = None,
    ) -> None:
        if not isinstance(accumulate, int) or accumulate < 1:
            raise ValueError(f"[Updater] accumulate must be a positive integer: got {accumulate}")
        for name, limit in (("clip_norm", clip_norm), ("clip_value", clip_value)):
            if limit is not None and not limit > 0:
                raise ValueError(f"[Updater] {name} must be positive: got {limit}")
        self.model, self.optimizer, self.accumulate = model, optimizer, accumulate
        self.clip_norm, self.clip_value = clip_norm, clip_value
        self.dtype = _dtype(precision)
        self.scaler = scaler if scaler is not None else GradScaler() if self.dtype == _core.float16 else None
        self.ema = _average(model, ema)
        self.found_inf: Tensor | None = None
        self._device_guards = getattr(optimizer, "_step_supports_amp_scaling", False)
        self.last_norm: Tensor | None = None
        self.skipped = False  # whether the scaler skipped the last step
        self._first = self._total = self._batches = 0

    def precision(self) -> AbstractContextManager[Any]:
        """Returns the autocast context for the forward pass and the loss."""
        if self.dtype is None:
            return _NO_AUTOCAST
        return autocast("cpu", dtype=self.dtype)

    def parameters(self) -> Iterable[Tensor]:
        """Iterates over the parameters of the optimizer.

        Returns:
            An iterator.
        """
        return (p for group in self.optimizer.param_groups for p in group["params"])

    @property
    def grad_norm(self) -> float | None:
        """The gradient norm of the last step before clipping; None without clip_norm. Reading it synchronizes with the device."""
        return None if self.last_norm is None else float(self.last_norm)

    @property
    def begun(self) -> bool:
        """Whether accumulated gradients are waiting for a step."""
        return self._batches > 0

    def backward(self, loss: Tensor, count: int = 1) -> None:
        """Adds the gradients of a batch of `count` samples."""
        self.count(count)
        self.add_gradients(loss, count, self._first)

    def count(self, count: int) -> None:
        """Counts a batch whose gradients are added elsewhere.

        Args:
            count: The number of its samples.
        """
        if self._batches == 0:
            self._first, self._total = count, 0
        self._total += count
        self._batches += 1

    @property
    def first_count(self) -> int | None:
        """The number of samples of the first accumulated batch; None before it, and where it does not matter."""
        return self._first if self._batches and self.accumulate > 1 else None

    @property
    def total_count(self) -> int:
        """The number of samples that were accumulated."""
        return self._total if self._batches else 0

    @property
    def due_with_next(self) -> bool:
        """Whether one more batch is enough for a step."""
        return self._batches + 1 >= self.accumulate

    def add_gradients(self, loss: Tensor, count: int, first: int) -> None:
        """Runs the backward pass of a batch, without counting it.

        Args:
            loss: The loss of the batch.
            count: The number of its samples.
            first: The number of samples of the first accumulated batch.
        """
        if self.accumulate > 1 and count != first:
            loss = loss * (count / first)  # weights samples equally, not batches
        (self.scaler.scale(loss) if self.scaler is not None else loss).backward()

    def guard(self, found_inf: Tensor | None) -> None:
        """Skips steps while `found_inf`, a tensor with one element, is not 0.

        The check runs on the device without synchronization. With an optimizer that does not support PyTorch's `found_inf`, the host reads
        it before each step, as PyTorch's GradScaler does.

        Args:
            found_inf: The tensor; None ends the check.
        """
        self.found_inf = found_inf
        if self._device_guards:
            self.optimizer.found_inf = found_inf

    def drop(self) -> None:
        """Discards the accumulated gradients."""
        self.optimizer.zero_grad()
        self._batches = 0

    @property
    def due(self) -> bool:
        """Whether enough batches were accumulated for a step."""
        return self._batches >= self.accumulate

    def step_if_due(self, last: bool = False) -> bool:
        """Takes a step if enough batches were accumulated, or if `last` is True and any were. Returns whether it did.

        Args:
            last: Whether this is the last batch.
        """
        if not (self.due or (last and self.begun)):
            return False
        self.prepare()
        self.step()
        return True

    def prepare(self) -> None:
        """Finalizes the gradients: unscales them, averages over all samples, and clips."""
        if self.scaler is not None:
            self.scaler.unscale_(self.optimizer)
        self.last_norm = self.finish_gradients(self._first, self._total)

    def finish_gradients(self, first: int, total: int) -> Tensor | None:
        """Averages the gradients over all samples, and clips them.

        Args:
            first: The number of samples of the first accumulated batch.
            total: The number of all accumulated samples.

        Returns:
            The norm of the gradients before clipping, if it was computed.
        """
        if total != first:
            factor = first / total
            with no_grad():
                for p in self.parameters():
                    if p.grad is not None:
                        p.grad.mul_(factor)
        norm = None if self.clip_norm is None else clip_grad_norm_(list(self.parameters()), self.clip_norm)
        if self.clip_value is not None:
            clip_grad_value_(list(self.parameters()), self.clip_value)
        return norm

    def step(self) -> None:
        """Updates the weights and their average, and clears the gradients."""
        if self.scaler is not None:
            scale = self.scaler.get_scale()
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.skipped = self.scaler.get_scale() < scale
        elif self._device_guards or not self.found_inf:
            self.optimizer.step()
        self.optimizer.zero_grad()
        if self.ema is not None and not self.skipped:
            self.ema.update_parameters(self.model)
        self.end_group()

    def end_group(self) -> None:
        """Starts the next group of accumulated batches."""
        self._batches = 0

    def uncount(self, steps: int) -> None:
        """Subtracts steps that the device skipped from the optimizer's step counts; steps skipped by the host were not counted.

        Args:
            steps: The number of steps.
        """
        if self.scaler is not None or not self._device_guards:
            return
        for state in self.optimizer.state.values():
            if "step" in state:
                state["step"] = state["step"] - steps

    def state_dict(self) -> dict[str, Any]:
        """Returns the state of optimizer, gradient scaler and averaged model."""
        return {
            "optimizer": self.optimizer.state_dict(),
            "scaler": self.scaler.state_dict() if self.scaler is not None else None,
            "ema": dict(self.ema.state_dict()) if self.ema is not None else None,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restores a state from `state_dict`.

        Args:
            state: The state.

        Raises:
            ValueError: Only one of the state and this Updater has a scaler, or an averaged model.
        """
        for part, name in ((self.scaler, "scaler"), (self.ema, "ema")):
            if (part is None) != (state[name] is None):
                there, here = ("without", "with") if state[name] is None else ("with", "without")
                raise ValueError(f"[resume] the checkpoint was made {there} {name}, this training is {here}")
        self.optimizer.load_state_dict(state["optimizer"])
        if self.scaler is not None:
            self.scaler.load_state_dict(state["scaler"])
        if self.ema is not None:
            self.ema.load_state_dict(state["ema"])


def _dtype(precision: Any) -> Any:
    if precision is None or precision in ("float32", "32", _core.float32):
        return None
    if isinstance(precision, str):
        if precision not in _PRECISIONS:
            raise ValueError(f"[Learner] precision must be 'float32', 'bfloat16' or 'float16': got {precision!r}")
        return _PRECISIONS[precision]
    if precision not in _PRECISIONS.values():
        raise ValueError(f"[Learner] precision must be float32, bfloat16 or float16: got {precision!r}")
    return precision


def _average(model: Any, ema: Any) -> Any:
    if not isinstance(ema, (int, float)) or isinstance(ema, bool):
        return ema
    from ..optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

    return AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(float(ema)))
