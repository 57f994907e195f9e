"""The older weight normalization: two parameters, and a hook that computes the weight before each call."""

from __future__ import annotations

from typing import Any

from ..._core import _nn
from ..hooks import hooks_of, pre_hook_of
from ..parameter import Parameter, is_lazy
from .parametrizations import norm_except


class WeightNorm:
    """The hook."""

    def __init__(self, name: str, dim: int) -> None:
        self.name = name
        self.dim = dim

    def compute_weight(self, module: Any) -> Any:
        g, v = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return _nn._with_norm(v, g, self.dim)

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Replaces a weight by magnitude `weight_g` times direction `weight_v`; parametrizations.weight_norm is the newer interface.

    Args:
        module: The module.
        name: The name of the weight.
        dim: The dimension with separate magnitudes; None for a single one.

    Returns:
        The module.

    Raises:
        RuntimeError: The weight has a weight norm already.
        ValueError: The parameters have no shape yet.

    >>> layer = pyburn.nn.utils.weight_norm(pyburn.nn.Linear(4, 3))
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'weight_g', 'weight_v']
    """
    if pre_hook_of(module, WeightNorm, name):
        raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
    hook = WeightNorm(name, -1 if dim is None else dim)
    weight = getattr(module, name)
    if is_lazy(weight):
        raise ValueError("The module passed to `WeightNorm` can't have uninitialized parameters. Call it before, to give them shapes.")
    delattr(module, name)
    module.register_parameter(name + "_g", Parameter(norm_except(weight, hook.dim).detach()))
    module.register_parameter(name + "_v", Parameter(weight.detach()))
    setattr(module, name, hook.compute_weight(module))
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    """Makes the weight a plain parameter again.

    Args:
        module: The module.
        name: The name of the weight.

    Returns:
        The module.

    Raises:
        ValueError: The weight has no weight norm.

    >>> layer = pyburn.nn.utils.weight_norm(pyburn.nn.Linear(4, 3))
    >>> list(pyburn.nn.utils.remove_weight_norm(layer).state_dict())
    ['bias', 'weight']
    """
    found = pre_hook_of(module, WeightNorm, name)
    if found is None:
        raise ValueError(f"weight_norm of '{name}' not found in {module}")
    key, hook = found
    weight = hook.compute_weight(module)
    for old in (name, name + "_g", name + "_v"):
        delattr(module, old)
    module.register_parameter(name, Parameter(weight.detach()))
    del hooks_of(module).forward_pre[key]
    return module
