"""What the Python code of a step reads besides its arguments, and whether it has changed."""

from __future__ import annotations

import dis
import functools
import logging
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .. import _core
from .._core import Tensor
from ..nn import Module
from ..optim import Optimizer
from .calls import SIMPLE, value_key

_MISSING = object()
_MOST_ITEMS = 256  # of a container that is compared item by item
_DEPTH = 6
_HOOKS = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")
_OWN = __name__.partition(".")[0]
_EFFECTS = frozenset(["print", "input", "open", "breakpoint"])  # builtins that programs call for their effect


class Guards:
    """Values that a function reaches through its closure, globals, defaults and `self`: numbers, flags of modules, options of optimizers.

    Numbers and strings are compared by value, containers item by item, other objects by identity and by their own attributes. Code of
    pyburn is not searched.
    """

    def __init__(self, function: Callable[..., Any], also: Iterable[Any] = ()) -> None:
        self._entries: list[tuple[dict[Any, Any], Any, Any, str]] = []  # a dict, a key, the value there, its name
        self._cells: list[tuple[Any, Any, str]] = []
        self._lists: list[tuple[Any, list[Any], str]] = []
        self._sizes: list[tuple[Any, int, str]] = []
        self._seen: set[int] = set()
        self.modules: list[Module] = []
        self.refusal = ""  # of what a replay would leave out
        for root in (function, *also):
            self._visit(root, "", _DEPTH)
        self._changes = _core._module_changes()
        self._modules = self._state_of_modules()

    def changed(self) -> str:
        """Returns the name of a value that has changed; empty if there is none."""
        for cell, value, name in self._cells:
            if not _same(_content(cell), value):
                return name
        for values, key, value, name in self._entries:
            now = values.get(key, _MISSING)
            if now is not value and not _same(now, value):
                return name
        for container, size, name in self._sizes:
            if len(container) != size:
                return name
        for items, before, name in self._lists:
            if len(items) != len(before) or not all(map(_same, items, before)):
                return name
        changes = _core._module_changes()
        if changes != self._changes:
            state = self._state_of_modules()
            for (name, now), (_, before) in zip(state, self._modules):
                if now != before:
                    return name
            if len(state) != len(self._modules):
                return "a module"
            self._changes = changes
        return ""

    def _state_of_modules(self) -> list[tuple[str, Any]]:
        return [(f"{type(root).__name__}.{name}", _state_of(m)) for root in self.modules for name, m in root.named_modules()]

    def _visit(self, value: Any, name: str, depth: int) -> None:
        if type(value) in SIMPLE or isinstance(value, (Tensor, type, types.ModuleType)) or id(value) in self._seen or depth == 0:
            return
        self._seen.add(id(value))
        if isinstance(value, types.MethodType):
            self._visit(value.__self__, name or "self", depth)
            self._visit(value.__func__, name, depth)
        elif isinstance(value, types.FunctionType):
            self._visit_function(value, name, depth)
        elif isinstance(value, logging.Logger):
            self.refusal = f"it uses the logger {name}, which a replay would leave out"
        elif isinstance(value, functools.partial):
            for part in (value.func, value.args, value.keywords):
                self._visit(part, name, depth)
        elif isinstance(value, Module):
            self.modules.append(value)
            for m in value.modules():
                if any(getattr(m, hooks) for hooks in _HOOKS):
                    self.refusal = f"{type(m).__name__} has hooks, which are called in each pass"
                if not type(m).__module__.startswith(_OWN + "."):
                    self._visit_function(type(m).forward, type(m).__name__, depth - 1)  # globals and closures of its code
        elif isinstance(value, Optimizer):
            self._lists.append((value.param_groups, list(value.param_groups), f"{name}.param_groups"))
            # Optimizers of the core compute their numbers anew in each run; others have read them while they ran.
            if getattr(value, "_core_name", None) is None:
                for i, group in enumerate(value.param_groups):
                    self._visit_dict(group, f"{name}.param_groups[{i}]", depth)
        elif type(value) is dict:
            self._visit_dict(value, name, depth)
        elif type(value) in (list, tuple) and len(value) <= _MOST_ITEMS:
            if type(value) is list:
                self._lists.append((value, list(value), name))
            for i, item in enumerate(value):
                self._visit(item, f"{name}[{i}]", depth - 1)
        elif isinstance(getattr(value, "__dict__", None), dict) and not type(value).__module__.startswith(_OWN + "."):
            self._visit_dict(value.__dict__, name, depth)
            self._visit_function(vars(type(value)).get("__call__"), name, depth - 1)

    def _visit_dict(self, values: dict[Any, Any], name: str, depth: int) -> None:
        if len(values) > _MOST_ITEMS:
            return
        self._sizes.append((values, len(values), name))
        for key, value in list(values.items()):
            place = f"{name}.{key}" if isinstance(key, str) else f"{name}[{key!r}]"
            self._entries.append((values, key, value, place))
            self._visit(value, place, depth - 1)

    def _visit_function(self, function: Any, name: str, depth: int) -> None:
        if not isinstance(function, types.FunctionType) or depth <= 0:
            return
        if (function.__module__ or "").split(".")[0] == _OWN and function.__module__ != "__main__":
            return
        code = function.__code__
        for cell_name, cell in zip(code.co_freevars, function.__closure__ or ()):
            value = _content(cell)
            self._cells.append((cell, value, cell_name))
            self._visit(value, cell_name, depth - 1)
        for global_name in _global_names(code):
            if global_name in _EFFECTS and global_name not in function.__globals__:
                self.refusal = f"it calls {global_name}() ({code.co_filename}:{code.co_firstlineno}), which a replay would leave out"
            if global_name in function.__globals__:
                value = function.__globals__[global_name]
                self._entries.append((function.__globals__, global_name, value, global_name))
                self._visit(value, global_name, depth - 1)
        for value in (function.__defaults__, function.__kwdefaults__):
            self._visit(value, name or "a default", depth - 1)


def assigned_outside(function: Callable[..., Any]) -> str:
    """Returns where a function assigns a variable of the code around it; empty if it does not. Replaying would leave that out."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if code is None:
        return ""
    line = code.co_firstlineno
    for instruction in dis.get_instructions(code):
        if isinstance(instruction.starts_line, int) and not isinstance(instruction.starts_line, bool):
            line = instruction.starts_line
        outside = instruction.opname == "STORE_GLOBAL" or (instruction.opname == "STORE_DEREF" and instruction.argval in code.co_freevars)
        if outside:
            return f"it assigns the variable {instruction.argval!r} of the code around it ({code.co_filename}:{line})"
    return ""


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return _MISSING


def _same(now: Any, before: Any) -> bool:
    return now is before or (type(now) is type(before) and type(now) in SIMPLE and value_key(now) == value_key(before))


@functools.lru_cache(maxsize=1024)
def _global_names(code: types.CodeType) -> tuple[str, ...]:
    return tuple(_names_in(code))


def _names_in(code: types.CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname == "LOAD_GLOBAL":
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names_in(constant)


def _state_of(m: Module) -> tuple[Any, ...]:
    """What the code of a module reads from the module itself. Tensors are compared where they are used."""
    own = tuple((key, value) for key, value in vars(m).items() if type(value) in SIMPLE and not key.startswith("__"))
    hooks = tuple(len(getattr(m, name)) for name in _HOOKS)
    registered = tuple((name, id(p)) for name, p in m.named_parameters(recurse=False))
    return id(m), m.training, m.extra_repr(), own, hooks, registered
