"""Batches of a Learner as compiled steps: forward pass, loss, backward pass, clipping and optimizer in one program."""

from __future__ import annotations

import dataclasses
import warnings
from typing import TYPE_CHECKING, Any

from .._core import Tensor
from ..steps import CompiledFunction
from .non_finite import LossRecord
from .steps import Step, run_step

if TYPE_CHECKING:
    from .learner import Learner

_BETWEEN = ("on_forward_end", "on_backward_end", "on_step_start")  # hooks that are called within a step


def compiled_batches(learner: Learner, losses: LossRecord) -> CompiledBatches | None:
    """Returns what trains a batch as a compiled step.

    Args:
        learner: The learner.
        losses: The record of its losses.

    Returns:
        A callable for batches; None, with a warning, if the options of the learner need Python within a step.
    """
    hooks = [name for name in _BETWEEN if learner.hooks.functions[name]]
    why = (
        "a gradient scaler reads the gradients"
        if learner.updater.scaler is not None
        else "an average of the weights (ema) is updated by Python"
        if learner.updater.ema is not None
        else 'on_nan="skip" reads each loss'
        if learner.on_nan == "skip"
        else f"a callback has {hooks[0]}, which is called within the step"
        if hooks
        else ""
    )
    if why:
        warnings.warn(f"[Learner] compile=True has no effect: {why}", UserWarning, stacklevel=4)
    return None if why else CompiledBatches(learner, losses)


class CompiledBatches:
    """Trains a batch, and takes the optimizer's step when enough batches were accumulated."""

    def __init__(self, learner: Learner, losses: LossRecord) -> None:
        self._learner, self._losses = learner, losses
        self.function = CompiledFunction(self._batch, also=(learner.step_function, learner.model))

    def __call__(self, batch: Any) -> Step:
        """Returns the result, with a loss that has no history. The host's counts are left to the caller."""
        updater = self._learner.updater
        device = next((p.device for p in updater.parameters()), None)
        if device is not None:
            self._losses.start(device)
        due = updater.due_with_next
        options = (updater.clip_norm, updater.clip_value, updater.dtype)
        result, updater.last_norm = self.function(batch, updater.first_count, updater.total_count if due else 0, due, options)
        returned: Step = result
        return returned

    def _batch(self, batch: Any, first: int | None, total: int, due: bool, options: Any) -> tuple[Step, Tensor | None]:
        learner, updater = self._learner, self._learner.updater
        with updater.precision():
            result = run_step(learner.step_function, learner.model, batch, need_loss=True)
        if result.updated or result.loss is None:
            raise TypeError("[Learner] compile=True needs a step that returns the loss and leaves the weights to the optimizer")
        value = result.loss.detach().clone()
        self._losses.mark(value.reshape(()))
        count = result.count or 1
        updater.add_gradients(result.loss, count, first if first is not None else count)
        norm = None
        if due:
            norm = updater.finish_gradients(first if first is not None else count, total + count)
            updater.optimizer.step()
            updater.optimizer.zero_grad()
        return dataclasses.replace(result, loss=value), norm
