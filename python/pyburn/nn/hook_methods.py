"""The methods of Module that register hooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .hooks import RemovableHandle, add_hook, hooks_of

_Bound: Any = object


def _kept(kind: str, wanting: str | None = None) -> Any:
    """Property for the hooks of a kind by id, or for the subset with a flag."""

    def kept(self: Any) -> Any:
        hooks = hooks_of(self)
        of_kind = getattr(hooks, kind)
        return of_kind if wanting is None else dict.fromkeys(getattr(hooks, wanting) & of_kind.keys(), True)

    def forget(self: Any) -> None:
        getattr(hooks_of(self), kind).clear()

    return property(kept, fdel=forget)


class HookMethods(_Bound):
    """Methods copied into Module by install()."""

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Registers a hook that is called after each forward pass: hook(module, args, output). A result other than None replaces the
        output.

        Args:
            hook: The hook.
            prepend: Whether to call it before the hooks registered so far.
            with_kwargs: Whether to call hook(module, args, kwargs, output).
            always_call: Whether to call it even if an exception was raised.

        Returns:
            A handle whose `remove` unregisters the hook.

        >>> layer = pyburn.nn.Linear(2, 3)
        >>> handle = layer.register_forward_hook(lambda module, args, output: print(output.shape))
        >>> _ = layer(pyburn.ones(2))
        pyburn.Size([3])
        >>> handle.remove()
        """
        return add_hook(self, "forward", hook, prepend, [*["with_kwargs"] * with_kwargs, *["always_called"] * always_call])

    def register_forward_pre_hook(self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False) -> RemovableHandle:
        """Registers a hook that is called before each forward pass: hook(module, args). A result other than None replaces the arguments.

        Args:
            hook: The hook.
            prepend: Whether to call it before the hooks registered so far.
            with_kwargs: Whether to call hook(module, args, kwargs); it then returns (args, kwargs) or None.

        Returns:
            A handle whose `remove` unregisters the hook.
        """
        return add_hook(self, "forward_pre", hook, prepend, ["with_kwargs"] * with_kwargs)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Registers a hook that is called when the gradients of the inputs are computed: hook(module, grad_input, grad_output).

        A result other than None replaces grad_input.
        """
        return add_hook(self, "backward", hook, prepend)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Registers a hook that is called before the gradients of the module are computed: hook(module, grad_output).

        A result other than None replaces grad_output.
        """
        return add_hook(self, "backward_pre", hook, prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Alias of register_full_backward_hook."""
        return self.register_full_backward_hook(hook)

    # PyTorch's names of the hook dicts.
    _forward_hooks = _kept("forward")
    _forward_hooks_with_kwargs = _kept("forward", "with_kwargs")
    _forward_hooks_always_called = _kept("forward", "always_called")
    _forward_pre_hooks = _kept("forward_pre")
    _forward_pre_hooks_with_kwargs = _kept("forward_pre", "with_kwargs")
    _backward_hooks = _kept("backward")
    _backward_pre_hooks = _kept("backward_pre")
    _state_dict_hooks = _kept("state_dict")
    _state_dict_pre_hooks = _kept("state_dict_pre")
    _load_state_dict_pre_hooks = _kept("load_pre")
    _load_state_dict_post_hooks = _kept("load_post")
