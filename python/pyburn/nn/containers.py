"""The methods of Sequential, ModuleList and ModuleDict that need no C++."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .._core._nn import Module, ModuleList, Sequential

_Bound: Any = object


class SequenceMethods(_Bound):
    """Copied into Sequential and ModuleList by install()."""

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
            self._pb_at(operator.index(index))  # for its error
        del modules[index]
        self._pb_set_modules(modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._pb_modules_list())

    def insert(self, index: int, module: Any) -> Any:
        """Puts a module before the one at `index`."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        self._pb_insert(operator.index(index), module)
        return self

    def extend(self, modules: Iterable[Any]) -> Any:
        """Adds modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"{self._get_name()}.extend should be called with an iterable, but got {type(modules).__name__}")
        for module in list(modules):
            self.append(module)
        return self

    def pop(self, key: int | slice) -> Any:
        """Takes out the module at an index, or several."""
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
    """Copied into Sequential by install(), after SequenceMethods."""

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
    """Copied into ModuleDict by install()."""

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Any) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._pb_keys())

    def clear(self) -> None:
        """Takes out all modules."""
        self._pb_set_children([])

    def pop(self, key: str) -> Any:
        """Takes out the module of a name."""
        taken = self[key]
        del self[key]
        return taken

    def get(self, key: str, default: Any = None) -> Any:
        """The module of a name, or `default`."""
        return self._modules.get(key, default)

    def keys(self) -> Any:
        """The names."""
        return self._modules.keys()

    def values(self) -> Any:
        """The modules."""
        return self._modules.values()

    def items(self) -> Any:
        """Pairs of names and modules."""
        return self._modules.items()

    def update(self, modules: Any) -> None:
        """Adds modules from a dict or from pairs; those of the same name are replaced."""
        for key, module in pairs_of(modules, "ModuleDict"):
            self[key] = module


def pairs_of(values: Any, owner: str) -> list[tuple[str, Any]]:
    """The (name, value) pairs of a mapping or of an iterable of pairs."""
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
