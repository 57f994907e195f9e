"""Histograms of weights and gradients during training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .callbacks import Callback

if TYPE_CHECKING:
    from .learner import Learner


class Histograms(Callback):
    """Logs histograms of all parameters and their gradients to the run, before optimizer steps. They are read from the device each time.

    Args:
        every: Log every this many steps.
        gradients: Whether to log gradients, after clipping.

    Raises:
        ValueError: every is not positive.

    >>> pyburn.train.Histograms(every=200).every
    200
    """

    def __init__(self, every: int = 100, *, gradients: bool = True) -> None:
        if every < 1:
            raise ValueError(f"[Histograms] every must be a positive integer: got {every}")
        self.every, self.gradients = every, gradients

    def on_step_start(self, learner: Learner) -> None:
        run, step = learner.run, learner.state.step
        if run is None or step % self.every:
            return
        for name, parameter in learner.model.named_parameters():
            run.log_histogram(f"weights/{name}", parameter, step=step)
            if self.gradients and parameter.grad is not None:
                run.log_histogram(f"gradients/{name}", parameter.grad, step=step)
