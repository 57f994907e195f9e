"""Optimizer: parameter groups with options, and the state of each parameter."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, TypeVar, overload

from .. import _core, _step_recording
from .._core import Tensor
from .._nested import mapped
from ..nn.hooks import RemovableHandle, register

T = TypeVar("T")

# Iterables of tensors, of (name, tensor) pairs, or of dicts with a key "params" and options.
Params: TypeAlias = Iterable[Tensor] | Iterable[tuple[str, Tensor]] | Iterable[dict[str, Any]]
ParamsT = Params  # PyTorch's name
required = object()  # marks required options in optimizers written for PyTorch before 2.0
Closure: TypeAlias = Callable[[], T]  # recomputes the loss

_pre_hooks: OrderedDict[int, Any] = OrderedDict()
_post_hooks: OrderedDict[int, Any] = OrderedDict()
_UNORDERED = (
    "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets will change between runs. "
    "Please use a list instead."
)
_HOOKS = ("step_pre", "step_post", "state_dict_pre", "state_dict_post", "load_state_dict_pre", "load_state_dict_post")


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Registers a global hook that is called before every optimizer step: hook(optimizer, args, kwargs). It may return new (args, kwargs).

    >>> from pyburn.optim.optimizer import register_optimizer_step_pre_hook
    >>> handle = register_optimizer_step_pre_hook(lambda optimizer, args, kwargs: None)
    >>> handle.remove()
    """
    return register(_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Registers a global hook that is called after every optimizer step: hook(optimizer, args, kwargs).

    >>> from pyburn.optim.optimizer import register_optimizer_step_post_hook
    >>> handle = register_optimizer_step_post_hook(lambda optimizer, args, kwargs: None)
    >>> handle.remove()
    """
    return register(_post_hooks, hook)


class Optimizer:
    """Base class of optimizers. Subclasses implement `step`.

    Args:
        params: The parameters, or parameter groups: tensors, (name, tensor) pairs, or dicts with a key "params" and options.
        defaults: The default options of the groups.

    Raises:
        TypeError: params is a tensor or contains other values than tensors.
        ValueError: There are no parameters, or a parameter is not a leaf or is given several times.

    >>> import pyburn
    >>> class Descent(pyburn.optim.Optimizer):
    ...     def step(self, closure=None):
    ...         with pyburn.no_grad():
    ...             for group in self.param_groups:
    ...                 for p in group["params"]:
    ...                     p -= group["lr"] * p.grad
    >>> p = pyburn.nn.Parameter(pyburn.ones(1))
    >>> p.grad = pyburn.ones(1)
    >>> Descent([p], {"lr": 0.25}).step()
    >>> p.item()
    0.75
    """

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                f"params argument given to the optimizer should be an iterable of Tensors or dicts, but got {type(params).__name__}"
            )
        if isinstance(params, (set, frozenset)):
            warnings.warn(f"{_UNORDERED} This will be an error in a future release.", FutureWarning, stacklevel=2)
        self.defaults = defaults
        self.state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        self._start()
        groups: list[Any] = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "step" in cls.__dict__:
            cls.step = _with_hooks(cls.__dict__["step"])  # type: ignore[method-assign]

    def _start(self) -> None:
        self._hooks: dict[str, OrderedDict[int, Any]] = {name: OrderedDict() for name in _HOOKS}
        self._stepping = False
        self._opt_called = False  # schedulers warn if they step first
        self._step_when_scheduled: Any = None  # or if `step` was replaced after their creation

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a parameter group. The dict itself becomes the group: later changes to it change the options.

        Args:
            param_group: A dict with a key "params" and options.

        Raises:
            TypeError: param_group is not a dict, or a parameter is not a tensor.
            ValueError: A parameter is not a leaf, is already in a group, or names are given only for some.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        given = _parameter_list(param_group["params"])
        names = [p[0] for p in given if isinstance(p, tuple)]
        group = {**param_group, "params": [p[1] if isinstance(p, tuple) else p for p in given]}
        if names and len(names) != len(given):
            raise ValueError("all optimizer params should be with/without names. Some param names are missing")
        if names:
            group["param_names"] = names
        for parameter in group["params"]:
            if not isinstance(parameter, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(parameter).__name__}")
            if not (self.defaults.get("differentiable") or parameter.is_leaf or getattr(parameter, "retains_grad", False)):
                raise ValueError("can't optimize a non-leaf Tensor")
        for key, value in self.defaults.items():
            group.setdefault(key, value)
        mine = {id(p) for p in group["params"]}
        if len(mine) != len(group["params"]):
            warnings.warn("optimizer contains a parameter group with duplicate parameters", stacklevel=3)
        if any(id(p) in mine for other in self.param_groups for p in other["params"]):
            raise ValueError("some parameters appear in more than one parameter group")
        if any(("param_names" in other) != bool(names) for other in self.param_groups):
            raise ValueError(
                "all optimizer param groups should be with/without names. "
                f"cannot add param group {'with' if names else 'without'} names to the optimizer"
            )
        self._check_group(group)
        param_group.update(group)
        self.param_groups.append(param_group)

    def _check_group(self, group: dict[str, Any]) -> None:
        """Raises an error for invalid options."""

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Resets the gradients of all parameters to None, or to zeros if `set_to_none` is False.

        Args:
            set_to_none: Whether gradients become None.
        """
        _core._optim.zero_gradients([p for group in self.param_groups for p in group["params"]], set_to_none)

    @overload
    def step(self, closure: None = None) -> None: ...
    @overload
    def step(self, closure: Closure[T]) -> T: ...
    def step(self, closure: Closure[T] | None = None) -> T | None:
        """Performs an optimization step.

        Args:
            closure: Recomputes the loss; called first.

        Returns:
            The loss of the closure, or None.
        """
        raise NotImplementedError

    def state_dict(self) -> dict[str, Any]:
        """Returns the options by group and the state by parameter index, in PyTorch's layout."""
        for hook in list(self._hooks["state_dict_pre"].values()):
            hook(self)
        position: dict[int, int] = {}
        for parameter in (p for group in self.param_groups for p in group["params"]):
            position.setdefault(id(parameter), len(position))
        groups = []
        for group in self.param_groups:
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [position[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {position[id(p)]: self._saved(values) for p, values in self.state.items() if isinstance(p, Tensor)}
        state |= {key: value for key, value in self.state.items() if not isinstance(key, Tensor)}  # entries added by hooks
        result: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in list(self._hooks["state_dict_post"].values()):
            changed = hook(self, result)
            result = result if changed is None else changed
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restores the state from `state_dict` of an optimizer with the same groups.

        Args:
            state_dict: A state from `state_dict`.

        Raises:
            ValueError: The number of groups or parameters differs.
        """
        state_dict = dict(state_dict)
        for hook in list(self._hooks["load_state_dict_pre"].values()):
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        saved_groups = state_dict["param_groups"]
        if len(saved_groups) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(saved_groups, self.param_groups)):
            raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
        parameters: dict[Any, Tensor] = {}
        for saved, group in zip(saved_groups, self.param_groups):
            parameters.update(zip(saved["params"], group["params"]))
        self.state = defaultdict(dict)
        for key, values in state_dict["state"].items():
            if key in parameters:
                self.state[parameters[key]] = self._loaded(values, parameters[key])
            else:
                self.state[key] = values
        for saved, group in zip(saved_groups, self.param_groups):
            group.update({key: value for key, value in saved.items() if key != "params"})
        for hook in list(self._hooks["load_state_dict_post"].values()):
            hook(self)

    def _saved(self, values: dict[str, Any]) -> dict[str, Any]:
        """Returns the state of a parameter in the form to save."""
        return values

    def _loaded(self, values: dict[str, Any], parameter: Tensor) -> dict[str, Any]:
        """Returns a copy of saved state with the parameter's device and dtype."""
        return mapped(lambda value: _core._optim.fitted(value, parameter) if isinstance(value, Tensor) else value, values)

    def _register(self, where: str, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        return register(self._hooks[where], hook, prepend)

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Registers a hook that is called before step: hook(optimizer, args, kwargs). It may return new (args, kwargs).

        Args:
            hook: The function.
        """
        return self._register("step_pre", hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Registers a hook that is called after step: hook(optimizer, args, kwargs).

        Args:
            hook: The function.

        Returns:
            A handle whose `remove` removes the hook.
        """
        return self._register("step_post", hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Registers a hook that is called before state_dict: hook(optimizer).

        Args:
            hook: The function.
            prepend: Whether it runs before the other hooks.

        Returns:
            A handle whose `remove` removes the hook.
        """
        return self._register("state_dict_pre", hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Registers a hook that is called after state_dict: hook(optimizer, state_dict). It may return another dict.

        Args:
            hook: The function.
            prepend: Whether it runs before the other hooks.
        """
        return self._register("state_dict_post", hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Registers a hook that is called before load_state_dict: hook(optimizer, state_dict). It may return another dict.

        Args:
            hook: The function.
            prepend: Whether it runs before the other hooks.
        """
        return self._register("load_state_dict_pre", hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Registers a hook that is called after load_state_dict: hook(optimizer).

        Args:
            hook: The function.
            prepend: Whether it runs before the other hooks.

        Returns:
            A handle whose `remove` removes the hook.
        """
        return self._register("load_state_dict_post", hook, prepend)

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._start()

    def __repr__(self) -> str:
        text = type(self).__name__ + " ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            text += "".join(f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
        return text + ")"


def _with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps `step` to run the hooks, once even if it calls the step of its base class."""

    @functools.wraps(step)
    def hooked(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if getattr(self, "_stepping", True):  # a wrapper may not have called Optimizer.__init__, and then has no hooks
            return step(self, *args, **kwargs)
        all_args: tuple[Any, ...] = (self, *args)
        recording = _step_recording.current()
        if recording is not None and (_pre_hooks or _post_hooks or self._hooks["step_pre"] or self._hooks["step_post"]):
            recording.refuse(f"{type(self).__name__} has hooks, which are called in each step")
        for hook in [*_pre_hooks.values(), *self._hooks["step_pre"].values()]:
            changed = hook(self, all_args, kwargs)
            if changed is None:
                continue
            if not (isinstance(changed, tuple) and len(changed) == 2):
                raise RuntimeError(f"{step} must return None or a tuple of (new_args, new_kwargs), but got {changed}.")
            all_args, kwargs = changed
        self._stepping = True
        try:
            result = step(*all_args, **kwargs)
        finally:
            self._stepping = False
        self._opt_called = True
        for hook in [*self._hooks["step_post"].values(), *_post_hooks.values()]:
            hook(self, all_args, kwargs)
        return result

    return hooked


def _parameter_list(params: Any) -> list[Any]:
    if isinstance(params, Tensor):
        return [params]
    if isinstance(params, set):
        raise TypeError(_UNORDERED)
    return list(params)
