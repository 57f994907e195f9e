"""The methods of Module for state dicts: the traversal, hooks and extra state. Tensors are loaded and saved in C++."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple

from .._core import Tensor
from .._core._nn import Module
from .hooks import RemovableHandle, add_hook, hooks_of
from .parameter import is_lazy

_Bound: Any = object


class IncompatibleKeys(NamedTuple):
    """The keys that load_state_dict could not match."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys!r}, unexpected_keys={self.unexpected_keys!r})"

    def __str__(self) -> str:
        return repr(self)


def _converted(name: str, value: Any) -> Any:
    """Returns an array of another library as a Tensor, and anything else as it is."""
    if isinstance(value, Tensor) or not hasattr(value, "__array__") or name.endswith("_extra_state"):
        return value
    from ..tensor import as_tensor, from_dlpack

    return from_dlpack(value.detach()) if hasattr(value, "detach") else as_tensor(value)


class _Loaded(NamedTuple):
    """Missing keys, unexpected keys and errors of a load."""

    missing: list[str]
    unexpected: list[str]
    errors: list[str]


def _load_tree(module: Any, state: dict[str, Any], prefix: str, metadata: Any, assign: bool, found: _Loaded) -> None:
    """Loads a module and its descendants.

    Not a nested function, which would reference itself and keep the tensors alive until cycles are collected.
    """
    local = dict(metadata.get(prefix[:-1], {}))
    if assign:
        local["assign_to_params_buffers"] = True
    module._load_from_state_dict(state, prefix, local, True, *found)
    for name, child in module._modules.items():
        if child is not None:
            below = f"{prefix}{name}."
            _load_tree(child, {key: value for key, value in state.items() if key.startswith(below)}, below, metadata, assign, found)
    keys = IncompatibleKeys(found.missing, found.unexpected)
    for hook in list(hooks_of(module).load_post.values()):
        if hook(module, keys) is not None:
            raise AssertionError(
                "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new values, "
                "if incompatible_keys need to be modified, it should be done inplace."
            )


class StateMethods(_Bound):
    """Methods copied into Module by install()."""

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """Returns all parameters and persistent buffers by dotted name.

        Args:
            *args: destination, prefix and keep_vars by position, deprecated.
            destination: The dict to add to; None for a new one.
            prefix: The prefix of the names.
            keep_vars: Whether to return the tensors themselves instead of detached ones.

        >>> list(pyburn.nn.Linear(2, 3).state_dict())
        ['weight', 'bias']
        """
        for name, value in zip(("destination", "prefix", "keep_vars"), args):  # positional arguments of older code
            destination = value if name == "destination" else destination
            prefix = value if name == "prefix" else prefix
            keep_vars = value if name == "keep_vars" else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        hooks = hooks_of(self)
        for hook in list(hooks.state_dict_pre.values()):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, child in self._modules.items():
            if child is not None:
                child.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for number, hook in list(hooks.state_dict.items()):
            result = hook(self, destination, prefix, metadata)
            if result is not None:
                if number not in hooks.may_replace:
                    raise RuntimeError("state_dict post-hook must return None")
                destination = result
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Saves this module's own state, without descendants; subclasses may override it."""
        destination.update(self._pb_save_own(prefix, keep_vars))
        if _overrides(self, "get_extra_state"):
            destination[prefix + "_extra_state"] = self.get_extra_state()

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> IncompatibleKeys:
        """Copies the tensors of a state dict into this module and its descendants.

        Args:
            state_dict: The tensors by dotted name. PyTorch's tensors and NumPy arrays are converted.
            strict: Whether the names must match exactly.
            assign: Whether to use the tensors themselves instead of copying from them.

        Returns:
            The missing and unexpected keys.

        Raises:
            TypeError: state_dict is not a mapping.
            RuntimeError: Shapes, or with strict the names, do not match.

        >>> layer = pyburn.nn.Linear(2, 3)
        >>> layer.load_state_dict(pyburn.nn.Linear(2, 3).state_dict())
        <All keys matched successfully>
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None) or {}
        found = _Loaded([], [], [])
        state = OrderedDict((name, _converted(name, value)) for name, value in state_dict.items())
        if metadata:
            state._metadata = metadata  # type: ignore[attr-defined]
        _load_tree(self, state, "", metadata, assign, found)
        self._pb_raise_load_errors(self._get_name(), *found, strict)
        return IncompatibleKeys(found.missing, found.unexpected)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Loads this module's own state; subclasses may override it, for example to change state_dict first."""
        hooks = hooks_of(self)
        for number, hook in list(hooks.load_pre.items()):
            module = () if number in hooks.without_module else (self,)
            hook(*module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        for name, _, tensor, _ in self._pb_entries():
            if is_lazy(state_dict.get(prefix + name)) and not is_lazy(tensor):
                _ = state_dict[prefix + name].shape  # raises: an uninitialized tensor has no shape
        has_extra = _overrides(self, "set_extra_state")
        assign = bool(local_metadata.get("assign_to_params_buffers", False))
        missing, unexpected, errors = self._pb_load_own(state_dict, prefix, local_metadata.get("version"), assign, has_extra)
        if has_extra and prefix + "_extra_state" in state_dict:
            self.set_extra_state(state_dict[prefix + "_extra_state"])
        error_msgs += errors
        if strict:
            missing_keys += missing
            unexpected_keys += unexpected

    def get_extra_state(self) -> Any:
        """Returns state other than tensors for the state dict. Classes with such state override this and set_extra_state.

        >>> class Counter(pyburn.nn.Module):
        ...     count = 0
        ...     def get_extra_state(self):
        ...         return self.count
        ...     def set_extra_state(self, state):
        ...         self.count = state
        >>> Counter().state_dict()["_extra_state"]
        0
        """
        raise RuntimeError(f"{self._get_name()} has no extra state: get_extra_state is for classes that override it")

    def set_extra_state(self, state: Any) -> None:
        """Restores the state from get_extra_state."""
        raise RuntimeError(f"{self._get_name()} has no extra state: set_extra_state is for classes that override it")

    # ---- hooks

    def register_state_dict_pre_hook(self, hook: Any) -> RemovableHandle:
        """Registers a hook that is called before this module is saved: hook(module, prefix, keep_vars)."""
        return add_hook(self, "state_dict_pre", hook)

    def register_state_dict_post_hook(self, hook: Any) -> RemovableHandle:
        """Registers a hook that is called after this module is saved: hook(module, state_dict, prefix, local_metadata).

        It may change the dict in place.
        """
        if callable(hook) and hasattr(hook, "__dict__"):
            hook._from_public_api = True
        return add_hook(self, "state_dict", hook)

    def _register_state_dict_hook(self, hook: Any) -> RemovableHandle:
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered via "
                "register_state_dict_post_hook"
            )
        return add_hook(self, "state_dict", hook, wants=["may_replace"])

    def register_load_state_dict_pre_hook(self, hook: Any) -> RemovableHandle:
        """Registers a hook that is called before loading.

        It is called as hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs).
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook: Any, with_module: bool = False) -> RemovableHandle:
        return add_hook(self, "load_pre", hook, wants=["without_module"] * (not with_module))

    def register_load_state_dict_post_hook(self, hook: Any) -> RemovableHandle:
        """Registers a hook that is called after loading: hook(module, incompatible_keys). It may change the lists in place."""
        return add_hook(self, "load_post", hook)


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Removes a prefix from the names in a state dict, in place, such as `module.` of a model that was saved inside a wrapper.

    >>> state = {"module.weight": 1, "bias": 2}
    >>> pyburn.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    >>> sorted(state)
    ['bias', 'weight']
    """
    for key in [key for key in state_dict if key.startswith(prefix)]:
        state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is not None:
        for key in [key for key in metadata if f"{key}.".startswith(prefix) and key]:
            metadata[key[len(prefix) :]] = metadata.pop(key)


def _overrides(module: Any, name: str) -> bool:
    return getattr(type(module), name) is not getattr(Module, name)
