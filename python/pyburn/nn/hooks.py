"""Hooks of modules: where they are kept, and calls that go through them.

They live in the module's own dict, so copies and pickles carry them. A module without any is called straight from C++.
"""

from __future__ import annotations

import itertools
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from .. import _core
from .backward_hooks import BackwardHooks

_ids = itertools.count()


class Hook:
    """A hook and how it wants to be called."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        with_kwargs: bool = False,
        always_call: bool = False,
        with_module: bool = True,
        may_replace: bool = False,
    ) -> None:
        self.function = function
        self.with_kwargs = with_kwargs
        self.always_call = always_call
        self.with_module = with_module
        self.may_replace = may_replace

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)


class ModuleHooks:
    """All hooks of one module, or those of every module, by kind."""

    KINDS = ("forward_pre", "forward", "backward_pre", "backward", "state_dict_pre", "state_dict", "load_pre", "load_post")
    forward_pre: OrderedDict[int, Hook]
    forward: OrderedDict[int, Hook]
    backward_pre: OrderedDict[int, Hook]
    backward: OrderedDict[int, Hook]
    state_dict_pre: OrderedDict[int, Hook]
    state_dict: OrderedDict[int, Hook]
    load_pre: OrderedDict[int, Hook]
    load_post: OrderedDict[int, Hook]

    def __init__(self) -> None:
        for kind in self.KINDS:
            setattr(self, kind, OrderedDict())


class RemovableHandle:
    """Takes a hook away again; also as a context manager."""

    def __init__(self, hooks: OrderedDict[int, Any], hook: Any, prepend: bool = False) -> None:
        self.id = next(_ids)
        self._hooks = hooks
        hooks[self.id] = hook
        if prepend:
            hooks.move_to_end(self.id, last=False)

    def remove(self) -> None:
        """Takes the hook away."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


class GlobalHandle(RemovableHandle):
    """The handle of a hook of all modules."""

    def __init__(self, hooks: OrderedDict[int, Any], hook: Any) -> None:
        super().__init__(hooks, hook)
        _tell_core()

    def remove(self) -> None:
        super().remove()
        _tell_core()


_none = ModuleHooks()
_everywhere = ModuleHooks()
_registrations: dict[str, OrderedDict[int, Any]] = {kind: OrderedDict() for kind in ("parameter", "buffer", "module")}


def _tell_core() -> None:
    calls = any(getattr(_everywhere, kind) for kind in ModuleHooks.KINDS)
    _core._nn._use_global_hooks(calls, any(_registrations.values()))


def hooks_of(module: Any) -> ModuleHooks:
    return module.__dict__.get("_hooks", _none)


def add_hook(module: Any, kind: str, hook: Hook, prepend: bool = False) -> RemovableHandle:
    hooks = module.__dict__.setdefault("_hooks", ModuleHooks())
    module._call_host(True)  # calls from C++ come through Python from now on
    return RemovableHandle(getattr(hooks, kind), hook, prepend)


def forget_if_empty(module: Any) -> None:
    """Lets calls go straight to C++ again where the last hook has gone."""
    if not any(getattr(hooks_of(module), kind) for kind in ModuleHooks.KINDS):
        module.__dict__.pop("_hooks", None)


def call_with_hooks(module: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Runs a module's pre-hooks, its forward, and its hooks; what a hook returns takes the place of what it was given."""
    own = hooks_of(module)
    after = [*_everywhere.forward.values(), *own.forward.values()]
    met: set[int] = set()
    result = None
    try:
        for hook in [*_everywhere.forward_pre.values(), *own.forward_pre.values()]:
            args, kwargs = _run_pre_hook(module, hook, args, kwargs)
        before_backward = [*_everywhere.backward_pre.values(), *own.backward_pre.values()]
        in_backward = [*_everywhere.backward.values(), *own.backward.values()]
        backward = BackwardHooks(module, before_backward, in_backward) if before_backward or in_backward else None
        if backward:
            args = backward.watch_inputs(args)
        result = module.forward(*args, **kwargs)
        for hook in after:
            met.add(id(hook))
            changed = _run_hook(module, hook, args, kwargs, result)
            result = result if changed is None else changed
        return backward.watch_outputs(result) if backward else result
    except Exception:
        for hook in after:
            if hook.always_call and id(hook) not in met:
                try:
                    changed = _run_hook(module, hook, args, kwargs, result)
                    result = result if changed is None else changed
                except Exception as error:
                    warnings.warn(
                        "module forward hook with ``always_call=True`` raised an exception that was silenced as another error was "
                        f"raised in forward: {error}",
                        stacklevel=2,
                    )
        raise


def _run_hook(module: Any, hook: Hook, args: tuple, kwargs: dict[str, Any], result: Any) -> Any:
    return hook(module, args, kwargs, result) if hook.with_kwargs else hook(module, args, result)


def _run_pre_hook(module: Any, hook: Hook, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
    if hook.with_kwargs:
        changed = hook(module, args, kwargs)
        if changed is None:
            return args, kwargs
        if not (isinstance(changed, tuple) and len(changed) == 2):
            raise RuntimeError(f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {changed}.")
        return changed
    changed = hook(module, args)
    if changed is None:
        return args, kwargs
    return (changed if isinstance(changed, tuple) else (changed,)), kwargs


def registered_value(kind: str, module: Any, name: str, value: Any) -> Any:
    """What is registered in place of `value`, after the global registration hooks. Called by C++."""
    for hook in list(_registrations[kind].values()):
        changed = hook(module, name, value)
        value = value if changed is None else changed
    return value


# ---- hooks of all modules


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls hook(module, args) before each forward of every module."""
    return GlobalHandle(_everywhere.forward_pre, Hook(hook))


def register_module_forward_hook(hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False) -> RemovableHandle:
    """Calls hook(module, args, output) after each forward of every module, before the module's own hooks.

    >>> from pyburn.module import register_module_forward_hook
    >>> with register_module_forward_hook(lambda module, args, output: print(type(module).__name__)):
    ...     _ = pyburn.nn.Linear(2, 3)(pyburn.ones(2))
    Linear
    """
    return GlobalHandle(_everywhere.forward, Hook(hook, with_kwargs=with_kwargs, always_call=always_call))


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls hook(module, grad_output) before the gradients of every module are computed."""
    return GlobalHandle(_everywhere.backward_pre, Hook(hook))


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls hook(module, grad_input, grad_output) when the gradients of a module's inputs are known, for every module."""
    return GlobalHandle(_everywhere.backward, Hook(hook))


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls hook(module, name, parameter) when any module registers one; what it returns is registered instead."""
    return GlobalHandle(_registrations["parameter"], hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls hook(module, name, buffer) when any module registers one; what it returns is registered instead."""
    return GlobalHandle(_registrations["buffer"], hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls hook(module, name, submodule) when any module registers one; what it returns is registered instead."""
    return GlobalHandle(_registrations["module"], hook)
