"""The progress of fit in a notebook: a bar, the values so far, a chart and a table of the epochs, redrawn in place."""

from __future__ import annotations

import sys
import time
from html import escape
from typing import TYPE_CHECKING, Any

from .. import _html
from .._progress import duration
from .callbacks import Callback
from .displays import Pace, RunningValues, split_text
from .run.svg_plots import Curve, line_chart
from .terminal.live_view import Points

if TYPE_CHECKING:
    from .history import History
    from .learner import Learner

_REDRAW_SECONDS = 0.5
_MOST_ROWS = 12
_MOST_CHARTS = 4
_MOST_MESSAGES = 5


def in_notebook() -> bool:
    """Returns whether this process is the kernel of a notebook."""
    if "IPython" not in sys.modules or "ipykernel" not in sys.modules:
        return False
    from IPython import get_ipython  # type: ignore[import-not-found, unused-ignore]

    return hasattr(get_ipython(), "kernel")


def epochs_html(history: History) -> str:
    """Returns a table of the last epochs."""
    names, rows = history.names(), history.rows[-_MOST_ROWS:]
    return _html.table(["epoch", *names], [[row["epoch"], *(row.get(name) for name in names)] for row in rows])


def history_html(history: History) -> str:
    """Returns charts of the metrics, the loss first, and a table of the last epochs."""
    if not history.rows:
        return f"<div>{escape(repr(history))}</div>"
    metrics = sorted(dict.fromkeys(name.rpartition("/")[2] for name in history.names()), key=lambda name: name != "loss")
    charts = "".join(_html.picture(history.chart(metric)) for metric in metrics[:_MOST_CHARTS])
    stopped = f"<div>stopped: {escape(history.stopped)}</div>" if history.stopped else ""
    return f"<div>{charts}{epochs_html(history)}{stopped}</div>"


class NotebookProgress(Callback):
    """Shows the progress of fit in the output of a notebook cell; needs IPython."""

    def __init__(self) -> None:
        from IPython.display import HTML, display  # type: ignore[import-not-found, unused-ignore]

        self._make, self._display = HTML, display
        self._handle: Any = None

    def on_fit_start(self, learner: Learner) -> None:
        self._pace, self._values, self._next, self._messages = Pace(), RunningValues(), 0.0, list[str]()
        self._curves = {"train": Points(), "valid": Points()}
        for row in learner.history.rows:  # epochs before a resume
            self._add(row, learner.state.step)
        self._handle = self._display(self._make(""), display_id=True)
        self._draw(learner, "starting")

    def _add(self, row: dict[str, Any], step: int) -> None:
        if "valid/loss" in row:
            self._curves["valid"].add(step, row["valid/loss"])

    def on_batch_end(self, learner: Learner) -> None:
        if self._values.due():
            values = self._values.read(learner)
            if "train/loss" in learner.state.values:
                self._curves["train"].add(learner.state.step, learner.state.values["train/loss"])
            if time.monotonic() >= self._next:
                self._draw(learner, split_text("train", values))

    def on_validation_batch_end(self, learner: Learner) -> None:
        if time.monotonic() >= self._next:
            self._draw(learner, split_text("valid", self._values.read(learner)))

    def on_epoch_end(self, learner: Learner) -> None:
        self._add(learner.history.rows[-1], learner.state.step)

    def on_message(self, learner: Learner, text: str) -> None:
        self._messages.append(text)

    def on_fit_end(self, learner: Learner) -> None:
        if self._handle is not None:
            self._show(learner, escape(f"{learner.state.step:,} steps in {duration(learner.state.seconds)}"), self._messages)

    def _draw(self, learner: Learner, text: str) -> None:
        state, left = learner.state, self._pace.remaining(learner)
        of, batches = (f"/{total}" if total else "" for total in (state.epochs, state.batches))
        done, rest = self._pace.done(learner) or 0.0, f" · {duration(left)} left" if left is not None else ""
        where = f"epoch {state.epoch}{of}, batch {state.batch}{batches}{rest}"
        bar = f'<progress value="{done:.4f}" max="1" style="width: 24em"></progress>'
        self._show(learner, f"{bar} {escape(where)}<br>{escape(text)}", self._messages[-_MOST_MESSAGES:])
        self._next = time.monotonic() + _REDRAW_SECONDS

    def _show(self, learner: Learner, head: str, messages: list[str]) -> None:
        curves = [Curve(split, points.x, points.y) for split, points in self._curves.items() if points.x]
        chart = _html.picture(line_chart("loss", curves, x_label="step", alone=True)) if curves else ""
        epochs = epochs_html(learner.history) if learner.history.rows else ""
        told = "".join(f"<div>{escape(one)}</div>" for one in messages)
        self._handle.update(self._make(f"<div>{head}</div>{chart}{epochs}{told}"))
