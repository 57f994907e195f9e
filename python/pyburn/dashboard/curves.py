"""Curves for display: smoothed over all points, then downsampled without losing peaks."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from pathlib import Path

import numpy as np

from ..train.run.inside import MOST_SERIES_BYTES, open_inside
from ..train.run.scalar_files import rows_of
from ..train.run.svg_plots import thinned

AXES = {"step": 0, "epoch": 1, "time": 2}
_VALUE = 3
_BLOCK = 256
_CACHED_BYTES = 512 << 20


class CurveCache:
    """Caches whole series while their files do not change, so that zooming does not read them again."""

    def __init__(self, limit: int = _CACHED_BYTES) -> None:
        self._kept: OrderedDict[Path, tuple[tuple[int, int], np.ndarray]] = OrderedDict()
        self._bytes, self._limit, self._lock = 0, limit, threading.Lock()

    def rows(self, folder: Path, name: str) -> np.ndarray:
        """Returns the rows (step, epoch, time, value) of a series file; none if the file does not exist or is too large."""
        path = folder / name
        try:
            with open_inside(folder, name) as file:
                about = os.fstat(file.fileno())
                if about.st_size > MOST_SERIES_BYTES:
                    return np.zeros((0, 4))
                mark = about.st_size, about.st_mtime_ns
                with self._lock:
                    if path in self._kept and self._kept[path][0] == mark:
                        self._kept.move_to_end(path)
                        return self._kept[path][1]
                rows = rows_of(file.read(about.st_size))
        except OSError:
            return np.zeros((0, 4))
        with self._lock:
            old = self._kept.pop(path, None)
            self._bytes += rows.nbytes - (old[1].nbytes if old else 0)
            self._kept[path] = mark, rows
            while self._bytes > self._limit and len(self._kept) > 1:
                self._bytes -= self._kept.popitem(last=False)[1][1].nbytes
        return rows


def smoothed(values: np.ndarray, weight: float) -> np.ndarray:
    """Computes the bias-corrected exponential moving average; values that are not finite are skipped and remain gaps.

    >>> pyburn.dashboard.curves.smoothed(np.array([1.0, 1.0, 4.0]), 0.5).round(3).tolist()
    [1.0, 1.0, 2.714]
    """
    if not 0 < weight < 1 or not len(values):
        return values
    known = np.isfinite(values)
    if not known.all():
        result = np.array(values)
        result[known] = smoothed(values[known], weight)
        return result
    # Block by block: within a block the average is a product with a triangular matrix; one number is carried between blocks.
    powers = weight ** np.arange(_BLOCK + 1)
    lags = np.arange(_BLOCK)[:, None] - np.arange(_BLOCK)[None, :]
    triangle = np.where(lags >= 0, (1 - weight) * powers[np.clip(lags, 0, None)], 0.0)
    result, carried = np.empty(len(values)), 0.0
    for start in range(0, len(values), _BLOCK):
        part = values[start : start + _BLOCK]
        n = len(part)
        result[start : start + n] = triangle[:n, :n] @ part + carried * powers[1 : n + 1]
        carried = result[start + n - 1]
    return result / -np.expm1(np.arange(1, len(values) + 1) * np.log(weight))


def curve(
    rows: np.ndarray, *, axis: str = "step", between: tuple[float, float] = (-np.inf, np.inf), most: int = 1000, weight: float = 0.0
) -> np.ndarray:
    """Returns a curve as an array of two rows, x and y: the range between two values of x, plus one point on either side.

    Args:
        rows: The rows of the series: step, epoch, time, value.
        axis: The x axis: "step" or another key of AXES.
        between: The range of x.
        most: The maximum number of points.
        weight: The smoothing weight, from 0 to below 1.
    """
    if not len(rows):
        return np.zeros((2, 0))
    x, y = rows[:, AXES[axis]], smoothed(rows[:, _VALUE], weight)
    first = max(0, int(np.searchsorted(x, between[0], "left")) - 1)
    last = min(len(x), int(np.searchsorted(x, between[1], "right")) + 1)
    return np.stack(thinned(x[first:last], y[first:last], most))
