"""Results that are no numbers: confusion matrices, curves, a value per class. What their readers rely on is checked when they are noted."""

from __future__ import annotations

from typing import Any


def checked_table(name: str, table: dict[str, Any]) -> dict[str, Any]:
    """The table, with labels if it had none; ValueError where its parts do not fit. Types of one's own are left as they are."""
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
            float(value)  # "NaN" is one, as JSON has it
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"[log_table] {name!r}: expected numbers: got {value!r}") from None


def _size(value: Any) -> str:
    return f"{len(value)} values" if isinstance(value, list) else type(value).__name__
