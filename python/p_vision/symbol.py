"""Tensors before there is data: what functional models are drawn with.

A layer that is called with symbols runs on the `null` device, which knows shapes and dtypes and computes nothing. Unknown extents (the
batch, the time) are found by running at two sizes: an extent of the result that changes is unknown too.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pyburn
from pyburn import DType, Tensor
from pyburn.func import functional_call
from pyburn.nn import Module

from .structure import leaves, mapped

Shape = tuple["int | None", ...]
_SIZES = ((2, 64), (3, 96))  # what unknown extents are taken to be: the first axis, the others


class Node:
    """One call of a layer with symbols."""

    def __init__(self, layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.layer, self.args, self.kwargs = layer, args, kwargs
        self.inputs: list[Symbol] = [leaf for leaf in leaves([args, kwargs]) if isinstance(leaf, Symbol)]
        self.output: Any = None  # symbols as the layer returns tensors


class Symbol:
    """A tensor that has a shape and a dtype, and no values yet. None stands for an extent that is not known."""

    def __init__(self, shape: Shape, dtype: DType, node: Node, name: str | None = None) -> None:
        self.shape, self.dtype, self.node, self.name = shape, dtype, node, name

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __repr__(self) -> str:
        name = f", name={self.name!r}" if self.name else ""
        return f"<Symbol shape={self.shape}, dtype={self.dtype.name}{name}>"

    def __add__(self, other: Any) -> Any:
        return _merged("Add", self, other)

    def __sub__(self, other: Any) -> Any:
        return _merged("Subtract", self, other)

    def __mul__(self, other: Any) -> Any:
        return _merged("Multiply", self, other)

    def __bool__(self) -> bool:
        raise TypeError("a symbol has no values yet: a model is drawn with layers, and runs when it is called with tensors")

    __array_priority__ = 1000  # numpy leaves `array + symbol` alone


def _merged(layer: str, left: Symbol, right: Any) -> Any:
    from . import merging

    if not isinstance(right, Symbol):
        return NotImplemented
    return getattr(merging, layer)()([left, right])


def has_symbol(value: Any) -> bool:
    """Whether a nested value holds a symbol."""
    if isinstance(value, Symbol):
        return True
    if isinstance(value, (list, tuple)):
        return any(has_symbol(item) for item in value)
    return isinstance(value, Mapping) and any(has_symbol(item) for item in value.values())


def symbolic_call(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The symbols that a module gives for symbols."""
    node = Node(module, args, kwargs)
    small, large = (_shapes(module, args, kwargs, sizes) for sizes in _SIZES)
    other = iter(leaves(large))

    def symbol(tensor: Tensor) -> Symbol:
        shape = tuple(a if a == b else None for a, b in zip(tensor.shape, next(other).shape))
        return Symbol(shape, tensor.dtype, node)

    node.output = mapped(symbol, small)
    return node.output


def _shapes(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], sizes: tuple[int, int]) -> Any:
    def stand_in(leaf: Any) -> Any:
        if isinstance(leaf, Symbol):
            shape = [sizes[min(axis, 1)] if extent is None else extent for axis, extent in enumerate(leaf.shape)]
            return pyburn.empty(shape, dtype=leaf.dtype, device="null")
        return leaf.to("null") if isinstance(leaf, Tensor) else leaf

    named = [*module.named_parameters(), *module.named_buffers()]
    tensors = {name: pyburn.empty(list(t.shape), dtype=t.dtype, device="null") for name, t in named}
    kwargs = {"training": False, **kwargs} if hasattr(module, "built") else kwargs
    with pyburn.no_grad(), mode(module, False), _drawing():
        return functional_call(module, tensors, mapped(stand_in, args), mapped(stand_in, kwargs))


class _State(threading.local):
    depth = 0


_state = _State()


@contextmanager
def _drawing() -> Iterator[None]:
    _state.depth += 1
    try:
        yield
    finally:
        _state.depth -= 1


def is_drawing() -> bool:
    """Whether layers run for the sake of shapes alone."""
    return _state.depth > 0


@contextmanager
def mode(module: Module, training: bool) -> Iterator[None]:
    """A module in training or in evaluation mode, and as it was afterwards."""
    before = [(part, part.training) for part in module.modules()]
    try:
        for part, _ in before:
            part.training = training
        yield
    finally:
        for part, was in before:
            part.training = was
