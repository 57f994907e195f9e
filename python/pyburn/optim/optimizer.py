"""Optimizer: groups of parameters with options, and what is remembered of each parameter."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from .. import _core
from .._core import Tensor, float32, full
from ..autograd import enable_grad


class Optimizer:
    """Base class of all optimisers; subclasses define `step`.

    `params` is an iterable of tensors, of (name, tensor) pairs, or of dicts with a key "params" and options of their own.
    """

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                f"params argument given to the optimizer should be an iterable of Tensors or dicts, but got {type(params).__name__}"
            )
        self.defaults = defaults
        self.state: defaultdict[Tensor, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds parameters with options of their own."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        group = {"params": _parameter_list(param_group["params"])}
        group.update({key: value for key, value in param_group.items() if key != "params"})
        if group["params"] and isinstance(group["params"][0], tuple):
            group["param_names"] = [name for name, _ in group["params"]]
            group["params"] = [parameter for _, parameter in group["params"]]
        for parameter in group["params"]:
            if not isinstance(parameter, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(parameter).__name__}")
            if not (parameter.is_leaf or self.defaults.get("differentiable")):
                raise ValueError("can't optimize a non-leaf Tensor")
        for key, value in self.defaults.items():
            group.setdefault(key, value)
        mine = {id(p) for p in group["params"]}
        if len(mine) != len(group["params"]):
            warnings.warn("optimizer contains a parameter group with duplicate parameters", stacklevel=3)
        if any(id(p) in mine for other in self.param_groups for p in other["params"]):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Resets the gradients of all parameters."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                parameter.grad = None if set_to_none else _core.zeros_like(parameter.grad)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates the parameters; `closure` computes the loss again and is called first."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            self._step_group(group)
        return loss

    def _step_group(self, group: dict[str, Any]) -> None:
        raise NotImplementedError

    def state_dict(self) -> dict[str, Any]:
        """Options by group and state by the parameter's position, in PyTorch's layout."""
        position = {id(p): i for i, p in enumerate(p for group in self.param_groups for p in group["params"])}
        groups = []
        for group in self.param_groups:
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [position[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {position[id(p)] if isinstance(p, Tensor) else p: _saved(values) for p, values in self.state.items()}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what state_dict() of a like optimiser gave."""
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
                self.state[parameters[key]] = _loaded(values, parameters[key])
            else:
                self.state[key] = values
        for saved, group in zip(saved_groups, self.param_groups):
            group.update({key: value for key, value in saved.items() if key != "params"})

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __repr__(self) -> str:
        text = type(self).__name__ + " ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            text += "".join(f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
        return text + ")"


def _parameter_list(params: Any) -> list[Any]:
    if isinstance(params, Tensor):
        return [params]
    if isinstance(params, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets will change "
            "between runs. Please use a list instead."
        )
    return list(params)


def _saved(values: dict[str, Any]) -> dict[str, Any]:
    """PyTorch counts steps in a tensor; a number serves us better while training."""
    return {key: full((), float(value), dtype=float32) if key == "step" else value for key, value in values.items()}


def _loaded(values: dict[str, Any], parameter: Tensor) -> dict[str, Any]:
    """A copy of saved state that fits the parameter's device and dtype."""
    result: dict[str, Any] = {}
    for key, value in values.items():
        if key == "step":
            result[key] = int(value.item() if isinstance(value, Tensor) else value)
        else:
            result[key] = _core._optim.fitted(value, parameter) if isinstance(value, Tensor) else value
    return result


def refuse_differentiable(differentiable: bool, name: str) -> None:
    if differentiable:
        raise NotImplementedError(f"[{name}] differentiable=True is not supported: the step is one operation without a gradient")
