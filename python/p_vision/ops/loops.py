"""Functions of `ops` that call functions: conditions, loops, maps."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import pyburn
from pyburn import Tensor


def cond(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any]) -> Any:
    """Calls one of two functions; reads the condition from the device.

    Args:
        pred: The condition.
        true_fn: Called if it is True.
        false_fn: Called if it is False.

    Returns:
        The result.

    >>> p_vision.ops.cond(pyburn.tensor(True), lambda: 1, lambda: 2)
    1
    """
    return true_fn() if bool(pred) else false_fn()


def vectorized_map(function: Callable[..., Any], elements: Any) -> Any:
    """Applies a function to each row of a tensor, or to the rows of several tensors, and stacks the results.

    Args:
        function: The function of a row, or of a list of rows.
        elements: The tensor, or several.

    Returns:
        The result.

    >>> p_vision.ops.vectorized_map(lambda row: row.sum(), pyburn.ones(2, 3)).tolist()
    [3.0, 3.0]
    """
    rows = [function(row) for row in elements] if isinstance(elements, Tensor) else [function(list(row)) for row in zip(*elements)]
    return _stacked(rows)


def map(f: Callable[..., Any], xs: Any) -> Any:
    """Like vectorized_map; rows of several tensors keep their container type.

    Args:
        f: The function.
        xs: The tensor, or several.

    Returns:
        The result.

    >>> p_vision.ops.map(lambda row: row.sum(), pyburn.ones(2, 3)).tolist()
    [3.0, 3.0]
    """
    if isinstance(xs, Tensor):
        return _stacked([f(row) for row in xs])
    return _stacked([f(type(xs)(row)) for row in zip(*xs)])


def _stacked(rows: list[Any]) -> Any:
    if isinstance(rows[0], (list, tuple)):
        return type(rows[0])(_stacked(list(part)) for part in zip(*rows))
    return pyburn.stack([pyburn.as_tensor(row) for row in rows])


def scan(f: Callable[..., Any], init: Any, xs: Any = None, length: int | None = None, reverse: bool = False, unroll: int = 1) -> Any:
    """Carries a value along rows; returns the last value and the stacked outputs.

    Args:
        f: A function of the value and a row that returns the next value and an output.
        init: The first value.
        xs: The rows; None with a length.
        length: The number of steps.
        reverse: Whether to start with the last row.
        unroll: Accepted for compatibility.

    Returns:
        The result.

    >>> p_vision.ops.scan(lambda total, row: (total + row, total + row), 0.0, pyburn.tensor([1.0, 2.0]))[1].tolist()
    [1.0, 3.0]
    """
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
    """Calls a function for each index from lower up to, but not including, upper.

    Args:
        lower: The first index.
        upper: The limit.
        body_fun: A function of the index and a value that returns the next value.
        init_val: The first value.

    Returns:
        The result.

    >>> p_vision.ops.fori_loop(0, 3, lambda i, total: total + i, 0)
    3
    """
    for at in range(int(lower), int(upper)):
        init_val = body_fun(at, init_val)
    return init_val


def while_loop(cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, maximum_iterations: int | None = None) -> Any:
    """Calls a function as long as a condition is True.

    Args:
        cond: The condition, a function of the variables.
        body: A function of the variables that returns the next ones.
        loop_vars: The first variables.
        maximum_iterations: The largest number of calls.

    Returns:
        The result.

    >>> p_vision.ops.while_loop(lambda i: i < 3, lambda i: i + 1, 0)
    3
    """
    several = isinstance(loop_vars, (list, tuple))
    done = 0
    while bool(cond(*loop_vars) if several else cond(loop_vars)) and (maximum_iterations is None or done < maximum_iterations):
        loop_vars = body(*loop_vars) if several else body(loop_vars)
        done += 1
    return loop_vars


def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """Calls the function at an index; the index is read from the device and clamped.

    Args:
        index: The index.
        branches: The functions.
        *operands: Their arguments.

    Returns:
        The result.

    >>> p_vision.ops.switch(1, [lambda x: x, lambda x: -x], 5)
    -5
    """
    return branches[min(max(int(index), 0), len(branches) - 1)](*operands)


def vectorize(pyfunc: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Returns a function that applies another one to each row.

    Args:
        pyfunc: The function.
        **options: Accepted for compatibility.

    Returns:
        The result.

    >>> p_vision.ops.vectorize(lambda row: row.sum())(pyburn.ones(2, 3)).tolist()
    [3.0, 3.0]
    """
    return functools.partial(vectorized_map, pyfunc)
