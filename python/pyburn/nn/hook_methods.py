"""The methods of Module that register hooks around calls."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from .hooks import Hook, RemovableHandle, add_hook, hooks_of

_Bound: Any = object


class HookMethods(_Bound):
    """Copied into Module by install()."""

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Calls hook(module, args, output) after each forward; what it returns replaces the output.

        >>> layer = pyburn.nn.Linear(2, 3)
        >>> handle = layer.register_forward_hook(lambda module, args, output: print(output.shape))
        >>> _ = layer(pyburn.ones(2))
        pyburn.Size([3])
        >>> handle.remove()
        """
        return add_hook(self, "forward", Hook(hook, with_kwargs=with_kwargs, always_call=always_call), prepend)

    def register_forward_pre_hook(self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False) -> RemovableHandle:
        """Calls hook(module, args) before each forward; what it returns replaces the arguments."""
        return add_hook(self, "forward_pre", Hook(hook, with_kwargs=with_kwargs), prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Calls hook(module, grad_input, grad_output) when the gradients of the inputs are known; it may return others."""
        return add_hook(self, "backward", Hook(hook), prepend)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Calls hook(module, grad_output) before the module's gradients are computed; it may return others."""
        return add_hook(self, "backward_pre", Hook(hook), prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Another name of register_full_backward_hook."""
        return self.register_full_backward_hook(hook)

    @property
    def _forward_hooks(self) -> OrderedDict[int, Hook]:
        return hooks_of(self).forward

    @property
    def _forward_pre_hooks(self) -> OrderedDict[int, Hook]:
        return hooks_of(self).forward_pre

    @property
    def _backward_hooks(self) -> OrderedDict[int, Hook]:
        return hooks_of(self).backward
