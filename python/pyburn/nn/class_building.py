"""Classes of a Module and of a class with a metaclass of its own, such as abc.ABC.

Module's metaclass comes from the binding and cannot be derived from, so Python refuses `class Metric(nn.Module, ABC)`. Such a class is
built from plain twins of the other bases, and registered with those that keep a register, so that isinstance answers as in PyTorch. That
an abstract method is left out is not noticed. All other class statements go straight to Python's own builder.
"""

from __future__ import annotations

import builtins
import types
from abc import ABC, ABCMeta
from typing import Any, Protocol

from .. import _core
from .._core._nn import Module

_KIND = type(Module)
_plain_build: Any = builtins.__build_class__
_twins: dict[type, type] = {}
_OWN = ("__dict__", "__weakref__", "_abc_impl", "__abstractmethods__")


def _clashes(kind: type) -> bool:
    return not issubclass(_KIND, kind)


def _twin(base: type) -> type:
    """A class with the members of another one and no metaclass, so that it can stand beside a Module."""
    if base in (ABC, Protocol):
        return object
    if base not in _twins:
        bases = [_twin(other) if _clashes(type(other)) else other for other in base.__bases__]
        members = {name: value for name, value in vars(base).items() if name not in _OWN}
        twin = type(base.__name__, tuple(dict.fromkeys(bases)), members)
        for name, value in members.items():
            moved = _moved(value, base, twin)
            if moved is not value:
                setattr(twin, name, moved)
        _twins[base] = twin
    return _twins[base]


def _moved(member: Any, base: type, twin: type) -> Any:
    """A method whose `super()` means the twin."""
    if isinstance(member, (classmethod, staticmethod)):
        return type(member)(_moved(member.__func__, base, twin))
    if isinstance(member, property):
        getter, setter, deleter = (_moved(part, base, twin) for part in (member.fget, member.fset, member.fdel))
        return property(getter, setter, deleter, member.__doc__)
    if not isinstance(member, types.FunctionType) or "__class__" not in member.__code__.co_freevars:
        return member
    cells = list(member.__closure__ or ())
    at = member.__code__.co_freevars.index("__class__")
    if cells[at].cell_contents is not base:
        return member
    cells[at] = types.CellType(twin)
    copy = types.FunctionType(member.__code__, member.__globals__, member.__name__, member.__defaults__, tuple(cells))
    copy.__dict__.update(member.__dict__)
    copy.__kwdefaults__, copy.__qualname__, copy.__doc__ = member.__kwdefaults__, member.__qualname__, member.__doc__
    copy.__annotations__ = member.__annotations__
    return copy


def _build_class(body: Any, name: str, *bases: Any, metaclass: Any = None, **options: Any) -> Any:
    of_modules = any(isinstance(base, type) and issubclass(base, Module) for base in bases)
    if not of_modules or not any(_clashes(type(base)) for base in bases if isinstance(base, type)):
        if of_modules and isinstance(metaclass, type) and _clashes(metaclass):
            metaclass = None
        return _plain_build(body, name, *bases, **({} if metaclass is None else {"metaclass": metaclass}), **options)
    others = [base for base in bases if isinstance(base, type) and _clashes(type(base))]
    plain = [_twin(base) if base in others else base for base in bases]
    built = _plain_build(body, name, *(base for base in dict.fromkeys(plain) if base is not object), **options)
    for other in others:
        if isinstance(other, ABCMeta):
            other.register(built)
    return built


def install() -> None:
    builder = _core._nn._class_builder(_plain_build, _build_class)
    setattr(builtins, "__build_class__", builder)  # noqa: B010  (its type says more than it is called with)
