"""Hooks around the forward of a module. They live in the module's own dict, so copies and pickles carry them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

_ids = itertools.count()


class Hook(NamedTuple):
    """A hook and how it wants to be called."""

    function: Callable[..., Any]
    with_kwargs: bool
    always_call: bool


class RemovableHandle:
    """Takes a hook away again; also as a context manager."""

    def __init__(self, hooks: dict[int, Hook], prepend: bool, hook: Hook) -> None:
        self.id = next(_ids)
        self._hooks = hooks
        others = dict(hooks) if prepend else {}
        if prepend:
            hooks.clear()
        hooks[self.id] = hook
        hooks.update(others)

    def remove(self) -> None:
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def add_hook(module: Any, where: str, hook: Hook, prepend: bool) -> RemovableHandle:
    handle = RemovableHandle(module.__dict__.setdefault(where, {}), prepend, hook)
    module._call_host(True)  # calls from C++ come through Python from now on
    return handle


def call_with_hooks(module: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Runs a module's pre-hooks, its forward, and its hooks; what a hook returns takes the place of what it was given."""
    after = module.__dict__.get("_forward_hooks", {})
    met: set[int] = set()
    try:
        for hook in list(module.__dict__.get("_forward_pre_hooks", {}).values()):
            args, kwargs = _run_pre_hook(module, hook, args, kwargs)
        result = module.forward(*args, **kwargs)
        for key, hook in list(after.items()):
            met.add(key)
            changed = hook.function(module, args, kwargs, result) if hook.with_kwargs else hook.function(module, args, result)
            result = result if changed is None else changed
        return result
    except Exception:
        for key, hook in list(after.items()):
            if hook.always_call and key not in met:
                hook.function(module, args, kwargs, None) if hook.with_kwargs else hook.function(module, args, None)
        raise


def _run_pre_hook(module: Any, hook: Hook, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
    if hook.with_kwargs:
        changed = hook.function(module, args, kwargs)
        if changed is None:
            return args, kwargs
        if not (isinstance(changed, tuple) and len(changed) == 2):
            raise RuntimeError(f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {changed}.")
        return changed
    changed = hook.function(module, args)
    if changed is None:
        return args, kwargs
    return (changed if isinstance(changed, tuple) else (changed,)), kwargs
