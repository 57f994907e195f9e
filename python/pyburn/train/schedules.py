"""How a schedule of learning rates wants to be advanced: told by its interface, whatever its class."""

from __future__ import annotations

import inspect
from typing import Any


def advances_per_step(scheduler: Any) -> bool:
    """Whether `step` belongs after each step of the optimiser, not after each epoch: `per_step` says so, or a number of `total_steps`, or a
    part of a combined schedule."""
    said = getattr(scheduler, "per_step", None)
    if said is not None:
        return bool(said)
    return hasattr(scheduler, "total_steps") or any(advances_per_step(part) for part in getattr(scheduler, "_schedulers", ()))


def takes_metric(scheduler: Any) -> bool:
    """Whether `step` wants a value to look at, as that of ReduceLROnPlateau: its first parameter has no default, or is called metric(s)."""
    try:
        parameters = inspect.signature(scheduler.step).parameters.values()
    except (TypeError, ValueError):  # of a function that does not tell
        return False
    first = next(iter(parameters), None)
    if first is None or first.kind in (first.VAR_POSITIONAL, first.VAR_KEYWORD):
        return False
    return first.default is first.empty or first.name in ("metric", "metrics")
