"""Storage of module hooks, and module calls that run them.

Hooks live in the module's __dict__, so copies and pickles include them. Modules without hooks are called directly from C++.
"""

from __future__ import annotations

import itertools
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, TypeAlias

from .. import _core
from .backward_hooks import BackwardHooks

Hooks: TypeAlias = "OrderedDict[int, Callable[..., Any]]"

_ids = itertools.count()


class ModuleHooks:
    """All hooks of a module, or the global ones, by kind; and the ids of hooks with special calling conventions."""

    KINDS = ("forward_pre", "forward", "backward_pre", "backward", "state_dict_pre", "state_dict", "load_pre", "load_post")
    forward_pre: Hooks
    forward: Hooks
    backward_pre: Hooks
    backward: Hooks
    state_dict_pre: Hooks
    state_dict: Hooks
    load_pre: Hooks
    load_post: Hooks

    def __init__(self) -> None:
        for kind in self.KINDS:
            setattr(self, kind, OrderedDict())
        self.with_kwargs: set[int] = set()
        self.always_called: set[int] = set()
        self.without_module: set[int] = set()
        self.may_replace: set[int] = set()


class RemovableHandle:
    """Unregisters a hook; also a context manager. Its creator stores the hook in the dict under the handle's `id`.

    >>> from pyburn.nn.hooks import RemovableHandle
    >>> hooks = {}
    >>> with RemovableHandle(hooks) as handle:
    ...     hooks[handle.id] = print
    >>> hooks
    {}
    """

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.id = next(_ids)
        self._hooks = hooks_dict
        self._extra = extra_dict if isinstance(extra_dict, (list, tuple)) else [] if extra_dict is None else [extra_dict]
        self._wants: list[set[int]] = []

    def hooks_dict_ref(self) -> Any:
        """Returns the dict of the hook."""
        return self._hooks

    def remove(self) -> None:
        """Unregisters the hook."""
        for hooks in (self._hooks, *self._extra):
            hooks.pop(self.id, None)
        for numbers in self._wants:
            numbers.discard(self.id)
        _core._note_module_change()

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def register(
    hooks: OrderedDict[int, Any],
    hook: Any,
    prepend: bool = False,
    wants: Iterable[set[int]] = (),
    handle_class: type[RemovableHandle] = RemovableHandle,
) -> RemovableHandle:
    """Adds a hook at the front or the end, and its id to the sets `wants`."""
    handle = handle_class(hooks)
    for numbers in wants:
        numbers.add(handle.id)
        handle._wants.append(numbers)
    hooks[handle.id] = hook
    _core._note_module_change()
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


class GlobalHandle(RemovableHandle):
    """Handle of a global hook."""

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
    """Returns the hooks of a module; an empty object if it has none."""
    return module.__dict__.get("_pb_hooks", _none)


def pre_hook_of(module: Any, kind: type, name: str) -> tuple[int, Any] | None:
    """Returns the id and the forward pre-hook of a class that computes the tensor `name` of a module, or None."""
    for key, hook in hooks_of(module).forward_pre.items():
        if isinstance(hook, kind) and name in (getattr(hook, "name", None), getattr(hook, "_tensor_name", None)):
            return key, hook
    return None


def add_hook(module: Any, kind: str, hook: Callable[..., Any], prepend: bool = False, wants: Iterable[str] = ()) -> RemovableHandle:
    """Adds a hook to a module; `wants` names the sets of ModuleHooks to which its id is added."""
    hooks = module.__dict__.setdefault("_pb_hooks", ModuleHooks())
    module._pb_call_host(True)  # calls from C++ go through Python from now on
    return register(getattr(hooks, kind), hook, prepend, [getattr(hooks, name) for name in wants])


def forget_if_empty(module: Any) -> None:
    """Restores direct calls from C++ after the last hook was removed."""
    if not any(getattr(hooks_of(module), kind) for kind in ModuleHooks.KINDS):
        module.__dict__.pop("_pb_hooks", None)


def call_with_hooks(module: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Runs a module's pre-hooks, forward and hooks. Results of hooks replace arguments or output."""
    own = hooks_of(module)
    with_kwargs = _everywhere.with_kwargs | own.with_kwargs
    after = [*_everywhere.forward.items(), *own.forward.items()]
    met: set[int] = set()
    result = None

    def run(number: int, hook: Callable[..., Any]) -> Any:
        met.add(number)
        changed = hook(module, args, kwargs, result) if number in with_kwargs else hook(module, args, result)
        return result if changed is None else changed

    try:
        for number, hook in [*_everywhere.forward_pre.items(), *own.forward_pre.items()]:
            args, kwargs = _run_pre_hook(module, hook, args, kwargs, number in with_kwargs)
        before_backward = [*_everywhere.backward_pre.values(), *own.backward_pre.values()]
        in_backward = [*_everywhere.backward.values(), *own.backward.values()]
        backward = BackwardHooks(module, before_backward, in_backward) if before_backward or in_backward else None
        if backward:
            args = backward.watch_inputs(args)
        result = module.forward(*args, **kwargs)
        for number, hook in after:
            result = run(number, hook)
        return backward.watch_outputs(result) if backward else result
    except Exception:
        always_called = _everywhere.always_called | own.always_called
        for number, hook in after:
            if number in always_called and number not in met:
                try:
                    result = run(number, hook)
                except Exception as error:
                    warnings.warn(
                        "module forward hook with ``always_call=True`` raised an exception that was silenced as another error was "
                        f"raised in forward: {error}",
                        stacklevel=2,
                    )
        raise


def _run_pre_hook(
    module: Any, hook: Callable[..., Any], args: tuple, kwargs: dict[str, Any], with_kwargs: bool
) -> tuple[tuple, dict[str, Any]]:
    if with_kwargs:
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
    """Returns what to register instead of `value`, after the global registration hooks. Called from C++."""
    for hook in list(_registrations[kind].values()):
        changed = hook(module, name, value)
        value = value if changed is None else changed
    return value


# ---- global hooks


def _register_everywhere(hooks: OrderedDict[int, Any], hook: Any, wants: Iterable[set[int]] = ()) -> RemovableHandle:
    handle = register(hooks, hook, wants=wants, handle_class=GlobalHandle)
    _tell_core()
    return handle


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Registers a global hook that is called before each forward pass of every module: hook(module, args)."""
    return _register_everywhere(_everywhere.forward_pre, hook)


def register_module_forward_hook(hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False) -> RemovableHandle:
    """Registers a global hook that is called after each forward pass of every module: hook(module, args, output).

    It is called before the hooks of the module.

    Args:
        hook: The hook.
        with_kwargs: Whether to call hook(module, args, kwargs, output).
        always_call: Whether to call it even if an exception was raised.

    Returns:
        A handle whose `remove` unregisters the hook.

    >>> from pyburn.module import register_module_forward_hook
    >>> with register_module_forward_hook(lambda module, args, output: print(type(module).__name__)):
    ...     _ = pyburn.nn.Linear(2, 3)(pyburn.ones(2))
    Linear
    """
    return _register_everywhere(
        _everywhere.forward, hook, [*[_everywhere.with_kwargs] * with_kwargs, *[_everywhere.always_called] * always_call]
    )


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Registers a global hook that is called before the gradients of every module are computed: hook(module, grad_output)."""
    return _register_everywhere(_everywhere.backward_pre, hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Registers a global hook that is called when the input gradients of a module are computed: hook(module, grad_input, grad_output)."""
    return _register_everywhere(_everywhere.backward, hook)


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Alias of register_module_full_backward_hook."""
    return register_module_full_backward_hook(hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Registers a global hook that is called when a module registers a parameter: hook(module, name, parameter).

    A result other than None is registered instead.
    """
    return _register_everywhere(_registrations["parameter"], hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Registers a global hook that is called when a module registers a buffer: hook(module, name, buffer).

    A result other than None is registered instead.
    """
    return _register_everywhere(_registrations["buffer"], hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Registers a global hook that is called when a module registers a submodule: hook(module, name, submodule).

    A result other than None is registered instead.
    """
    return _register_everywhere(_registrations["module"], hook)


def _of_all_modules(kind: str, wanting: str | None = None) -> Any:
    def kept(module: ModuleType) -> Any:
        of_kind = getattr(_everywhere, kind)
        return of_kind if wanting is None else dict.fromkeys(getattr(_everywhere, wanting) & of_kind.keys(), True)

    def replace(module: ModuleType, hooks: Hooks) -> None:
        setattr(_everywhere, kind, hooks)
        _tell_core()

    return property(kept, replace)


class ModuleOfHooks(ModuleType):
    """Python module with PyTorch's names of the global hook dicts, which may be replaced by an empty dict to remove all hooks."""

    _global_forward_pre_hooks = _of_all_modules("forward_pre")
    _global_forward_hooks = _of_all_modules("forward")
    _global_forward_hooks_with_kwargs = _of_all_modules("forward", "with_kwargs")
    _global_forward_hooks_always_called = _of_all_modules("forward", "always_called")
    _global_backward_pre_hooks = _of_all_modules("backward_pre")
    _global_backward_hooks = _of_all_modules("backward")
