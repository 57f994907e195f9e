"""Values of ONNX in Python: tensors, NumPy arrays of strings, lists for sequences, dicts for maps, None for an empty optional."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core import Tensor, float32, int64
from ..tensor import tensor

Value = Any  # a Tensor, a NumPy array of strings, a list of values, a dict, or None


def to_core(value: Value) -> Any:
    """Returns a value as the core takes it: strings as a pair of a shape and a list of bytes, a dict as ("map", keys, values)."""
    if value is None or isinstance(value, Tensor):
        return value
    if isinstance(value, list):
        return [to_core(item) for item in value]
    if isinstance(value, dict):
        return "map", _list_to_core(list(value)), _list_to_core(list(value.values()))
    import numpy as np

    array = np.asarray(value)
    if array.dtype.kind in "OUS":
        return array.shape, [item if isinstance(item, bytes) else str(item).encode() for item in array.ravel().tolist()]
    raise TypeError(f"[onnx] an input must be a Tensor, an array of strings, a list of them, a dict, or None: got {type(value).__name__}")


def _list_to_core(items: list[Any]) -> Any:
    """Returns the keys or the values of a map: strings, or a tensor of int64 or float32."""
    if items and all(isinstance(item, str) for item in items):
        return (len(items),), [item.encode() for item in items]
    if all(isinstance(item, (int, float)) for item in items):
        whole = all(isinstance(item, int) for item in items)
        return tensor(items, dtype=int64 if whole else float32, device="cpu")
    raise TypeError("[onnx] the keys of a map must be all strings or all integers, and its values all strings or all numbers")


def from_core(value: Any) -> Value:
    """Returns a value of the core as users see it."""
    if isinstance(value, list):
        return [from_core(item) for item in value]
    if isinstance(value, tuple) and len(value) == 3:
        keys, values = ([_text(item) for item in items] for items in value[1:])
        return dict(zip(keys, values, strict=True))
    if isinstance(value, tuple):
        import numpy as np

        shape, items = value
        array = np.empty(len(items), dtype=object)
        array[:] = [_text(item) for item in items]
        return array.reshape(shape)
    return value


def _text(item: Any) -> Any:
    return item.decode("utf-8", "replace") if isinstance(item, bytes) else item


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
