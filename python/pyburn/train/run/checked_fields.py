"""Validates the JSON files of a run folder: fields of a wrong type are dropped, so readers can rely on the types."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

_DEEPEST = 64
_NUMBERS_AS_TEXT = ("NaN", "Infinity", "-Infinity")
_LATEST = 253_402_300_800.0  # the year 10000, beyond which datetime fails


def loads(data: bytes | str) -> Any:
    """Parses JSON. Raises ValueError if it is invalid or nested too deeply."""
    try:
        found = json.loads(data)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    brackets = (b"[", b"{") if isinstance(data, bytes) else ("[", "{")
    if data.count(brackets[0]) + data.count(brackets[1]) > _DEEPEST and _depth_exceeds(found, _DEEPEST):  # type: ignore[arg-type]
        raise ValueError("nested too deeply")
    return found


def _depth_exceeds(value: Any, most: int) -> bool:
    level = [value]
    for _ in range(most):
        level = [item for one in level if isinstance(one, (dict, list)) for item in (one.values() if isinstance(one, dict) else one)]
        if not level:
            return False
    return any(isinstance(one, (dict, list)) for one in level)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53 else None


def _number(value: Any) -> float | str | None:
    """A number as Run writes it; NaN and infinities are strings, since JSON has none."""
    if isinstance(value, str):
        return value if value in _NUMBERS_AS_TEXT else None
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if isinstance(value, bool) else value


def _time(value: Any) -> float | None:
    found = _number(value)
    return found if isinstance(found, (int, float)) and math.isfinite(found) and 0 <= found < _LATEST else None


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


Fields = Mapping[str, Callable[[Any], Any]]


def _checked(found: Any, fields: Fields) -> dict[str, Any]:
    """Keeps known fields of the right type (or None where None is allowed), and all unknown fields."""
    if not isinstance(found, dict):
        return {}
    kept = {}
    for key, value in found.items():
        check = fields.get(key)
        checked = value if check is None else check(value)
        if checked is not None or value is None:
            kept[key] = checked
    return kept


def _by_name(check: Callable[[Any], Any]) -> Callable[[Any], dict[str, Any]]:
    return lambda found: {k: v for k, v in ((k, check(v)) for k, v in found.items()) if v} if isinstance(found, dict) else {}


def _texts(found: Any) -> list[str]:
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


_BEST: Fields = {"value": _number, "epoch": _count, "step": _count}
_METRIC: Fields = {"higher_is_better": _flag, "unit": _text}
_STATUS: Fields = {
    **dict.fromkeys(("name", "state", "message", "host", "resume_with"), _text),
    **dict.fromkeys(("created", "updated", "finished"), _time),
    **dict.fromkeys(("format", "pid", "resumes", "epoch", "epochs", "batch", "batches", "step"), _count),
    "best": _by_name(lambda one: _checked(one, _BEST) if isinstance(one, dict) and _number(one.get("value")) is not None else None),
    "metrics": _by_name(lambda one: _checked(one, _METRIC)),
}
_CHECKPOINT: Fields = {
    "file": _text,
    **dict.fromkeys(("epoch", "batch", "step"), _count),
    "time": _time,
    "metrics": lambda found: {k: v for k, v in found.items() if _number(v) is not None} if isinstance(found, dict) else {},
    "kept_by": _texts,
}
_SAMPLES: Fields = {
    "split": _text,
    "epoch": _count,
    "step": _count,
    "samples": lambda found: [one for one in found if isinstance(one, dict)] if isinstance(found, list) else None,
}
_NOTES: Fields = {"name": _text, "notes": _text, "tags": _texts}
_TABLE: Fields = {"name": _text, "split": _text, "type": _text, "epoch": _count, "step": _count, "x_label": _text, "y_label": _text}


def checked_status(found: Any) -> dict[str, Any]:
    """Validates run.json."""
    return _checked(found, _STATUS)


def checked_notes(found: Any) -> dict[str, Any]:
    """Validates notes.json."""
    return {key: value for key, value in _checked(found, _NOTES).items() if key in _NOTES and value is not None}


def checked_checkpoint(found: Any) -> dict[str, Any]:
    """Validates an entry of checkpoints/index.json; empty if it has no file name."""
    kept = _checked(found, _CHECKPOINT)
    return kept if kept.get("file") else {}


def checked_samples(found: Any) -> dict[str, Any]:
    """Validates a file of predictions/; empty if it has no list of samples."""
    kept = _checked(found, _SAMPLES)
    return kept if kept.get("samples") is not None else {}


def checked_table_line(found: Any) -> dict[str, Any]:
    """Validates the fields that all lines of tables.jsonl share."""
    return _checked(found, _TABLE)
