"""Symbolic tensors, from which functional models are built.

A layer that is called with symbols runs on the `null` device, which computes only shapes and dtypes. Unknown sizes (batch, time) are
found by running at two sizes: a size of the result that changes is unknown too.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pyburn
from pyburn import DType, Tensor
from pyburn._nested import leaves, mapped
from pyburn.func import functional_call
from pyburn.nn import Module

from ..variables import Assignable, Shown

Shape = tuple["int | None", ...]
_SIZES = ((2, 64), (3, 96))  # sizes used for unknown dimensions: the first dimension, the others


class Text:
    """The dtype of text inputs, which tensors cannot hold: arrays of strings are passed to the layers."""

    name = "string"
    is_floating_point = False


TEXT: Any = Text()


def is_text(value: Any) -> bool:
    """Returns whether a value is an array of strings."""
    return hasattr(value, "dtype") and getattr(value.dtype, "kind", "") in "UST" and not isinstance(value, Tensor)


def text_array(shape: Shape, sizes: tuple[int, int]) -> Any:
    """Returns an array of strings that stands for a text input; the number of words depends on sizes."""
    import numpy

    return numpy.full([sizes[min(axis, 1)] if extent is None else extent for axis, extent in enumerate(shape)], " ".join("x" * sizes[1]))


class Node:
    """A call of a layer with symbols."""

    def __init__(self, layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.layer, self.args, self.kwargs = layer, args, kwargs
        self.inputs: list[Symbol] = [leaf for leaf in leaves([args, kwargs]) if isinstance(leaf, Symbol)]
        self.output: Any = None  # symbols in the structure of the layer's output


class Symbol:
    """A tensor with a shape and a dtype but no values; None is an unknown size."""

    def __init__(self, shape: Shape, dtype: DType, node: Node, name: str | None = None) -> None:
        self.shape, self.dtype, self.node, self.name = shape, dtype, node, name

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __repr__(self) -> str:
        name = f", name={self.name!r}" if self.name else ""
        return f"<Symbol shape={self.shape}, dtype={self.dtype.name}{name}>"

    def __getitem__(self, key: Any) -> Any:
        from ..ops import written

        return _operated("get_item", self, written(key))

    def __neg__(self) -> Any:
        return _operated("negative", self)

    def __abs__(self) -> Any:
        return _operated("abs", self)

    def __bool__(self) -> bool:
        raise TypeError("a symbol has no values yet: a model is drawn with layers, and runs when it is called with tensors")

    __hash__ = object.__hash__  # equality stays identity
    __array_priority__ = 1000  # numpy leaves `array + symbol` to Symbol


KerasTensor = Symbol  # Keras's name


def _operated(operation: str, *args: Any) -> Any:
    from .operation import Operation

    return Operation(operation)(*args)


def _add_operators() -> None:
    """Defines operators such as `symbol + 1` and `symbol > 0` by the functions of `ops`."""
    both = {"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "pow": "power", "matmul": "matmul", "mod": "mod"}
    single = {"ne": "not_equal", "gt": "greater", "ge": "greater_equal", "lt": "less", "le": "less_equal"}
    for operator, operation in {**both, **single}.items():
        setattr(Symbol, f"__{operator}__", lambda self, other, operation=operation: _operated(operation, self, other))
    for operator, operation in both.items():
        setattr(Symbol, f"__r{operator}__", lambda self, other, operation=operation: _operated(operation, other, self))


_add_operators()


def has_symbol(value: Any) -> bool:
    """Returns whether a nested value contains a symbol."""
    if isinstance(value, Symbol):
        return True
    if isinstance(value, (list, tuple)):
        return any(has_symbol(item) for item in value)
    return isinstance(value, Mapping) and any(has_symbol(item) for item in value.values())


def symbolic_call(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Returns the output symbols of a module for input symbols."""
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
            if leaf.dtype is TEXT:
                return text_array(leaf.shape, sizes)
            shape = [sizes[min(axis, 1)] if extent is None else extent for axis, extent in enumerate(leaf.shape)]
            return pyburn.empty(shape, dtype=leaf.dtype, device="null")
        return leaf.to("null") if isinstance(leaf, Tensor) else leaf

    kwargs = {"training": False, **kwargs} if hasattr(module, "built") else kwargs
    with pyburn.no_grad(), _drawing(), pyburn.device("null"), mode(module, False):
        return without_values(module, mapped(stand_in, args), mapped(stand_in, kwargs))


def without_values(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Runs a module on tensors on `null`, with its weights replaced by empty ones."""
    named = [*module.named_parameters(), *module.named_buffers()]
    tensors: dict[str, Tensor] = {}
    for name, tensor in named:
        empty = pyburn.empty(list(tensor.shape), dtype=tensor.dtype, device="null")
        tensors[name] = Shown(empty) if isinstance(tensor, Assignable) else empty
    return functional_call(module, tensors, args, kwargs)


class _State(threading.local):
    depth = 0
    device: Any = None  # device of weights that are created in symbolic calls


_state = _State()


@contextmanager
def _drawing() -> Iterator[None]:
    if not _state.depth:
        _state.device = pyburn.get_default_device()
    _state.depth += 1
    try:
        yield
    finally:
        _state.depth -= 1


def drawing_device() -> Any:
    """Returns the device for weights that are created in symbolic calls."""
    return _state.device


def is_drawing() -> bool:
    """Returns whether layers run only to compute shapes."""
    return _state.depth > 0


@contextmanager
def mode(module: Module, training: bool) -> Iterator[None]:
    """Context manager that sets training or evaluation mode and restores it afterwards."""
    before = [(part, part.training) for part in module.modules()]
    try:
        for part, _ in before:
            part.training = training
        yield
    finally:
        for part, was in before:
            part.training = was
