"""Arguments and results of a step: the tensors in them, and a key for the rest."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from .. import _core
from .._core import Tensor

SIMPLE = frozenset([int, float, complex, bool, str, bytes, type(None), type(...), _core.DType, _core.Device])


def value_key(value: Any) -> Any:
    """Returns a simple value in a form that compares by identity of the number: 0.0 and -0.0 differ, NaN equals itself."""
    return repr(value) if type(value) in (float, complex) and (value == 0 or value != value) else value


class Call:
    """The arguments of a call.

    Attributes:
        tensors: The tensors among them, each once.
        key: Everything else, with dtypes, shapes and strides of the tensors. Hashable.
        kept: Objects that the key names by their identity.
    """

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.tensors: list[Tensor] = []
        self.kept: list[Any] = []
        self._places: dict[int, int] = {}
        self.key = (self._key(args), self._key(kwargs) if kwargs else None, _core.get_default_dtype())

    def _key(self, value: Any) -> Any:
        kind = type(value)
        if isinstance(value, Tensor):
            place = self._places.setdefault(id(value), len(self.tensors))
            if place < len(self.tensors):
                return place
            self.tensors.append(value)
            return Tensor, tuple(value.shape), value.stride(), value.dtype, value.device, value.requires_grad
        if kind in SIMPLE:
            return kind, value_key(value)
        if kind is tuple or kind is list:
            return kind, *map(self._key, value)
        if kind is dict:
            return kind, *((name, self._key(item)) for name, item in value.items())
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return kind, *map(self._key, value)
        self.kept.append(value)
        return "object", id(value)


class Results:
    """How a result is put together from the tensors that a program computes."""

    def __init__(self, result: Any, call: Call) -> None:
        self.tensors: list[Tensor] = []
        self.refusal = ""
        self._inputs = {id(t): i for i, t in enumerate(call.tensors)}
        self.key: list[Any] = []
        self._build = self._builder(result)

    def build(self, computed: Sequence[Tensor], inputs: Sequence[Tensor]) -> Any:
        """Returns the result of a run."""
        return self._build(computed, inputs)

    def _builder(self, value: Any) -> Callable[[Sequence[Tensor], Sequence[Tensor]], Any]:
        kind = type(value)
        if isinstance(value, Tensor):
            if (at := self._inputs.get(id(value))) is not None:
                self.key.append(("input", at))
                return lambda computed, inputs: inputs[at]
            if value.is_leaf and value.requires_grad:
                self.key.append(("same", id(value)))
                return lambda computed, inputs: value
            place = len(self.tensors)
            self.tensors.append(value)
            self.key.append("tensor")
            return lambda computed, inputs: computed[place]
        if kind in SIMPLE:
            self.key.append((kind, value_key(value)))
            return lambda computed, inputs: value
        self.key.append(kind)
        if kind in (tuple, list) or (isinstance(value, tuple) and hasattr(value, "_fields")):
            parts = [self._builder(item) for item in value]
            make: Any = kind._make if hasattr(kind, "_make") else kind  # a named tuple
            return lambda computed, inputs: make([part(computed, inputs) for part in parts])
        if kind is dict:
            named = {name: self._builder(item) for name, item in value.items()}
            self.key.append(tuple(named))
            return lambda computed, inputs: {name: part(computed, inputs) for name, part in named.items()}
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = {f.name: self._builder(getattr(value, f.name)) for f in dataclasses.fields(value) if f.init}
            return lambda computed, inputs: kind(**{name: part(computed, inputs) for name, part in fields.items()})
        self.refusal = self.refusal or f"it returns an object of type {kind.__name__}: expected tensors, numbers and containers"
        return lambda computed, inputs: value
