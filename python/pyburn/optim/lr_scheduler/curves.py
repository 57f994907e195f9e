"""Plots of schedules, as SVG or text without dependencies, or as PNG with matplotlib."""

from __future__ import annotations

import copy
from typing import Any

from ... import _core
from .base import LRScheduler
from .plateau import ReduceLROnPlateau


def rates(schedule: Any, steps: int = 100, metrics: list[float] | None = None) -> list[list[float]]:
    """Returns the learning rates of the next steps, one list per group, without changing scheduler and optimizer.

    Args:
        schedule: A scheduler, a Schedule or a function of the step.
        steps: The number of steps.
        metrics: The metric of each step, for ReduceLROnPlateau.

    Raises:
        ValueError: steps is less than 1.
        TypeError: ReduceLROnPlateau needs metrics.

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
    """Plots a schedule.

    Args:
        schedule: A scheduler, a Schedule or a function of the step.
        steps: The number of steps.
        file: The file: .svg, or with matplotlib .png; None prints text.
        metrics: The metric of each step, for ReduceLROnPlateau.

    Raises:
        ImportError: matplotlib is not installed.

    >>> from pyburn.lr_scheduler import Schedule, plot
    >>> plot(Schedule.cosine(1.0, 0.0, steps=40), 40)  # doctest: +ELLIPSIS
           1 ┤...
    """
    curves = rates(schedule, steps, metrics)
    if file is None:
        print(_core._optim.curves_as_text(curves))
    elif str(file).endswith(".svg"):
        with open(file, "w", encoding="utf-8") as svg:
            svg.write(_core._optim.curves_as_svg(curves))
    else:
        _with_matplotlib(curves, file)


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
