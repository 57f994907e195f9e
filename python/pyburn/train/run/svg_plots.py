"""Line charts and matrices as SVG, without a plotting package. Colors are CSS variables, for light and dark pages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np

# The color-blind safe palette of Okabe and Ito, readable in light and dark mode.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
STYLE = """
:root { --ground: #ffffff; --text: #1c2024; --faint: #667078; --rule: #dde2e6; --panel: #f6f8f9; --good: #009e73; --bad: #c0392b; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #14171a; --text: #e6e9eb; --faint: #98a2aa; --rule: #30373d; --panel: #1c2125; --good: #3fc79a; --bad: #ff7b6b; }
}
svg text { fill: var(--faint, #667078); font: 11px system-ui, sans-serif; }
svg .title { fill: var(--text, #1c2024); font-size: 13px; font-weight: 600; }
svg .rule { stroke: var(--rule, #dde2e6); stroke-width: 1; }
svg .mark { stroke: var(--faint, #667078); stroke-width: 1; stroke-dasharray: 3 3; }
svg .curve { fill: none; stroke-width: 1.8; stroke-linejoin: round; }
"""
_MOST_POINTS = 600


class Curve(NamedTuple):
    """A curve of a line chart."""

    label: str
    x: Sequence[float] | np.ndarray
    y: Sequence[float] | np.ndarray
    colour: str = ""  # by default by position


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Returns round tick values that cover a range.

    >>> pyburn.train.run.svg_plots.ticks(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    if not high > low:
        return [low]
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999999)
    first = math.ceil(low / step - 1e-9)
    return [round(index * step, 12) for index in range(first, math.floor(high / step + 1e-9) + 1)]


def short(value: float) -> str:
    """Formats a number for an axis.

    >>> [pyburn.train.run.svg_plots.short(x) for x in (0.0, 0.25, 12000.0, 3e-7)]
    ['0', '0.25', '12k', '3e-07']
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size * 10 or (abs(value) >= size and value % size == 0):
            return f"{value / size:.4g}{letter}"
    return f"{value:.4g}"


def thinned(x: np.ndarray, y: np.ndarray, most: int = _MOST_POINTS) -> tuple[np.ndarray, np.ndarray]:
    """Reduces a curve to at most `most` points: both ends, and the minimum and maximum of each bin of x."""
    if len(x) <= most:
        return x, y
    buckets = max(1, most // 2 - 1)
    width = -(-len(x) // buckets)
    padded = np.full(buckets * width, np.nan)
    padded[: len(y)] = y
    table = padded.reshape(buckets, width)
    unknown = np.isnan(table)
    low = np.where(unknown, np.inf, table).argmin(axis=1)
    high = np.where(unknown, -np.inf, table).argmax(axis=1)
    starts = np.arange(buckets) * width
    chosen = np.concatenate([low + starts, high + starts])
    chosen = np.unique(np.concatenate([[0], chosen[chosen < len(x)], [len(x) - 1]]))
    return x[chosen], y[chosen]


def line_chart(
    title: str,
    curves: Sequence[Curve],
    *,
    x_label: str = "step",
    log_x: bool = False,
    mark: float | None = None,
    width: int = 460,
    height: int = 260,
    alone: bool = False,
) -> str:
    """Draws curves over a common x axis as SVG.

    Args:
        title: The title.
        curves: The curves.
        x_label: The label of the x axis.
        log_x: Whether the x axis is logarithmic.
        mark: The x value of a vertical line.
        width: The width in pixels.
        height: The height in pixels.
        alone: Whether to include the style, for a standalone file.

    Returns:
        The SVG as a string.
    """
    left, right, top, bottom = 52, 12, 30, 34
    inner_w, inner_h = width - left - right, height - top - bottom
    colours = [c.colour or COLOURS[index % len(COLOURS)] for index, c in enumerate(curves)]
    arrays = [(c.label, np.asarray(c.x, float), np.asarray(c.y, float)) for c in curves]
    arrays = [(label, x[keep], y[keep]) for label, x, y in arrays for keep in [np.isfinite(x) & ((x > 0) | (not log_x))]]
    xs = np.concatenate([np.log10(x) if log_x else x for _, x, _ in arrays]) if arrays else np.zeros(0)
    ys = np.concatenate([y[np.isfinite(y)] for _, _, y in arrays]) if arrays else np.zeros(0)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}">']
    if alone:
        parts.append(f'<style>{STYLE}</style><rect width="{width}" height="{height}" style="fill: var(--ground)"/>')
    parts.append(f'<text class="title" x="{left}" y="18">{escape(title)}</text>')
    if not len(xs) or not len(ys):
        return "".join([*parts, f'<text x="{left}" y="{top + 20}">no finite values</text></svg>'])
    low_x, high_x = float(xs.min()), float(xs.max())
    low_y, high_y = float(ys.min()), float(ys.max())
    room = (high_y - low_y) * 0.05 or abs(high_y) * 0.1 or 1.0
    low_y, high_y = low_y - room, high_y + room
    span_x = (high_x - low_x) or 1.0

    def place_x(value: np.ndarray | float) -> np.ndarray:
        return left + (np.asarray(value) - low_x) / span_x * inner_w

    def place_y(value: np.ndarray | float) -> np.ndarray:
        return top + (high_y - np.asarray(value)) / (high_y - low_y) * inner_h

    for tick in ticks(low_y, high_y):
        y_at = float(place_y(tick))
        parts.append(f'<line class="rule" x1="{left}" x2="{width - right}" y1="{y_at:.1f}" y2="{y_at:.1f}"/>')
        parts.append(f'<text x="{left - 6}" y="{y_at + 4:.1f}" text-anchor="end">{short(tick)}</text>')
    for tick in ticks(low_x, high_x):
        label = short(10**tick) if log_x else short(tick)
        parts.append(f'<text x="{float(place_x(tick)):.1f}" y="{height - bottom + 15}" text-anchor="middle">{label}</text>')
    parts.append(f'<text x="{width - right}" y="{height - 5}" text-anchor="end">{escape(x_label)}</text>')
    if mark is not None and (not log_x or mark > 0):
        at = float(place_x(math.log10(mark) if log_x else mark))
        parts.append(f'<line class="mark" x1="{at:.1f}" x2="{at:.1f}" y1="{top}" y2="{height - bottom}"/>')
    legend = float(left)
    for index, (label, x, y) in enumerate(arrays):
        colour = colours[index]
        x, y = thinned(x, y)
        parts.append(_curve(place_x(np.log10(x) if log_x else x), place_y(y), colour))
        if len(arrays) > 1:
            parts.append(f'<rect x="{legend}" y="{height - 13}" width="10" height="3" style="fill:{colour}"/>')
            parts.append(f'<text x="{legend + 14}" y="{height - 8}">{escape(label)}</text>')
            legend += 26 + 6.5 * len(label)
    return "".join([*parts, "</svg>"])


def _curve(x: np.ndarray, y: np.ndarray, colour: str) -> str:
    """Draws a line with gaps where values are not finite; a single point is a dot."""
    runs: list[list[str]] = [[]]
    for a, b in zip(x, y):
        if math.isfinite(b):
            runs[-1].append(f"{a:.1f},{b:.1f}")
        elif runs[-1]:
            runs.append([])
    parts = []
    for points in runs:
        if len(points) == 1:
            cx, cy = points[0].split(",")
            parts.append(f'<circle cx="{cx}" cy="{cy}" r="3" style="fill:{colour}"/>')
        elif points:
            parts.append(f'<polyline class="curve" style="stroke:{colour}" points="{" ".join(points)}"/>')
    return "".join(parts)


def matrix_chart(title: str, labels: Sequence[str], values: Sequence[Sequence[float]]) -> str:
    """Draws a confusion matrix as SVG: rows are true classes, columns predicted ones; shades are fractions of the row."""
    counts = np.asarray(values, float)
    n = len(counts)
    if counts.shape != (n, n) or n == 0:
        return ""
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
    cell = max(12, min(40, 400 // n))
    margin, top = 12 + int(6.5 * min(12, max(len(label) for label in labels))), 46
    size = cell * n
    width = max(360, margin + size + 14)  # keeps small matrices from being enlarged
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {top + size + 26}" role="img">']
    parts.append(f'<text class="title" x="{margin}" y="16">{escape(title)}</text>')
    written = n <= 20
    for i in range(n):
        for j in range(n):
            x, y = margin + j * cell, top + i * cell
            colour = COLOURS[0] if i == j else COLOURS[1]
            parts.append(f'<rect x="{x}" y="{y}" width="{cell - 1}" height="{cell - 1}" style="fill:var(--panel)"/>')
            parts.append(
                f'<rect x="{x}" y="{y}" width="{cell - 1}" height="{cell - 1}" style="fill:{colour};fill-opacity:{shares[i, j]:.3f}">'
                f"<title>{escape(labels[i])} as {escape(labels[j])}: {counts[i, j]:g}</title></rect>"
            )
            if written and counts[i, j] and cell >= 22:
                ink = ' style="fill:#ffffff"' if shares[i, j] > 0.5 else ""
                parts.append(
                    f'<text x="{x + cell / 2:.1f}" y="{y + cell / 2 + 4:.1f}" text-anchor="middle"{ink}>{short(counts[i, j])}</text>'
                )
        if written:
            middle = top + i * cell + cell / 2 + 4
            parts.append(f'<text x="{margin - 5}" y="{middle:.1f}" text-anchor="end">{escape(labels[i][:12])}</text>')
            parts.append(f'<text x="{margin + i * cell + cell / 2:.1f}" y="{top - 5}" text-anchor="middle">{escape(labels[i][:4])}</text>')
    parts.append(f'<text x="{margin}" y="{top + size + 16}">rows: truth, columns: prediction</text>')
    return "".join([*parts, "</svg>"])
