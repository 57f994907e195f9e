"""History: the return value of fit, with the values of each epoch."""

from __future__ import annotations

import math
from typing import Any


class History:
    """The values of each epoch: one row per epoch; `history["valid/loss"]` is a column.

    Attributes:
        rows: One dict per epoch, with the key "epoch" and the values by name.
        stopped: Why training stopped early, or an empty string.
        higher_is_better: By metric name, whether higher values are better.

    >>> history = pyburn.train.History()
    >>> history.add(1, {"train/loss": 0.5})
    >>> history.add(2, {"train/loss": 0.25})
    >>> history["train/loss"], history.best("train/loss")
    ([0.5, 0.25], {'epoch': 2, 'train/loss': 0.25})
    """

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.stopped = ""
        self.higher_is_better: dict[str, bool] = {}

    def add(self, epoch: int, values: dict[str, float]) -> None:
        """Adds values to the row of an epoch.

        Args:
            epoch: The epoch.
            values: The values by name.
        """
        if not self.rows or self.rows[-1]["epoch"] != epoch:
            self.rows.append({"epoch": epoch})
        self.rows[-1].update(values)

    def __getitem__(self, name: str) -> list[float]:
        column = [row[name] for row in self.rows if name in row]
        if not column and name not in self.names():
            raise KeyError(f"no {name!r} in the history: there are {', '.join(self.names()) or 'no values'}")
        return column

    def __contains__(self, name: str) -> bool:
        return name in self.names()

    def __len__(self) -> int:
        return len(self.rows)

    def names(self) -> list[str]:
        """Returns the names of all values, in the order in which they first appeared."""
        return list(dict.fromkeys(key for row in self.rows for key in row if key != "epoch"))

    def best(self, name: str) -> dict[str, Any]:
        """Returns the row with the best value of a metric.

        Args:
            name: The name of the metric, such as "valid/accuracy".

        Raises:
            KeyError: There is no value of that name.
        """
        rows = [row for row in self.rows if name in row and not math.isnan(row[name])]
        if not rows:
            raise KeyError(f"no value of {name!r} in the history: there are {', '.join(self.names()) or 'none'}")
        higher = self.higher_is_better.get(name.rpartition("/")[2], False)
        return max(rows, key=lambda row: row[name]) if higher else min(rows, key=lambda row: row[name])

    def __repr__(self) -> str:
        last = ", ".join(f"{key}={value:.4g}" for key, value in (self.rows[-1] if self.rows else {}).items())
        return f"History({len(self.rows)} epochs: {last})" + (f" stopped: {self.stopped}" if self.stopped else "")

    def _repr_html_(self) -> str:
        from .notebook import history_html

        return history_html(self)

    def chart(self, metric: str = "loss") -> str:
        """Returns an SVG line chart of a metric over the epochs, one curve per split.

        Args:
            metric: The name of the metric, without the split.
        """
        from .run.svg_plots import Curve, line_chart

        names = [name for name in self.names() if name.rpartition("/")[2] == metric]
        curves = []
        for name in names:
            rows = [row for row in self.rows if name in row]
            curves.append(Curve(name.partition("/")[0], [row["epoch"] for row in rows], [row[name] for row in rows]))
        return line_chart(metric, curves, x_label="epoch", alone=True)
