"""Functions of `ops` that do not accept symbols: they take numbers, shapes and functions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import pyburn
from pyburn import Tensor

from ..conversion import dtype_of, to_tensor


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Tensor:
    first, last = (0, start) if stop is None else (start, stop)
    return pyburn.arange(first, last, step, dtype=dtype_of(dtype))


def linspace(start: float, stop: float, num: int = 50, dtype: Any = None) -> Tensor:
    return pyburn.linspace(start, stop, num, dtype=dtype_of(dtype))


def eye(N: int, M: int | None = None, dtype: Any = None) -> Tensor:
    return pyburn.eye(N, N if M is None else M, dtype=dtype_of(dtype))


def empty(shape: Any, dtype: Any = None) -> Tensor:
    return pyburn.empty([shape] if isinstance(shape, int) else list(shape), dtype=dtype_of(dtype))


def identity(n: int, dtype: Any = None) -> Tensor:
    return pyburn.eye(n, dtype=dtype_of(dtype))


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Tensor:
    return pyburn.ones(N, N if M is None else M, dtype=dtype_of(dtype)).tril(k)


def logspace(start: float, stop: float, num: int = 50, endpoint: bool = True, base: float = 10, dtype: Any = None) -> Tensor:
    return pyburn.logspace(start, stop, num, base=base, dtype=dtype_of(dtype))


def empty_like(x: Tensor, dtype: Any = None) -> Tensor:
    return pyburn.empty_like(x, dtype=dtype_of(dtype))


def bartlett(x: int) -> Tensor:
    return pyburn.bartlett_window(x, periodic=False)


def blackman(x: int) -> Tensor:
    return pyburn.blackman_window(x, periodic=False)


def hamming(x: int) -> Tensor:
    return pyburn.hamming_window(x, periodic=False)


def hanning(x: int) -> Tensor:
    return pyburn.hann_window(x, periodic=False)


def kaiser(x: int, beta: float) -> Tensor:
    return pyburn.kaiser_window(x, periodic=False, beta=beta)


def zeros(shape: Any, dtype: Any = None) -> Tensor:
    return pyburn.zeros(shape, dtype=dtype_of(dtype))


def ones(shape: Any, dtype: Any = None) -> Tensor:
    return pyburn.ones(shape, dtype=dtype_of(dtype))


def full(shape: Any, fill_value: float, dtype: Any = None) -> Tensor:
    return pyburn.full([shape] if isinstance(shape, int) else list(shape), float(fill_value), dtype=dtype_of(dtype))


def convert_to_tensor(x: Any, dtype: Any = None) -> Tensor:
    """Converts an array to a tensor; float64 becomes float32 unless a dtype is given."""
    tensor = to_tensor(x) if hasattr(x, "__array__") else pyburn.as_tensor(x)
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
