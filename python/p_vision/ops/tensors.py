"""Functions of `ops` on tensors: activations with options, shapes, indexing, sorting, products."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

import pyburn
from pyburn import Tensor
from pyburn.nn import functional

from ..conversion import dtype_of


class Functions(dict[str, Callable[..., Any]]):
    """Functions by name."""

    def add(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Adds a function: a decorator."""
        self[function.__name__.removesuffix("_")] = function
        return function


FUNCTIONS = Functions()


@FUNCTIONS.add
def expand_dims(x: Tensor, axis: int | Sequence[int]) -> Tensor:
    """Inserts dimensions of size 1."""
    for place in [axis] if isinstance(axis, int) else sorted(axis):
        x = x.unsqueeze(place)
    return x


@FUNCTIONS.add
def pad(x: Tensor, pad_width: Any, mode: str = "constant", constant_values: float | None = None) -> Tensor:
    """Pads a tensor; pad_width has a pair (before, after) per dimension."""
    pairs = [(pad_width, pad_width)] * x.ndim if isinstance(pad_width, int) else [tuple(pair) for pair in pad_width]
    pairs = pairs * x.ndim if len(pairs) == 1 else pairs
    return functional.pad(x, [n for pair in reversed(pairs) for n in pair], mode, constant_values if mode == "constant" else None)


@FUNCTIONS.add
def take(x: Tensor, indices: Any, axis: int | None = None) -> Tensor:
    """Takes the slices at indices along an axis."""
    places = pyburn.as_tensor(indices, device=x.device).long()
    if axis is None:
        return x.reshape(-1)[places]
    found = x.index_select(axis, places.reshape(-1))
    at = axis % x.ndim
    return found.reshape(*x.shape[:at], *places.shape, *x.shape[at + 1 :])


@FUNCTIONS.add
def one_hot(x: Tensor, num_classes: int, axis: int = -1, dtype: Any = "float32") -> Tensor:
    """One-hot encodes integer classes."""
    classes = pyburn.as_tensor(x).long().unsqueeze(-1)
    made = (classes == pyburn.arange(num_classes, device=classes.device)).to(dtype=dtype_of(dtype))
    return made if axis == -1 else made.movedim(-1, axis)


@FUNCTIONS.add
def dot(x1: Tensor, x2: Tensor) -> Tensor:
    """The dot product: of vectors, of matrices, or along the last and the second-to-last dimension."""
    if x1.ndim and x2.ndim > 1:
        return pyburn.tensordot(x1, x2, dims=([x1.ndim - 1], [x2.ndim - 2]))
    return pyburn.matmul(x1, x2) if x1.ndim and x2.ndim else x1 * x2


@FUNCTIONS.add
def tensordot(x1: Tensor, x2: Tensor, axes: Any = 2) -> Tensor:
    """Sums products over axes of both tensors."""
    pairs = axes if isinstance(axes, int) else [[a] if isinstance(a, int) else list(a) for a in axes]
    return pyburn.tensordot(x1, x2, dims=pairs)


@FUNCTIONS.add
def get_item(x: Tensor, key: Any) -> Tensor:
    """Returns `x[key]`; slices are written as {"slice": [start, stop, step]}, as in files."""
    return x[tuple(_read(part) for part in key)] if isinstance(key, list) else x[_read(key)]


def _read(key: Any) -> Any:
    if isinstance(key, dict) and set(key) == {"slice"}:
        return builtins.slice(*key["slice"])
    return Ellipsis if key == "..." else key


def written(key: Any) -> Any:
    """Converts a subscript to its form in files.

    Args:
        key: The subscript.

    Returns:
        The subscript with slices as dicts.

    >>> from p_vision.ops.tensors import written
    >>> written((0, slice(1, 3)))
    [0, {'slice': [1, 3, None]}]
    """
    if isinstance(key, tuple):
        return [written(part) for part in key]
    if isinstance(key, builtins.slice):
        return {"slice": [key.start, key.stop, key.step]}
    return "..." if key is Ellipsis else key
