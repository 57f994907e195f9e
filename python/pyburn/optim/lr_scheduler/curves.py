"""The curve of a schedule, as SVG or text, with nothing else installed; PNG by matplotlib."""

from __future__ import annotations

import copy
from typing import Any

from .base import LRScheduler
from .plateau import ReduceLROnPlateau

_COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf")


def rates(schedule: Any, steps: int = 100, metrics: list[float] | None = None) -> list[list[float]]:
    """The rates of the next steps, one list per group. The scheduler and its optimiser stay as they are.

    >>> from pyburn.lr_scheduler import Schedule, rates
    >>> rates(Schedule.linear(0.0, 1.0, steps=2), 4)
    [[0.0, 0.5, 1.0, 1.0]]
    """
    if steps < 1:
        raise ValueError(f"expected at least one step: got {steps}")
    if not isinstance(schedule, LRScheduler):
        return [[float(schedule(step)) for step in range(steps)]]
    if isinstance(schedule, ReduceLROnPlateau) and metrics is None:
        raise TypeError("ReduceLROnPlateau follows a metric: give metrics=, one number per step")
    optimizer = schedule.optimizer
    stand_in = object.__new__(type(optimizer))
    stand_in.defaults = optimizer.defaults
    stand_in.param_groups = [{key: copy.copy(value) for key, value in g.items() if key != "params"} for g in optimizer.param_groups]
    stand_in._opt_called = True
    twin: Any = copy.deepcopy(schedule, {id(optimizer): stand_in})
    curves: list[list[float]] = [[] for _ in stand_in.param_groups]
    for step in range(steps if metrics is None else len(metrics)):
        for curve, group in zip(curves, stand_in.param_groups):
            curve.append(float(group["lr"]))
        if metrics is not None:
            twin.step(metrics[step])
        elif step + 1 < steps:
            twin.step()
    return curves


def plot(schedule: Any, steps: int = 100, file: str | None = None, metrics: list[float] | None = None) -> None:
    """Draws a scheduler, a Schedule or a function of the step: into a file (.svg, or .png with matplotlib), or as text.

    >>> from pyburn.lr_scheduler import Schedule, plot
    >>> plot(Schedule.cosine(1.0, 0.0, steps=40), 40)  # doctest: +ELLIPSIS
           1 ┤...
    """
    curves = rates(schedule, steps, metrics)
    if file is None:
        print(as_text(curves))
    elif str(file).endswith(".svg"):
        with open(file, "w", encoding="utf-8") as svg:
            svg.write(as_svg(curves))
    else:
        _with_matplotlib(curves, file)


def as_text(curves: list[list[float]], width: int = 64, height: int = 12) -> str:
    """The curves in characters."""
    low, high = _range(curves)
    longest = max(len(curve) for curve in curves)
    width = min(width, longest)
    rows = [[" "] * width for _ in range(height)]
    for curve in curves:
        for x in range(width):
            value = curve[min(len(curve) - 1, x * longest // width)]
            rows[height - 1 - round((value - low) / (high - low) * (height - 1))][x] = "•"
    labels = [f"{high - (high - low) * i / (height - 1):.3g}" for i in range(height)]
    lines = [f"{label:>8} ┤{''.join(row)}".rstrip() for label, row in zip(labels, rows)]
    return "\n".join([*lines, f"{'':>8} └{'─' * width}", f"{'':>9}0{longest - 1:>{width}}"])


def as_svg(curves: list[list[float]], width: int = 640, height: int = 360) -> str:
    """The curves as an SVG document."""
    low, high = _range(curves)
    longest = max(2, max(len(curve) for curve in curves))
    left, bottom, right, top = 70, height - 40, width - 20, 20

    def x(step: float) -> float:
        return left + (right - left) * step / (longest - 1)

    def y(value: float) -> float:
        return bottom - (bottom - top) * (value - low) / (high - low)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<path d="M{left} {top}V{bottom}H{right}" fill="none" stroke="black"/>',
    ]
    for i in range(5):
        value, step = low + (high - low) * i / 4, (longest - 1) * i / 4
        parts.append(f'<path d="M{left} {y(value):.1f}H{right}" stroke="#dddddd"/>')
        parts.append(f'<text x="{left - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:.3g}</text>')
        parts.append(f'<text x="{x(step):.1f}" y="{bottom + 18}" text-anchor="middle">{step:.0f}</text>')
    for i, curve in enumerate(curves):
        points = " ".join(f"{x(step):.1f},{y(value):.1f}" for step, value in enumerate(curve))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{_COLOURS[i % len(_COLOURS)]}" stroke-width="2"/>')
    parts.append(f'<text x="{(left + right) / 2}" y="{height - 6}" text-anchor="middle">step</text></svg>')
    return "\n".join(parts) + "\n"


def _range(curves: list[list[float]]) -> tuple[float, float]:
    values = [value for curve in curves for value in curve]
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - (abs(low) or 1) / 2, high + (abs(high) or 1) / 2)


def _with_matplotlib(curves: list[list[float]], file: str) -> None:
    try:
        from matplotlib.figure import Figure  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise ImportError(f"writing {file} needs matplotlib; .svg needs nothing") from None
    figure = Figure()
    axes = figure.subplots()
    for curve in curves:
        axes.plot(curve)
    axes.set_xlabel("step")
    axes.set_ylabel("learning rate")
    figure.savefig(file)
