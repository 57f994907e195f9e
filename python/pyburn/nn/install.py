"""Adds the methods implemented in Python to the classes from C++."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core._nn import Module, ModuleDict, ModuleList, Sequential
from .containers import ModuleDictMethods, SequenceMethods, SequentialMethods
from .hook_methods import HookMethods
from .module_methods import ModuleMethods
from .module_moves import MoveMethods
from .module_state import StateMethods
from .parameter import Parameter

_SOURCES: dict[Any, list[type]] = {
    Module: [ModuleMethods, MoveMethods, StateMethods, HookMethods],
    Sequential: [SequenceMethods, SequentialMethods],
    ModuleList: [SequenceMethods],
    ModuleDict: [ModuleDictMethods],
}
_NOT_METHODS = {"__module__", "__dict__", "__weakref__", "__doc__", "__qualname__", "__firstlineno__", "__static_attributes__"}


def copy_methods(source: type, target: Any) -> None:
    """Copies the methods of a class into another one."""
    for name, value in vars(source).items():
        if name not in _NOT_METHODS:
            setattr(target, name, value)


def install() -> None:
    """Copies all methods into the classes from C++, and tells the core the class of parameters."""
    _core._set_parameter_class(Parameter)
    for target, sources in _SOURCES.items():
        for source in sources:
            copy_methods(source, target)
