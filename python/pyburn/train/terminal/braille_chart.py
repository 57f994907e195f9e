"""Line charts from braille characters: each cell has 2 x 4 dots."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..run.svg_plots import short, ticks

# Bit of each dot of a braille character, by row and column.
_DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]], np.uint8)

Curve = tuple[Sequence[float], Sequence[float]]
Cell = tuple[str, int]  # a character and the index of its curve; -1 for axes


def draw(curves: Sequence[Curve], width: int, height: int) -> list[list[Cell]]:
    """Draws curves with axes as rows of cells: y values on the left, the x range below.

    >>> from pyburn.train.terminal.braille_chart import draw
    >>> rows = draw([([0, 1, 2], [0.0, 1.0, 0.0])], 30, 6)
    >>> len(rows), {len(row) for row in rows}
    (6, {30})
    """
    points = [_finite(curve) for curve in curves]
    if width < 16 or height < 4 or not any(len(x) for x, _ in points):
        return _padded([[("…", -1)]], width, height)
    xs, ys = np.concatenate([x for x, _ in points]), np.concatenate([y for _, y in points])
    low_x, high_x, low_y, high_y = xs.min(), xs.max(), ys.min(), ys.max()
    room = (high_y - low_y) * 0.05 or abs(high_y) * 0.1 or 1.0
    low_y, high_y = low_y - room, high_y + room
    labels = {t: short(t) for t in ticks(float(low_y), float(high_y), max(2, height // 4))}
    margin = max(len(text) for text in labels.values()) + 2
    columns, rows = width - margin, height - 1
    dots = np.zeros((rows, columns), np.uint8)
    owner = np.full((rows, columns), -1)
    for index, (x, y) in enumerate(points):
        if len(x):
            px = (x - low_x) / ((high_x - low_x) or 1.0) * (columns * 2 - 1)
            py = (high_y - y) / (high_y - low_y) * (rows * 4 - 1)
            for column, row in _line(px, py):
                dots[row // 4, column // 2] |= _DOTS[row % 4, column % 2]
                owner[row // 4, column // 2] = index
    left: dict[int, str] = {}
    for value, text in labels.items():
        row = int(round((high_y - value) / (high_y - low_y) * (rows * 4 - 1))) // 4
        left.setdefault(row, text)
    result: list[list[Cell]] = []
    for row in range(rows):
        label = left.get(row, "").rjust(margin - 2)
        axis = f"{label} {'┤' if row in left else '│'}"
        cells: list[Cell] = [(character, -1) for character in axis]
        cells += [(chr(0x2800 + int(dots[row, c])) if dots[row, c] else " ", int(owner[row, c])) for c in range(columns)]
        result.append(cells)
    first, last = short(float(low_x)), short(float(high_x))
    below = " " * margin + first + last.rjust(columns - len(first))
    result.append([(character, -1) for character in below])
    return _padded(result, width, height)


def _finite(curve: Curve) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.asarray(curve[0], float), np.asarray(curve[1], float)
    keep = np.isfinite(x) & np.isfinite(y)
    return x[keep], y[keep]


def _line(px: np.ndarray, py: np.ndarray) -> set[tuple[int, int]]:
    """Returns the dots of the line segments between successive points."""
    found = {(int(round(px[0])), int(round(py[0])))}
    for (x0, y0), (x1, y1) in zip(zip(px[:-1], py[:-1]), zip(px[1:], py[1:])):
        count = int(max(abs(x1 - x0), abs(y1 - y0))) + 1
        for i in range(count + 1):
            t = i / count
            found.add((int(round(x0 + (x1 - x0) * t)), int(round(y0 + (y1 - y0) * t))))
    return found


def _padded(rows: list[list[Cell]], width: int, height: int) -> list[list[Cell]]:
    rows = [(row + [(" ", -1)] * width)[:width] for row in rows[:height]]
    return rows + [[(" ", -1)] * width for _ in range(height - len(rows))]


def smooth(values: Sequence[float], weight: float) -> list[float]:
    """Returns the bias-corrected exponential moving average; NaN values are skipped."""
    result, average, total = [], 0.0, 0.0
    for value in values:
        if not math.isfinite(value):
            result.append(value)
            continue
        average, total = weight * average + (1 - weight) * value, weight * total + (1 - weight)
        result.append(average / total)
    return result
