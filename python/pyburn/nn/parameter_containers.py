"""ParameterList and ParameterDict: containers of parameters. Values other than tensors are kept unchanged."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .._core import Tensor
from .._core._nn import Module
from .containers import pairs_of
from .parameter import Parameter


def _as_parameter(value: Any) -> Any:
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _line(key: Any, value: Any) -> str:
    if not isinstance(value, Tensor):
        return f"  ({key}): Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"  ({key}): {kind} containing: [{value.dtype} of size {'x'.join(map(str, value.shape))}]"


class ParameterList(Module):
    """A list of parameters; tensors are converted to parameters.

    Args:
        values: The initial values.

    >>> weights = pyburn.nn.ParameterList([pyburn.ones(2) for _ in range(3)])
    >>> len(list(weights.parameters()))
    3
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _key(self, index: Any) -> str:
        index = operator.index(index)
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range")
        return str(index % len(self))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)([self[i] for i in range(*index.indices(len(self)))])
        return getattr(self, self._key(index))

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, self._key(index), _as_parameter(value))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __iadd__(self, values: Iterable[Any]) -> ParameterList:
        return self.extend(values)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, value: Any) -> ParameterList:
        """Appends a value.

        Args:
            value: A parameter, a tensor or any other value.

        Returns:
            The list itself.
        """
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Appends several values.

        Args:
            values: The values.

        Returns:
            The list itself.

        Raises:
            TypeError: values is not iterable.
        """
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(_line(i, value) for i, value in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dict of parameters; tensors are converted to parameters.

    Args:
        parameters: The initial values: a dict or pairs (name, value).

    >>> weights = pyburn.nn.ParameterDict({"left": pyburn.ones(2), "right": pyburn.ones(3)})
    >>> [name for name, _ in weights.named_parameters()]
    ['left', 'right']
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._names: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        if not isinstance(key, str):
            raise TypeError(f"Index given to ParameterDict cannot be used as a key as it is not a string (type is '{type(key).__name__}').")
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise TypeError(f"Index given to ParameterDict cannot be used as a key as it is not a string (type is '{type(key).__name__}').")
        setattr(self, key, _as_parameter(value))
        self._names[key] = None

    def __delitem__(self, key: str) -> None:
        del self._names[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._names)

    def __contains__(self, key: str) -> bool:
        return key in self._names

    def copy(self) -> ParameterDict:
        """Returns a new ParameterDict with the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Returns the value of a name, after setting it to `default` if it is missing.

        Args:
            key: The name.
            default: The value for a missing name.
        """
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Removes all values."""
        for key in list(self):
            del self[key]

    def pop(self, key: str) -> Any:
        """Removes and returns a value.

        Args:
            key: The name.
        """
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Removes and returns the (name, value) pair added last.

        Raises:
            KeyError: The dict is empty.
        """
        if not self._names:
            raise KeyError("popitem(): the ParameterDict is empty")
        key = next(reversed(self._names))
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """Returns the value of a name, or `default`.

        Args:
            key: The name.
            default: The result for a missing name.
        """
        return self[key] if key in self._names else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """Returns a ParameterDict with the same value for all names.

        Args:
            keys: The names.
            default: The value.
        """
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> Any:
        """Returns the names."""
        return self._names.keys()

    def items(self) -> Iterator[tuple[str, Any]]:
        """Iterates over (name, value) pairs.

        Returns:
            An iterator over the pairs.
        """
        return ((key, self[key]) for key in self._names)

    def values(self) -> Iterator[Any]:
        """Iterates over the values.

        Returns:
            An iterator over the values.
        """
        return (self[key] for key in self._names)

    def update(self, parameters: Any) -> None:
        """Adds values from a dict, sorted by name as in PyTorch, or from an OrderedDict or pairs, in their order.

        Args:
            parameters: The values: a dict, or pairs of name and value.
        """
        pairs = pairs_of(parameters, "ParametersDict" if not isinstance(parameters, Iterable) else "ParameterDict")
        keeps_order = isinstance(parameters, (OrderedDict, ParameterDict)) or not isinstance(parameters, Mapping)
        for key, value in pairs if keeps_order else sorted(pairs, key=lambda pair: pair[0]):
            self[key] = value

    def extra_repr(self) -> str:
        return "\n".join(_line(key, value) for key, value in self.items())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: Any) -> ParameterDict:
        joined = self.copy()
        joined.update(other)
        return joined

    def __ror__(self, other: Any) -> ParameterDict:
        joined = ParameterDict(other)
        joined.update(self)
        return joined

    def __ior__(self, other: Any) -> ParameterDict:
        self.update(other)
        return self
