"""The methods of Sequential, ModuleList and ModuleDict that are implemented in Python."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .._core._nn import Module, ModuleList, Sequential

_Bound: Any = object


class SequenceMethods(_Bound):
    """Methods copied into Sequential and ModuleList by install()."""

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            if isinstance(self, Sequential):
                return type(self)(OrderedDict(list(self._modules.items())[index]))
            return type(self)(self._pb_modules_list()[index])
        return self._pb_at(operator.index(index))

    def __setitem__(self, index: int, module: Any) -> None:
        self._pb_set(operator.index(index), module)

    def __delitem__(self, index: int | slice) -> None:
        modules = self._pb_modules_list()
        if not isinstance(index, slice):
            self._pb_at(operator.index(index))  # raises IndexError
        del modules[index]
        self._pb_set_modules(modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._pb_modules_list())

    def insert(self, index: int, module: Any) -> Any:
        """Inserts a module before the one at `index`."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        self._pb_insert(operator.index(index), module)
        return self

    def extend(self, modules: Iterable[Any]) -> Any:
        """Appends modules."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"{self._get_name()}.extend should be called with an iterable, but got {type(modules).__name__}")
        for module in list(modules):
            self.append(module)
        return self

    def pop(self, key: int | slice) -> Any:
        """Removes and returns the module at an index, or several for a slice."""
        taken = self[key]
        del self[key]
        return taken

    def __iadd__(self, modules: Iterable[Any]) -> Any:
        return self.extend(modules)

    def __add__(self, other: Iterable[Any]) -> Any:
        return ModuleList([*self, *other])

    def __dir__(self) -> list[str]:
        return [name for name in Module.__dir__(self) if not name.isdigit()]


class SequentialMethods(_Bound):
    """Methods copied into Sequential by install(), after SequenceMethods."""

    def __add__(self, other: Any) -> Any:
        _check_sequential(other)
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Any:
        _check_sequential(other)
        return self.extend(other)

    def __mul__(self, other: int) -> Any:
        _check_factor(self, other)
        return Sequential(*(self._pb_modules_list() * other))

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Any:
        _check_factor(self, other)
        return self.extend(self._pb_modules_list() * (other - 1))


class ModuleDictMethods(_Bound):
    """Methods copied into ModuleDict by install()."""

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Any) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._pb_keys())

    def clear(self) -> None:
        """Removes all modules."""
        self._pb_set_children([])

    def pop(self, key: str) -> Any:
        """Removes and returns a module."""
        taken = self[key]
        del self[key]
        return taken

    def get(self, key: str, default: Any = None) -> Any:
        """Returns a module by name, or `default`."""
        return self._modules.get(key, default)

    def keys(self) -> Any:
        """Returns the names."""
        return self._modules.keys()

    def values(self) -> Any:
        """Returns the modules."""
        return self._modules.values()

    def items(self) -> Any:
        """Returns (name, module) pairs."""
        return self._modules.items()

    def update(self, modules: Any) -> None:
        """Adds modules from a mapping or from pairs, replacing those of the same name."""
        for key, module in pairs_of(modules, "ModuleDict"):
            self[key] = module


def pairs_of(values: Any, owner: str) -> list[tuple[str, Any]]:
    """Returns the (name, value) pairs of a mapping or of an iterable of pairs."""
    if not isinstance(values, Iterable):
        raise TypeError(f"{owner}.update should be called with an iterable of key/value pairs, but got {type(values).__name__}")
    if isinstance(values, Mapping) or hasattr(values, "items"):
        return list(values.items())
    pairs = []
    for i, pair in enumerate(values):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{owner} update sequence element #{i} should be Iterable; is{type(pair).__name__}")
        pair = list(pair)
        if len(pair) != 2:
            raise ValueError(f"{owner} update sequence element #{i} has length {len(pair)}; 2 is required")
        pairs.append((pair[0], pair[1]))
    return pairs


def _check_sequential(other: Any) -> None:
    if not isinstance(other, Sequential):
        raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")


def _check_factor(self: Any, other: Any) -> None:
    if not isinstance(other, int):
        raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
    if other <= 0:
        raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")
