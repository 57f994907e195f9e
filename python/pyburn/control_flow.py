"""Branches and loops that a captured model keeps: eager, they run Python; captured, each becomes one node that holds graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import _core
from ._core import Tensor
from ._trees import TreeSpec, tree_flatten, tree_unflatten

__all__ = ["as_size", "cond", "scan", "while_loop"]


class _Outputs:
    """Remembers the structure of what functions return; all of them must agree."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.spec: TreeSpec | None = None

    def flatten(self, tree: Any) -> list[Tensor]:
        leaves, spec = tree_flatten(tree)
        for leaf in leaves:
            if not isinstance(leaf, Tensor):
                raise TypeError(f"[{self.name}] functions must return tensors: got {type(leaf).__name__}")
        if self.spec is not None and spec != self.spec:
            raise ValueError(f"[{self.name}] the functions return different structures: got {spec} and {self.spec}")
        self.spec = spec
        return leaves

    def unflatten(self, leaves: Sequence[Tensor]) -> Any:
        assert self.spec is not None
        return tree_unflatten(leaves, self.spec)


def _tensors(name: str, tree: Any, what: str) -> tuple[list[Tensor], TreeSpec]:
    leaves, spec = tree_flatten(tree)
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise TypeError(f"[{name}] {what} must be tensors: got {type(leaf).__name__}")
    return leaves, spec


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Sequence[Any] = ()) -> Any:
    """Returns true_fn(*operands) if pred is true, else false_fn(*operands).

    While a model is captured, both functions become graphs of one node, and the values decide when it runs. They must return the same
    structure of tensors with equal dtypes and ranks.

    Args:
        pred: A bool, or a tensor of one element.
        true_fn: A function of the operands. It may use tensors of the model, but not write to them.
        false_fn: The same.
        operands: Trees of tensors.

    Raises:
        ShapeError: pred has several elements.

    >>> pyburn.cond(pyburn.tensor(True), lambda x: x + 1, lambda x: x - 1, (pyburn.ones(2),))
    tensor([2., 2.])
    """
    if not isinstance(pred, Tensor):
        return true_fn(*operands) if pred else false_fn(*operands)
    leaves, spec = _tensors("cond", tuple(operands), "operands")
    outputs = _Outputs("cond")

    def branch(function: Callable[..., Any]) -> Callable[[Any], list[Tensor]]:
        return lambda values: outputs.flatten(function(*tree_unflatten(values, spec)))

    return outputs.unflatten(_core._cond(pred, branch(true_fn), branch(false_fn), leaves))


def while_loop(
    cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Sequence[Any], *, max_iterations: int | None = None
) -> Any:
    """Replaces the carried inputs by body_fn(*carried) while cond_fn(*carried) is true, and returns them.

    While a model is captured, the loop becomes one node. Shapes may change from step to step; dtypes and ranks may not.

    Args:
        cond_fn: Returns a bool tensor of one element.
        body_fn: Returns new carried values, in the structure of carried_inputs.
        carried_inputs: Trees of tensors.
        max_iterations: A bound on the number of steps.

    Raises:
        ValueError: The loop does not end within max_iterations, or there are no carried tensors.

    >>> pyburn.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (pyburn.tensor(0), pyburn.ones(2)))
    (tensor(3), tensor([8., 8.]))
    """
    leaves, spec = _tensors("while_loop", tuple(carried_inputs), "carried_inputs")

    def flag(values: Any) -> list[Tensor]:
        more = cond_fn(*tree_unflatten(values, spec))
        return [more if isinstance(more, Tensor) else _core.full((), bool(more), dtype=_core.bool)]

    def step(values: Any) -> list[Tensor]:
        result = body_fn(*tree_unflatten(values, spec))
        fresh, found = _tensors("while_loop", tuple(result) if isinstance(result, (tuple, list)) else (result,), "results of body_fn")
        if found != spec:
            raise ValueError(f"[while_loop] body_fn returns another structure than carried_inputs: got {found}, expected {spec}")
        return fresh

    return tree_unflatten(_core._while_loop(flag, step, leaves, max_iterations or 0), spec)


def scan(combine_fn: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any, *, dim: int = 0, reverse: bool = False) -> tuple[Any, Any]:
    """Runs carry, y = combine_fn(carry, x) for each entry x of xs along dim, and returns the last carry and all y, stacked.

    While a model is captured, the scan becomes one node, whatever the number of entries.

    Args:
        combine_fn: Maps a carry and an entry to a new carry, of the same shapes and dtypes, and a result.
        init: The first carry; a tree of tensors.
        xs: A tree of tensors with equal sizes along dim.
        dim: The dimension of xs. Results are stacked along the first dimension.
        reverse: Whether to begin with the last entry. Results keep the order of xs.

    Raises:
        ShapeError: The tensors of xs have different sizes along dim.

    >>> pyburn.scan(lambda total, x: (total + x, total * x), pyburn.zeros(2), pyburn.ones(3, 2))[0]
    tensor([3., 3.])
    """
    carried, carried_spec = _tensors("scan", init, "init")
    sequences, entry_spec = _tensors("scan", xs, "xs")
    outputs = _Outputs("scan")

    def step(values: Any) -> list[Tensor]:
        carry, y = combine_fn(tree_unflatten(values[: len(carried)], carried_spec), tree_unflatten(values[len(carried) :], entry_spec))
        fresh, found = _tensors("scan", carry, "the carry")
        if found != carried_spec:
            raise ValueError(f"[scan] combine_fn returns another structure of carry than init: got {found}, expected {carried_spec}")
        return fresh + outputs.flatten(y)

    results = _core._scan(step, carried, sequences, dim, reverse)
    return tree_unflatten(results[: len(carried)], carried_spec), outputs.unflatten(results[len(carried) :])


def as_size(value: Any) -> int:
    """Returns an integer for use as a size: int(value).

    While a model is captured and the value is not known, the result stands for it: as an argument of later operations (a shape, the end of
    a slice, the end of arange) it becomes the value of each run. Python code must not branch on it.

    Args:
        value: An int, or an integer tensor of one element, at least 0.

    Raises:
        ValueError: The value is negative.

    >>> pyburn.inference.as_size(pyburn.tensor(3))
    3
    """
    return _core._as_size(value) if isinstance(value, Tensor) else int(value)
