"""How to advance a learning-rate schedule, determined by its interface."""

from __future__ import annotations

import inspect
from typing import Any


def advances_per_step(scheduler: Any) -> bool:
    """Returns whether the schedule advances after each optimizer step rather than each epoch.

    True if `per_step` says so, or without it, if the schedule has `total_steps` or combines a schedule that advances per step.
    """
    said = getattr(scheduler, "per_step", None)
    if said is not None:
        return bool(said)
    return hasattr(scheduler, "total_steps") or any(advances_per_step(part) for part in getattr(scheduler, "_schedulers", ()))


def takes_metric(scheduler: Any) -> bool:
    """Returns whether `step` takes a metric, as in ReduceLROnPlateau: its first parameter is required or named metric or metrics."""
    try:
        parameters = inspect.signature(scheduler.step).parameters.values()
    except (TypeError, ValueError):  # a callable without a signature
        return False
    first = next(iter(parameters), None)
    if first is None or first.kind in (first.VAR_POSITIONAL, first.VAR_KEYWORD):
        return False
    return first.default is first.empty or first.name in ("metric", "metrics")


def schedule_state(scheduler: Any) -> dict[str, Any] | None:
    """Returns the state of a schedule for a checkpoint: {} if it has no state_dict, None without a schedule."""
    if scheduler is None:
        return None
    return scheduler.state_dict() if hasattr(scheduler, "state_dict") else {}
