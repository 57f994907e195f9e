"""Pruning: parameters multiplied by masks of zeros and ones.

`name` becomes the product of the parameter `name_orig` and the buffer `name_mask`, computed before each call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ... import _core
from ..._core import Tensor
from ..hooks import hooks_of
from ..parameter import Parameter

__all__ = [
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]


class Pruned:
    """The hook that computes a pruned parameter."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, getattr(module, self.name + "_orig") * getattr(module, self.name + "_mask"))


def identity(module: Any, name: str) -> Any:
    """Prepares a parameter for pruning and prunes nothing.

    >>> layer = pyburn.nn.utils.prune.identity(pyburn.nn.Linear(2, 3), "weight")
    >>> list(layer.state_dict())
    ['bias', 'weight_orig', 'weight_mask']
    """
    return _prune(module, name, lambda scores, mask: mask)


def random_unstructured(module: Any, name: str, amount: float) -> Any:
    """Prunes random elements: a share of them, or as many as an int says.

    >>> layer = pyburn.nn.utils.prune.random_unstructured(pyburn.nn.Linear(2, 3), "weight", amount=2)
    >>> (layer.weight == 0).sum()
    tensor(2)
    """
    return _prune(module, name, lambda scores, mask: _without_lowest(mask, _core.rand_like(mask), amount))


def l1_unstructured(module: Any, name: str, amount: float, importance_scores: Tensor | None = None) -> Any:
    """Prunes the elements that are closest to zero, or that have the lowest scores.

    >>> layer = pyburn.nn.utils.prune.l1_unstructured(pyburn.nn.Linear(2, 3), "weight", amount=0.5)
    >>> (layer.weight == 0).sum()
    tensor(3)
    """
    return _prune(module, name, lambda scores, mask: _without_lowest(mask, scores.abs(), amount), importance_scores)


def random_structured(module: Any, name: str, amount: float, dim: int) -> Any:
    """Prunes random slices along an axis.

    >>> layer = pyburn.nn.utils.prune.random_structured(pyburn.nn.Linear(2, 3), "weight", amount=1, dim=0)
    >>> (layer.weight_mask.sum(1) == 0).sum()
    tensor(1)
    """
    return _prune(module, name, lambda scores, mask: _without_slices(mask, _core.rand(mask.shape[dim], device=mask.device), amount, dim))


def ln_structured(module: Any, name: str, amount: float, n: float, dim: int, importance_scores: Tensor | None = None) -> Any:
    """Prunes the slices along an axis whose norm of order n is lowest.

    >>> layer = pyburn.nn.utils.prune.ln_structured(pyburn.nn.Linear(2, 3), "weight", amount=1, n=2, dim=1)
    >>> (layer.weight_mask.sum(0) == 0).sum()
    tensor(1)
    """

    def chosen(scores: Tensor, mask: Tensor) -> Tensor:
        others = [i for i in range(scores.ndim) if i != dim % scores.ndim]
        return _without_slices(mask, _core.linalg_vector_norm(scores, n, dim=others), amount, dim)

    return _prune(module, name, chosen, importance_scores)


def custom_from_mask(module: Any, name: str, mask: Tensor) -> Any:
    """Prunes where a mask is 0.

    >>> layer = pyburn.nn.utils.prune.custom_from_mask(pyburn.nn.Linear(2, 3), "bias", pyburn.tensor([1, 0, 1]))
    >>> layer.bias[1].item() == 0
    True
    """
    return _prune(module, name, lambda scores, old: old * mask.to(old.dtype))


def global_unstructured(
    parameters: Iterable[tuple[Any, str]],
    pruning_method: Any = "l1_unstructured",
    importance_scores: dict[tuple[Any, str], Tensor] | None = None,
    *,
    amount: float,
) -> None:
    """Prunes the elements of several parameters that are closest to zero, or have the lowest scores, among all of them.

    >>> layer = pyburn.nn.Linear(2, 3)
    >>> pyburn.nn.utils.prune.global_unstructured([(layer, "weight"), (layer, "bias")], amount=4)
    >>> (layer.weight == 0).sum() + (layer.bias == 0).sum()
    tensor(4)
    """
    method = pruning_method if isinstance(pruning_method, str) else pruning_method.__name__
    if method not in ("l1_unstructured", "random_unstructured", "L1Unstructured", "RandomUnstructured"):
        raise TypeError(f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {method}')
    pairs = list(parameters)
    masks: list[Tensor] = [
        getattr(m, name + "_mask") if hasattr(m, name + "_mask") else _core.ones_like(getattr(m, name).detach()) for m, name in pairs
    ]
    scores = [(importance_scores or {}).get((m, name), getattr(m, name)).detach().abs().reshape(-1) for m, name in pairs]
    joined = _core.cat(scores)
    if "andom" in method:
        joined = _core.rand_like(joined)
    kept = _without_lowest(_core.cat([mask.reshape(-1) for mask in masks]), joined, amount)
    start = 0
    for (module, name), mask in zip(pairs, masks):
        custom_from_mask(module, name, kept[start : start + mask.numel()].reshape(mask.shape))
        start += mask.numel()


def remove(module: Any, name: str) -> Any:
    """Makes a pruned parameter an ordinary one, with its zeros.

    >>> layer = pyburn.nn.utils.prune.l1_unstructured(pyburn.nn.Linear(2, 3), "weight", amount=2)
    >>> list(pyburn.nn.utils.prune.remove(layer, "weight").state_dict())
    ['bias', 'weight']
    """
    key = _hook_key(module, name)
    if key is None:
        raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")
    original = getattr(module, name + "_orig")
    original.data = original.detach() * getattr(module, name + "_mask")
    for old in ("", "_orig", "_mask"):
        delattr(module, name + old)
    module.register_parameter(name, original)
    del hooks_of(module).forward_pre[key]
    return module


def is_pruned(module: Any) -> bool:
    """Whether a module or one below it has a pruned parameter.

    >>> pyburn.nn.utils.prune.is_pruned(pyburn.nn.Linear(2, 3))
    False
    """
    return any(isinstance(hook.function, Pruned) for m in module.modules() for hook in hooks_of(m).forward_pre.values())


def _hook_key(module: Any, name: str) -> int | None:
    for key, hook in hooks_of(module).forward_pre.items():
        if isinstance(hook.function, Pruned) and hook.function.name == name:
            return key
    return None


def _prune(module: Any, name: str, choose: Callable[[Tensor, Tensor], Tensor], scores: Tensor | None = None) -> Any:
    """Prunes by the mask that `choose` makes of the scores and of the mask there is."""
    if _hook_key(module, name) is None:
        original = getattr(module, name)
        if not isinstance(original, Parameter):
            raise TypeError(f"expected a Parameter as '{name}': got {type(original).__name__}")
        if scores is not None and scores.shape != original.shape:
            raise AssertionError("importance_scores should have the same shape as parameter")
        mask = choose((original if scores is None else scores).detach(), _core.ones_like(original.detach()))
        delattr(module, name)
        module.register_parameter(name + "_orig", original)
        module.register_buffer(name + "_mask", mask)
        module.register_forward_pre_hook(Pruned(name))
    else:
        old = getattr(module, name + "_mask")
        setattr(module, name + "_mask", choose((getattr(module, name) if scores is None else scores).detach(), old))
    Pruned(name)(module, ())
    return module


def _count(amount: float, size: int) -> int:
    if isinstance(amount, bool) or not isinstance(amount, (int, float)):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if amount < 0 or (isinstance(amount, float) and amount > 1):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")
    count = amount if isinstance(amount, int) else round(amount * size)
    if count > size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={size}")
    return count


def _without_lowest(mask: Tensor, scores: Tensor, amount: float) -> Tensor:
    """The mask with zeros for the lowest scores among what it keeps, of which `amount` counts."""
    flat = mask.reshape(-1)
    kept = (flat != 0).nonzero().reshape(-1)
    count = _count(amount, kept.numel())
    if count == 0:
        return mask.clone()
    lowest = scores.reshape(-1).index_select(0, kept).topk(count, largest=False)[1]
    return flat.index_fill(0, kept.index_select(0, lowest), 0).reshape(mask.shape)


def _without_slices(mask: Tensor, scores: Tensor, amount: float, dim: int) -> Tensor:
    others = [i for i in range(mask.ndim) if i != dim % mask.ndim]
    kept = (mask.sum(others) != 0).nonzero().reshape(-1)
    count = _count(amount, kept.numel())
    if count == 0:
        return mask.clone()
    lowest = scores.index_select(0, kept).topk(count, largest=False)[1]
    return mask.index_fill(dim, kept.index_select(0, lowest), 0)
