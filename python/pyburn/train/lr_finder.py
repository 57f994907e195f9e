"""Learning-rate range test: a short training with learning rates from very small to very large."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _html
from .errors import TrainingError
from .random_states import random_state, set_random_state
from .run.svg_plots import Curve, line_chart
from .steps import run_step, to_device

if TYPE_CHECKING:
    from .learner import Learner


@dataclass(repr=False)
class LrFinding:
    """Result of a learning-rate range test.

    Attributes:
        rates: The learning rate of each step.
        losses: The loss of each step.
        smoothed: The bias-corrected exponential moving average of the losses.
        suggestion: The learning rate at which the smoothed loss falls fastest.

    >>> learner.find_lr(data).suggestion  # doctest: +SKIP
    """

    rates: list[float]
    losses: list[float]
    smoothed: list[float]
    suggestion: float

    def chart(self) -> str:
        """Returns an SVG chart of the loss over the learning rate, with the suggestion marked."""
        curves = [Curve("loss", self.rates, self.losses), Curve("smoothed", self.rates, self.smoothed)]
        return line_chart(
            f"loss by learning rate: try {self.suggestion:.2g}",
            curves,
            x_label="learning rate",
            log_x=True,
            mark=self.suggestion,
            alone=True,
        )

    def __repr__(self) -> str:
        return f"LrFinding(suggestion={self.suggestion:.2g}, {len(self.rates)} rates from {self.rates[0]:.1g} to {self.rates[-1]:.1g})"

    def _repr_html_(self) -> str:
        return _html.picture(self.chart())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the chart to an .svg file.

        Args:
            path: The file to write.
        """
        Path(path).write_text(self.chart(), encoding="utf-8")


def find_lr(
    learner: Learner, data: Iterable[Any], *, start: float = 1e-7, end: float = 10.0, steps: int = 100, smoothing: float = 0.9
) -> LrFinding:
    """Runs a learning-rate range test: trains while the learning rate grows from `start` to `end`, until the loss diverges.

    Model, optimizer and random state are restored afterwards.

    Args:
        learner: The Learner to test.
        data: An iterable of training batches; restarted when it ends.
        start: The first learning rate.
        end: The last learning rate.
        steps: The number of steps, at least 4.
        smoothing: The decay of the moving average of the loss.

    Returns:
        The learning rates, the losses and a suggestion.

    Raises:
        ValueError: Not 0 < start < end, or fewer than 4 steps.
        TrainingError: The data has no batches, or the loss is not finite within the first steps.

    >>> _ = pyburn.manual_seed(0)
    >>> x = pyburn.rand(64, 2); data = [(x, x.sum(1, keepdim=True))]
    >>> model = pyburn.nn.Linear(2, 1)
    >>> learner = pyburn.train.Learner(model, pyburn.optim.SGD(model.parameters(), lr=1.0), loss=pyburn.nn.MSELoss())
    >>> found = learner.find_lr(data, start=1e-5)
    >>> 1e-3 < found.suggestion < 10
    True
    """
    if not 0 < start < end or steps < 4:
        raise ValueError(f"[find_lr] 0 < start < end and at least 4 steps are needed: got {start}, {end}, {steps}")
    model, optimizer, updater = learner.model, learner.optimizer, learner.updater
    weights, options = copy.deepcopy(dict(model.state_dict())), copy.deepcopy(optimizer.state_dict())
    numbers, training = random_state(), model.training
    rates: list[float] = []
    losses: list[float] = []
    smoothed: list[float] = []
    best, average = math.inf, 0.0
    model.train()
    try:
        batches = _endless(data)
        for index in range(steps):
            rate = start * (end / start) ** (index / (steps - 1))
            for group in optimizer.param_groups:
                group["lr"] = rate
            loss = _one_step(learner, next(batches))
            average = smoothing * average + (1 - smoothing) * loss
            value = average / (1 - smoothing ** (index + 1))
            if not math.isfinite(loss) or (index > steps // 10 and value > 4 * best):
                break
            best = min(best, value)
            rates.append(rate)
            losses.append(loss)
            smoothed.append(value)
    finally:
        updater.drop()
        model.load_state_dict(weights)
        optimizer.load_state_dict(options)
        model.train(training)
        set_random_state(numbers)
    if len(rates) < 4:
        raise TrainingError("[find_lr] the loss is not finite even with the smallest rates: look at the data and the model")
    slope = np.gradient(np.asarray(smoothed), np.log(rates))
    return LrFinding(rates, losses, smoothed, float(rates[int(np.argmin(slope[1:-1])) + 1]))


def _one_step(learner: Learner, batch: Any) -> float:
    updater = learner.updater
    batch = to_device(batch, learner.device)
    with updater.precision():
        result = run_step(learner.step_function, learner.model, batch, need_loss=True)
    assert result.loss is not None
    loss = result.loss.item()
    if math.isfinite(loss):
        updater.drop()
        result.loss.backward()  # without the gradient scaler, so that its scale does not change
        learner.optimizer.step()
    return loss


def _endless(data: Iterable[Any]) -> Iterator[Any]:
    while True:
        empty = True
        for batch in data:
            empty = False
            yield batch
        if empty:
            raise TrainingError("[find_lr] the data gave no batches")
