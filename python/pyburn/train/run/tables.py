"""Validates tables when they are logged: confusion matrices, curves, per-class values."""

from __future__ import annotations

from typing import Any


def checked_table(name: str, table: dict[str, Any]) -> dict[str, Any]:
    """Returns the table, with default labels if it has none. Unknown types are returned unchanged.

    Raises:
        ValueError: The parts of the table do not match.
    """
    kind = table.get("type")
    if kind == "curve":
        x, y = table.get("x"), table.get("y")
        if not isinstance(x, list) or not isinstance(y, list) or len(x) != len(y):
            raise ValueError(f"[log_table] {name!r}: a curve has lists x and y of one length: got {_size(x)} and {_size(y)}")
        _numbers(name, [*x, *y])
    elif kind in ("confusion_matrix", "per_class"):
        values = table.get("values")
        if not isinstance(values, list):
            raise ValueError(f"[log_table] {name!r}: a {kind} has a list of values: got {_size(values)}")
        if kind == "confusion_matrix" and any(not isinstance(row, list) or len(row) != len(values) for row in values):
            raise ValueError(f"[log_table] {name!r}: a confusion matrix has as many columns as rows, {len(values)}")
        _numbers(name, values if kind == "per_class" else [count for row in values for count in row])
        labels = table.get("labels")
        labels = list(range(len(values))) if labels is None else labels
        if not isinstance(labels, list) or len(labels) != len(values):
            raise ValueError(f"[log_table] {name!r}: there are {len(values)} classes: got labels {labels!r}")
        return {**table, "labels": [str(label) for label in labels]}
    return table


def _numbers(name: str, values: list[Any]) -> None:
    for value in values:
        try:
            float(value)  # accepts "NaN", which is how it is written in JSON
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"[log_table] {name!r}: expected numbers: got {value!r}") from None


def _size(value: Any) -> str:
    return f"{len(value)} values" if isinstance(value, list) else type(value).__name__
