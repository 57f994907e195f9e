"""Keras's `ops`: functions of tensors with its names and arguments, which build functional models when called with symbols.

from p_vision import ops

ops.mean(x, axis=-1, keepdims=True)
ops.concatenate([a, b], axis=1)
"""

from __future__ import annotations

import builtins
import functools
import sys
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pyburn
from pyburn import Tensor
from pyburn.nn import functional

from .. import activations
from ..layer import as_input, dtype_of
from ..losses import functions
from ..symbolic.operation import Operation, drawing, table
from . import arrays, networks

Axis = int | Sequence[int] | None


def _operation(function: Callable[..., Any], name: str | None = None) -> Any:
    """Adds a function to the table; called with symbols, it adds a node to the graph."""
    key = name or function.__name__
    globals()[key] = drawing(function, key)
    return globals()[key]


def _axes(x: Tensor, axis: Axis) -> list[int]:
    return list(range(x.ndim)) if axis is None else [axis] if isinstance(axis, int) else list(axis)


def _reduction(name: str, function: Callable[..., Tensor], **fixed: Any) -> None:
    def reduce(x: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
        given = pyburn.as_tensor(x)
        if name in ("mean", "std", "var", "logsumexp") and not given.is_floating_point():
            given = given.float()  # the mean of booleans is a fraction
        return function(given, _axes(given, axis), keepdim=keepdims, **fixed)

    _operation(reduce, name)


for _name in ("sum", "mean", "logsumexp", "amax", "amin", "any", "all"):
    _reduction(_name, getattr(pyburn, _name))
_reduction("max", pyburn.amax)
_reduction("min", pyburn.amin)
_reduction("std", pyburn.std, correction=0)
_reduction("var", pyburn.var, correction=0)

# Element-wise functions of one or two tensors with the same arguments in pyburn.
_SAME = """
abs absolute add arccos arccosh arcsin arcsinh arctan arctan2 arctanh bitwise_and bitwise_not bitwise_or bitwise_xor ceil cos cosh
cross deg2rad diag divide einsum erf erfinv exp exp2 expm1 fmod floor floor_divide heaviside hypot isclose isfinite isinf isnan
kron log log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor matmul meshgrid multiply nan_to_num nonzero
outer rad2deg reciprocal round rsqrt sigmoid sign sin sinc sinh sqrt square subtract tan tanh tril triu trunc vdot
"""
_OTHER_NAMES = {
    "equal": "eq",
    "not_equal": "ne",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "power": "pow",
    "negative": "neg",
    "mod": "remainder",
    "true_divide": "divide",
    "inner": "inner",
    "relu": "relu",
    "ravel": "ravel",
}


def _with_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps a binary function whose first argument can be a number."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        if len(args) > 1 and not isinstance(args[0], Tensor) and isinstance(args[1], Tensor) and isinstance(args[0], (int, float, bool)):
            args = (pyburn.tensor(args[0], device=args[1].device), *args[1:])
        return function(*args, **kwargs)

    return called


for _name in _SAME.split():
    _operation(_with_numbers(getattr(pyburn, _name)), _name)
for _name, _theirs in _OTHER_NAMES.items():
    _operation(_with_numbers(getattr(pyburn, _theirs)), _name)
for _name in [
    "celu",
    "elu",
    "hard_sigmoid",
    "hard_silu",
    "hard_tanh",
    "log_sigmoid",
    "mish",
    "relu6",
    "selu",
    "silu",
    "softplus",
    "softsign",
    "swish",
]:
    _operation(activations.get(_name), _name)
for _name in ("binary_crossentropy", "categorical_crossentropy", "sparse_categorical_crossentropy"):
    _operation(getattr(functions, _name), _name)


def _pairwise(name: str, function: Callable[..., Tensor]) -> None:
    def of_two(x1: Any, x2: Any) -> Tensor:
        first = x1 if isinstance(x1, Tensor) else pyburn.as_tensor(x1, dtype=x2.dtype, device=x2.device)
        return function(first, x2 if isinstance(x2, Tensor) else pyburn.as_tensor(x2, dtype=first.dtype, device=first.device))

    _operation(of_two, name)


_pairwise("maximum", pyburn.maximum)
_pairwise("minimum", pyburn.minimum)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Tensor:
    first, last = (0, start) if stop is None else (start, stop)
    return pyburn.arange(first, last, step, dtype=dtype_of(dtype))


def linspace(start: float, stop: float, num: int = 50, dtype: Any = None) -> Tensor:
    return pyburn.linspace(start, stop, num, dtype=dtype_of(dtype))


def eye(N: int, M: int | None = None, dtype: Any = None) -> Tensor:
    return pyburn.eye(N, N if M is None else M, dtype=dtype_of(dtype))


@_operation
def leaky_relu(x: Tensor, negative_slope: float = 0.2) -> Tensor:
    return functional.leaky_relu(x, negative_slope)


@_operation
def gelu(x: Tensor, approximate: bool = True) -> Tensor:
    return functional.gelu(x, approximate="tanh" if approximate else "none")


@_operation
def softmax(x: Tensor, axis: int = -1) -> Tensor:
    return functional.softmax(x, axis)


@_operation
def log_softmax(x: Tensor, axis: int = -1) -> Tensor:
    return functional.log_softmax(x, axis)


@_operation
def argmax(x: Tensor, axis: int | None = None, keepdims: bool = False) -> Tensor:
    return pyburn.argmax(x, axis, keepdim=keepdims)


@_operation
def argmin(x: Tensor, axis: int | None = None, keepdims: bool = False) -> Tensor:
    return pyburn.argmin(x, axis, keepdim=keepdims)


@_operation
def prod(x: Tensor, axis: int | None = None, keepdims: bool = False) -> Tensor:
    return pyburn.prod(x) if axis is None else pyburn.prod(x, axis, keepdim=keepdims)


@_operation
def cumsum(x: Tensor, axis: int | None = None) -> Tensor:
    return pyburn.cumsum(x.reshape(-1), 0) if axis is None else pyburn.cumsum(x, axis)


@_operation
def cumprod(x: Tensor, axis: int | None = None) -> Tensor:
    return pyburn.cumprod(x.reshape(-1), 0) if axis is None else pyburn.cumprod(x, axis)


@_operation
def norm(x: Tensor, ord: Any = None, axis: Axis = None, keepdims: bool = False) -> Tensor:
    return pyburn.linalg.norm(x, ord, axis if axis is None else tuple(_axes(x, axis)), keepdim=keepdims)


@_operation
def normalize(x: Tensor, axis: int = -1, order: int = 2, epsilon: float = 1e-12) -> Tensor:
    return functional.normalize(x, float(order), axis, epsilon)


@_operation
def moments(x: Tensor, axes: Axis, keepdims: bool = False) -> list[Tensor]:
    return [pyburn.mean(x, _axes(x, axes), keepdim=keepdims), pyburn.var(x, _axes(x, axes), correction=0, keepdim=keepdims)]


@_operation
def clip(x: Tensor, x_min: Any, x_max: Any) -> Tensor:
    return pyburn.clamp(x, x_min, x_max)


@_operation
def where(condition: Tensor, x1: Any = None, x2: Any = None) -> Any:
    return pyburn.where(condition) if x1 is None else pyburn.where(condition, x1, x2)


@_operation
def cast(x: Tensor, dtype: Any) -> Tensor:
    return pyburn.as_tensor(x).to(dtype=dtype_of(dtype))


@_operation
def stop_gradient(x: Tensor) -> Tensor:
    return x.detach()


@_operation
def reshape(x: Tensor, newshape: Sequence[int]) -> Tensor:
    return x.reshape([newshape] if isinstance(newshape, int) else list(newshape))


@_operation
def transpose(x: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    return x.permute(*(reversed(range(x.ndim)) if axes is None else axes))


@_operation
def swapaxes(x: Tensor, axis1: int, axis2: int) -> Tensor:
    return x.transpose(axis1, axis2)


@_operation
def moveaxis(x: Tensor, source: Any, destination: Any) -> Tensor:
    return x.movedim(source, destination)


@_operation
def expand_dims(x: Tensor, axis: int | Sequence[int]) -> Tensor:
    for place in [axis] if isinstance(axis, int) else sorted(axis):
        x = x.unsqueeze(place)
    return x


@_operation
def squeeze(x: Tensor, axis: Any = None) -> Tensor:
    return x.squeeze() if axis is None else x.squeeze(axis)


@_operation
def concatenate(xs: Sequence[Tensor], axis: int = 0) -> Tensor:
    return pyburn.cat(list(xs), axis)


@_operation
def stack(x: Sequence[Tensor], axis: int = 0) -> Tensor:
    return pyburn.stack(list(x), axis)


@_operation
def unstack(x: Tensor, num: int | None = None, axis: int = 0) -> list[Tensor]:
    return list(x.unbind(axis))


@_operation
def split(x: Tensor, indices_or_sections: int | Sequence[int], axis: int = 0) -> list[Tensor]:
    return list(pyburn.tensor_split(x, indices_or_sections, axis))


@_operation
def tile(x: Tensor, repeats: Any) -> Tensor:
    return pyburn.tile(x, [repeats] if isinstance(repeats, int) else list(repeats))


@_operation
def repeat(x: Tensor, repeats: Any, axis: int | None = None) -> Tensor:
    return x.reshape(-1).repeat_interleave(repeats) if axis is None else x.repeat_interleave(repeats, axis)


@_operation
def flip(x: Tensor, axis: Axis = None) -> Tensor:
    return x.flip(_axes(x, axis))


@_operation
def roll(x: Tensor, shift: Any, axis: Any = None) -> Tensor:
    return pyburn.roll(x, shift) if axis is None else pyburn.roll(x, shift, axis)


@_operation
def pad(x: Tensor, pad_width: Any, mode: str = "constant", constant_values: float | None = None) -> Tensor:
    pairs = [(pad_width, pad_width)] * x.ndim if isinstance(pad_width, int) else [tuple(pair) for pair in pad_width]
    pairs = pairs * x.ndim if len(pairs) == 1 else pairs
    return functional.pad(x, [n for pair in reversed(pairs) for n in pair], mode, constant_values if mode == "constant" else None)


@_operation
def broadcast_to(x: Tensor, shape: Sequence[int]) -> Tensor:
    return x.expand(*shape)


@_operation
def take(x: Tensor, indices: Any, axis: int | None = None) -> Tensor:
    places = pyburn.as_tensor(indices, device=x.device).long()
    if axis is None:
        return x.reshape(-1)[places]
    found = x.index_select(axis, places.reshape(-1))
    at = axis % x.ndim
    return found.reshape(*x.shape[:at], *places.shape, *x.shape[at + 1 :])


@_operation
def take_along_axis(x: Tensor, indices: Tensor, axis: int | None = None) -> Tensor:
    return pyburn.take_along_dim(x, indices.long()) if axis is None else pyburn.take_along_dim(x, indices.long(), axis)


@_operation
def sort(x: Tensor, axis: int = -1) -> Tensor:
    return pyburn.sort(x, axis)[0]


@_operation
def argsort(x: Tensor, axis: int = -1) -> Tensor:
    return pyburn.argsort(x, axis, stable=True)


@_operation
def top_k(x: Tensor, k: int, sorted: bool = True) -> list[Tensor]:
    return list(pyburn.topk(x, k, -1, True, sorted))


@_operation
def one_hot(x: Tensor, num_classes: int, axis: int = -1, dtype: Any = "float32") -> Tensor:
    classes = pyburn.as_tensor(x).long().unsqueeze(-1)
    made = (classes == pyburn.arange(num_classes, device=classes.device)).to(dtype=dtype_of(dtype))
    return made if axis == -1 else made.movedim(-1, axis)


@_operation
def dot(x1: Tensor, x2: Tensor) -> Tensor:
    if x1.ndim and x2.ndim > 1:
        return pyburn.tensordot(x1, x2, dims=([x1.ndim - 1], [x2.ndim - 2]))
    return pyburn.matmul(x1, x2) if x1.ndim and x2.ndim else x1 * x2


@_operation
def tensordot(x1: Tensor, x2: Tensor, axes: Any = 2) -> Tensor:
    pairs = axes if isinstance(axes, int) else [[a] if isinstance(a, int) else list(a) for a in axes]
    return pyburn.tensordot(x1, x2, dims=pairs)


@_operation
def divide_no_nan(x1: Tensor, x2: Tensor) -> Tensor:
    return pyburn.where(x2 == 0, 0.0, x1 / pyburn.where(x2 == 0, 1.0, x2))


@_operation
def zeros_like(x: Tensor, dtype: Any = None) -> Tensor:
    return pyburn.zeros_like(x, dtype=dtype_of(dtype))


@_operation
def ones_like(x: Tensor, dtype: Any = None) -> Tensor:
    return pyburn.ones_like(x, dtype=dtype_of(dtype))


@_operation
def full_like(x: Tensor, fill_value: float, dtype: Any = None) -> Tensor:
    return pyburn.full_like(x, fill_value, dtype=dtype_of(dtype))


@_operation
def get_item(x: Tensor, key: Any) -> Tensor:
    """Returns `x[key]`; slices are written as {"slice": [start, stop, step]}, as in files."""
    return x[tuple(_read(part) for part in key)] if isinstance(key, list) else x[_read(key)]


def _read(key: Any) -> Any:
    if isinstance(key, dict) and set(key) == {"slice"}:
        return builtins.slice(*key["slice"])
    return Ellipsis if key == "..." else key


def written(key: Any) -> Any:
    """Converts a subscript to its form in files."""
    if isinstance(key, tuple):
        return [written(part) for part in key]
    if isinstance(key, builtins.slice):
        return {"slice": [key.start, key.stop, key.step]}
    return "..." if key is Ellipsis else key


# ---- functions that do not accept symbols


def zeros(shape: Any, dtype: Any = None) -> Tensor:
    return pyburn.zeros(shape, dtype=dtype_of(dtype))


def ones(shape: Any, dtype: Any = None) -> Tensor:
    return pyburn.ones(shape, dtype=dtype_of(dtype))


def full(shape: Any, fill_value: float, dtype: Any = None) -> Tensor:
    return pyburn.full([shape] if isinstance(shape, int) else list(shape), float(fill_value), dtype=dtype_of(dtype))


def convert_to_tensor(x: Any, dtype: Any = None) -> Tensor:
    """Converts an array to a tensor; float64 becomes float32 unless a dtype is given."""
    tensor = as_input(x) if hasattr(x, "__array__") else pyburn.as_tensor(x)
    return tensor if dtype is None else tensor.to(dtype=dtype_of(dtype))


array = convert_to_tensor


def convert_to_numpy(x: Any) -> Any:
    return x.detach().to("cpu").numpy() if isinstance(x, Tensor) else pyburn.as_tensor(x).numpy()


def is_tensor(x: Any) -> bool:
    return isinstance(x, Tensor)


def shape(x: Any) -> tuple[Any, ...]:
    return tuple(x.shape)


def ndim(x: Any) -> int:
    return len(x.shape)


def size(x: Any) -> int:
    return int(x.numel()) if isinstance(x, Tensor) else pyburn.as_tensor(x).numel()


def cond(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any]) -> Any:
    """Calls one of two functions; reads the condition from the device."""
    return true_fn() if bool(pred) else false_fn()


def dtype(x: Any) -> str:
    """Returns the name of the dtype of a tensor."""
    return x.dtype.name


def view(x: Tensor, dtype: Any = None) -> Tensor:
    return x if dtype is None else x.view(dtype_of(dtype) or x.dtype)


def vectorized_map(function: Callable[..., Any], elements: Any) -> Any:
    """Applies a function to each row of a tensor, or to the rows of several tensors, and stacks the results."""
    rows = [function(row) for row in elements] if isinstance(elements, Tensor) else [function(list(row)) for row in zip(*elements)]
    return _stacked(rows)


def map(f: Callable[..., Any], xs: Any) -> Any:
    """Like vectorized_map; rows of several tensors keep their container type."""
    if isinstance(xs, Tensor):
        return _stacked([f(row) for row in xs])
    return _stacked([f(type(xs)(row)) for row in zip(*xs)])


def _stacked(rows: list[Any]) -> Any:
    if isinstance(rows[0], (list, tuple)):
        return type(rows[0])(_stacked(list(part)) for part in zip(*rows))
    return pyburn.stack([pyburn.as_tensor(row) for row in rows])


def scan(f: Callable[..., Any], init: Any, xs: Any = None, length: int | None = None, reverse: bool = False, unroll: int = 1) -> Any:
    """Carries a value along rows; returns the last value and the stacked outputs."""
    count = length if xs is None else len(xs)
    if count is None:
        raise ValueError("[scan] give xs or a length")
    carry, found = init, []
    for at in reversed(range(count)) if reverse else range(count):
        carry, given = f(carry, None if xs is None else xs[at])
        found.append(given)
    found = found[::-1] if reverse else found
    return carry, None if not found or found[0] is None else _stacked(found)


def fori_loop(lower: int, upper: int, body_fun: Callable[..., Any], init_val: Any) -> Any:
    for at in range(int(lower), int(upper)):
        init_val = body_fun(at, init_val)
    return init_val


def while_loop(cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, maximum_iterations: int | None = None) -> Any:
    several = isinstance(loop_vars, (list, tuple))
    done = 0
    while bool(cond(*loop_vars) if several else cond(loop_vars)) and (maximum_iterations is None or done < maximum_iterations):
        loop_vars = body(*loop_vars) if several else body(loop_vars)
        done += 1
    return loop_vars


def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """Calls the function at an index; the index is read from the device and clamped."""
    return branches[min(max(int(index), 0), len(branches) - 1)](*operands)


def vectorize(pyfunc: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    return functools.partial(vectorized_map, pyfunc)


def __getattr__(name: str) -> Any:
    if name in ("nn", "numpy", "linalg", "core", "math"):  # Keras has these submodules
        return sys.modules[__name__]
    raise AttributeError(f"p_vision.ops has no {name!r}: functions of pyburn take tensors too, and `Lambda` puts them into a model")


for _name, _function in {**arrays.FUNCTIONS, **networks.FUNCTIONS}.items():
    _operation(_with_numbers(_function), _name)
for _name in (
    "glu",
    "hard_shrink",
    "hard_swish",
    "soft_shrink",
    "sparse_plus",
    "sparse_sigmoid",
    "sparsemax",
    "squareplus",
    "tanh_shrink",
    "threshold",
):
    _operation(activations.get(_name), _name)
globals().update(arrays.PLAIN)
image = SimpleNamespace(**{name: drawing(function, f"image.{name}", name) for name, function in networks.IMAGE.items()})

_PLAIN = """
dtype fori_loop image map scan switch vectorize vectorized_map view while_loop arange array cond convert_to_numpy
convert_to_tensor eye full is_tensor linspace ndim ones shape size zeros
"""
__all__ = [*(name for name in table if "." not in name), *_PLAIN.split(), *arrays.PLAIN, "Operation"]
