"""Functions of `ops` on tensors: activations with options, shapes, indexing, sorting, products."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

import pyburn
from pyburn import Tensor
from pyburn.nn import functional

from ..conversion import dtype_of

Axis = int | Sequence[int] | None
FUNCTIONS: dict[str, Callable[..., Any]] = {}


def _function(function: Callable[..., Any]) -> Callable[..., Any]:
    FUNCTIONS[function.__name__] = function
    return function


def axes_of(x: Tensor, axis: Axis) -> list[int]:
    """Returns the dimensions that `axis` stands for: all of them if it is None.

    Args:
        x: The tensor.
        axis: One axis, several, or None.

    >>> from p_vision.ops.tensors import axes_of
    >>> axes_of(pyburn.ones(2, 3), None)
    [0, 1]
    """
    return list(range(x.ndim)) if axis is None else [axis] if isinstance(axis, int) else list(axis)


def _line(x: Tensor, axis: int | None) -> tuple[Tensor, int]:
    return (x.reshape(-1), 0) if axis is None else (x, axis)


@_function
def gelu(x: Tensor, approximate: bool = True) -> Tensor:
    return functional.gelu(x, approximate="tanh" if approximate else "none")


@_function
def argmax(x: Tensor, axis: int | None = None, keepdims: bool = False) -> Tensor:
    return pyburn.argmax(x, axis, keepdim=keepdims)


@_function
def argmin(x: Tensor, axis: int | None = None, keepdims: bool = False) -> Tensor:
    return pyburn.argmin(x, axis, keepdim=keepdims)


@_function
def prod(x: Tensor, axis: int | None = None, keepdims: bool = False) -> Tensor:
    return pyburn.prod(x) if axis is None else pyburn.prod(x, axis, keepdim=keepdims)


@_function
def cumsum(x: Tensor, axis: int | None = None) -> Tensor:
    return pyburn.cumsum(*_line(x, axis))


@_function
def cumprod(x: Tensor, axis: int | None = None) -> Tensor:
    return pyburn.cumprod(*_line(x, axis))


@_function
def norm(x: Tensor, ord: Any = None, axis: Axis = None, keepdims: bool = False) -> Tensor:
    return pyburn.linalg.norm(x, ord, axis if axis is None else tuple(axes_of(x, axis)), keepdim=keepdims)


@_function
def normalize(x: Tensor, axis: int = -1, order: int = 2, epsilon: float = 1e-12) -> Tensor:
    return functional.normalize(x, float(order), axis, epsilon)


@_function
def moments(x: Tensor, axes: Axis, keepdims: bool = False) -> list[Tensor]:
    return [pyburn.mean(x, axes_of(x, axes), keepdim=keepdims), pyburn.var(x, axes_of(x, axes), correction=0, keepdim=keepdims)]


@_function
def clip(x: Tensor, x_min: Any, x_max: Any) -> Tensor:
    return pyburn.clamp(x, x_min, x_max)


@_function
def where(condition: Tensor, x1: Any = None, x2: Any = None) -> Any:
    return pyburn.where(condition) if x1 is None else pyburn.where(condition, x1, x2)


@_function
def cast(x: Tensor, dtype: Any) -> Tensor:
    return pyburn.as_tensor(x).to(dtype=dtype_of(dtype))


@_function
def stop_gradient(x: Tensor) -> Tensor:
    return x.detach()


@_function
def reshape(x: Tensor, newshape: Sequence[int]) -> Tensor:
    return x.reshape([newshape] if isinstance(newshape, int) else list(newshape))


@_function
def transpose(x: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    return x.permute(*(reversed(range(x.ndim)) if axes is None else axes))


@_function
def swapaxes(x: Tensor, axis1: int, axis2: int) -> Tensor:
    return x.transpose(axis1, axis2)


@_function
def moveaxis(x: Tensor, source: Any, destination: Any) -> Tensor:
    return x.movedim(source, destination)


@_function
def expand_dims(x: Tensor, axis: int | Sequence[int]) -> Tensor:
    for place in [axis] if isinstance(axis, int) else sorted(axis):
        x = x.unsqueeze(place)
    return x


@_function
def squeeze(x: Tensor, axis: Any = None) -> Tensor:
    return x.squeeze() if axis is None else x.squeeze(axis)


@_function
def concatenate(xs: Sequence[Tensor], axis: int = 0) -> Tensor:
    return pyburn.cat(list(xs), axis)


@_function
def stack(x: Sequence[Tensor], axis: int = 0) -> Tensor:
    return pyburn.stack(list(x), axis)


@_function
def unstack(x: Tensor, num: int | None = None, axis: int = 0) -> list[Tensor]:
    return list(x.unbind(axis))


@_function
def split(x: Tensor, indices_or_sections: int | Sequence[int], axis: int = 0) -> list[Tensor]:
    return list(pyburn.tensor_split(x, indices_or_sections, axis))


@_function
def tile(x: Tensor, repeats: Any) -> Tensor:
    return pyburn.tile(x, [repeats] if isinstance(repeats, int) else list(repeats))


@_function
def repeat(x: Tensor, repeats: Any, axis: int | None = None) -> Tensor:
    return x.reshape(-1).repeat_interleave(repeats) if axis is None else x.repeat_interleave(repeats, axis)


@_function
def flip(x: Tensor, axis: Axis = None) -> Tensor:
    return x.flip(axes_of(x, axis))


@_function
def roll(x: Tensor, shift: Any, axis: Any = None) -> Tensor:
    return pyburn.roll(x, shift) if axis is None else pyburn.roll(x, shift, axis)


@_function
def pad(x: Tensor, pad_width: Any, mode: str = "constant", constant_values: float | None = None) -> Tensor:
    pairs = [(pad_width, pad_width)] * x.ndim if isinstance(pad_width, int) else [tuple(pair) for pair in pad_width]
    pairs = pairs * x.ndim if len(pairs) == 1 else pairs
    return functional.pad(x, [n for pair in reversed(pairs) for n in pair], mode, constant_values if mode == "constant" else None)


@_function
def broadcast_to(x: Tensor, shape: Sequence[int]) -> Tensor:
    return x.expand(*shape)


@_function
def take(x: Tensor, indices: Any, axis: int | None = None) -> Tensor:
    places = pyburn.as_tensor(indices, device=x.device).long()
    if axis is None:
        return x.reshape(-1)[places]
    found = x.index_select(axis, places.reshape(-1))
    at = axis % x.ndim
    return found.reshape(*x.shape[:at], *places.shape, *x.shape[at + 1 :])


@_function
def take_along_axis(x: Tensor, indices: Tensor, axis: int | None = None) -> Tensor:
    return pyburn.take_along_dim(x, indices.long()) if axis is None else pyburn.take_along_dim(x, indices.long(), axis)


@_function
def sort(x: Tensor, axis: int = -1) -> Tensor:
    return pyburn.sort(x, axis)[0]


@_function
def argsort(x: Tensor, axis: int = -1) -> Tensor:
    return pyburn.argsort(x, axis, stable=True)


@_function
def top_k(x: Tensor, k: int, sorted: bool = True) -> list[Tensor]:
    return list(pyburn.topk(x, k, -1, True, sorted))


@_function
def one_hot(x: Tensor, num_classes: int, axis: int = -1, dtype: Any = "float32") -> Tensor:
    classes = pyburn.as_tensor(x).long().unsqueeze(-1)
    made = (classes == pyburn.arange(num_classes, device=classes.device)).to(dtype=dtype_of(dtype))
    return made if axis == -1 else made.movedim(-1, axis)


@_function
def dot(x1: Tensor, x2: Tensor) -> Tensor:
    if x1.ndim and x2.ndim > 1:
        return pyburn.tensordot(x1, x2, dims=([x1.ndim - 1], [x2.ndim - 2]))
    return pyburn.matmul(x1, x2) if x1.ndim and x2.ndim else x1 * x2


@_function
def tensordot(x1: Tensor, x2: Tensor, axes: Any = 2) -> Tensor:
    pairs = axes if isinstance(axes, int) else [[a] if isinstance(a, int) else list(a) for a in axes]
    return pyburn.tensordot(x1, x2, dims=pairs)


@_function
def divide_no_nan(x1: Tensor, x2: Tensor) -> Tensor:
    return pyburn.where(x2 == 0, 0.0, x1 / pyburn.where(x2 == 0, 1.0, x2))


@_function
def zeros_like(x: Tensor, dtype: Any = None) -> Tensor:
    return pyburn.zeros_like(x, dtype=dtype_of(dtype))


@_function
def ones_like(x: Tensor, dtype: Any = None) -> Tensor:
    return pyburn.ones_like(x, dtype=dtype_of(dtype))


@_function
def full_like(x: Tensor, fill_value: float, dtype: Any = None) -> Tensor:
    return pyburn.full_like(x, fill_value, dtype=dtype_of(dtype))


@_function
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
