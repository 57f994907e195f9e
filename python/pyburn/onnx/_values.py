"""Values of ONNX in Python: tensors, NumPy arrays of strings, lists for sequences, None for an empty optional."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core import Tensor

Value = Any  # a Tensor, a NumPy array of strings, a list of values, or None


def to_core(value: Value) -> Any:
    """Returns a value as the core takes it: strings as a pair of a shape and a list of bytes."""
    if value is None or isinstance(value, Tensor):
        return value
    if isinstance(value, list):
        return [to_core(item) for item in value]
    import numpy as np

    array = np.asarray(value)
    if array.dtype.kind in "OUS":
        return array.shape, [item if isinstance(item, bytes) else str(item).encode() for item in array.ravel().tolist()]
    raise TypeError(f"[onnx] an input must be a Tensor, an array of strings, a list of them, or None: got {type(value).__name__}")


def from_core(value: Any) -> Value:
    """Returns a value of the core as users see it."""
    if isinstance(value, list):
        return [from_core(item) for item in value]
    if isinstance(value, tuple):
        import numpy as np

        shape, items = value
        array = np.empty(len(items), dtype=object)
        array[:] = [item.decode("utf-8", "replace") for item in items]
        return array.reshape(shape)
    return value


def in_order(names: Sequence[str], positional: Sequence[Value], named: dict[str, Value], what: str) -> list[Value]:
    """Returns the inputs in the order of their names."""
    if len(positional) > len(names):
        raise TypeError(f"[onnx] {what} takes {len(names)} inputs: got {len(positional)}")
    unknown = [name for name in named if name not in names[len(positional) :]]
    if unknown:
        raise TypeError(f"[onnx] {what} has no input of that name left: got {unknown[0]!r}; its inputs are {', '.join(names)}")
    rest = names[len(positional) :]
    last = max((i for i, name in enumerate(rest) if name in named), default=-1)
    return [*positional, *(named.get(name) for name in rest[: last + 1])]
