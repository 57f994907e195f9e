"""Functions of tensors that accept symbols, and the layer that represents them in a graph."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable
from typing import Any

from pyburn._nested import mapped

from ..conversion import as_input
from ..layer import Layer
from .symbol import has_symbol

table: dict[str, Callable[..., Any]] = {}  # functions by their name in files


class Operation(Layer):
    """A layer that runs a function of `ops`; created when the function is called with a symbol.

    Args:
        operation: The name of the function.
        **options: The arguments of every layer, such as name.

    Raises:
        ValueError: There is no function of this name.

    >>> p_vision.Operation("square")(pyburn.tensor([3.0]))
    tensor([9.])
    """

    def __init__(self, operation: str, **options: Any) -> None:
        super().__init__(**options)
        if operation not in table:
            importlib.import_module("p_vision.ops")  # this import fills the table
        if operation not in table:
            raise ValueError(f"[Operation] there is no {operation!r} in ops")
        self.operation = operation

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return table[self.operation](*args, **kwargs)

    @property
    def name(self) -> str:
        return self._name or self.operation.rpartition(".")[2]

    def _hand_on(self, inputs: Any, masks: Any, output: Any) -> None:
        """Does nothing: functions of tensors do not propagate masks, as in Keras."""


# Keras's names of arguments, and those of the functions of pyburn.
_NAMES = {
    "x": ("input",),
    "x1": ("input", "elements"),
    "x2": ("other", "vec2", "values", "test_elements", "exponent"),
    "y": ("other",),
    "array": ("input",),
    "xs": ("tensors",),
    "k": ("diagonal",),
    "axis": ("dim",),
    "axes": ("dims",),
    "target": ("y_true",),
    "output": ("y_pred",),
}


@functools.cache
def _renamed(function: Callable[..., Any]) -> dict[str, str]:
    """Returns the name of an argument for each of Keras's names that the function does not have."""
    given = inspect.signature(function).parameters
    found = {name: next((other for other in others if other in given), None) for name, others in _NAMES.items() if name not in given}
    return {name: other for name, other in found.items() if other is not None}


def drawing(function: Callable[..., Any], key: str, name: str | None = None) -> Any:
    """Wraps a function to add a node to the graph when it is called with symbols; files refer to it by the key.

    It takes the arguments of functions of pyburn by Keras's names, too.
    """
    table[key] = function

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            names = _renamed(function)
            kwargs = {names.get(given, given): value for given, value in kwargs.items()}
        if has_symbol(args) or has_symbol(kwargs):
            return Operation(key)(*args, **kwargs)
        return function(*mapped(as_input, args), **mapped(as_input, kwargs))

    called.__name__ = called.__qualname__ = name or key
    return called
