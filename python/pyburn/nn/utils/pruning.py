"""Functions that prune parameters; see `prune`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ... import _core
from ..._core import Tensor
from ..hooks import hooks_of, pre_hook_of
from .pruning_methods import (
    BasePruningMethod,
    CustomFromMask,
    Identity,
    L1Unstructured,
    LnStructured,
    PruningContainer,
    RandomStructured,
    RandomUnstructured,
)


def identity(module: Any, name: str) -> Any:
    """Prepares a parameter for pruning without pruning anything.

    Args:
        module: The module.
        name: The name of the parameter.

    Returns:
        The module.

    >>> layer = pyburn.nn.utils.prune.identity(pyburn.nn.Linear(2, 3), "weight")
    >>> list(layer.state_dict())
    ['bias', 'weight_orig', 'weight_mask']
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: float) -> Any:
    """Prunes random elements.

    Args:
        module: The module.
        name: The name of the parameter.
        amount: The fraction of elements (float) or their number (int).

    Returns:
        The module.

    >>> layer = pyburn.nn.utils.prune.random_unstructured(pyburn.nn.Linear(2, 3), "weight", amount=2)
    >>> (layer.weight == 0).sum()
    tensor(2)
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Any, name: str, amount: float, importance_scores: Tensor | None = None) -> Any:
    """Prunes the elements with the smallest absolute values, or the lowest scores.

    Args:
        module: The module.
        name: The name of the parameter.
        amount: The fraction of elements (float) or their number (int).
        importance_scores: The scores, instead of absolute values.

    Returns:
        The module.

    >>> layer = pyburn.nn.utils.prune.l1_unstructured(pyburn.nn.Linear(2, 3), "weight", amount=0.5)
    >>> (layer.weight == 0).sum()
    tensor(3)
    """
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: float, dim: int) -> Any:
    """Prunes random slices along a dimension.

    Args:
        module: The module.
        name: The name of the parameter.
        amount: The fraction of slices (float) or their number (int).
        dim: The dimension.

    Returns:
        The module.

    >>> layer = pyburn.nn.utils.prune.random_structured(pyburn.nn.Linear(2, 3), "weight", amount=1, dim=0)
    >>> (layer.weight_mask.sum(1) == 0).sum()
    tensor(1)
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: Any, name: str, amount: float, n: float, dim: int, importance_scores: Tensor | None = None) -> Any:
    """Prunes the slices along a dimension with the lowest L_n norm.

    Args:
        module: The module.
        name: The name of the parameter.
        amount: The fraction of slices (float) or their number (int).
        n: The order of the norm.
        dim: The dimension.
        importance_scores: The scores whose norm is used, instead of the values.

    Returns:
        The module.

    >>> layer = pyburn.nn.utils.prune.ln_structured(pyburn.nn.Linear(2, 3), "weight", amount=1, n=2, dim=1)
    >>> (layer.weight_mask.sum(0) == 0).sum()
    tensor(1)
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Any, name: str, mask: Tensor) -> Any:
    """Prunes the elements where a mask is 0.

    Args:
        module: The module.
        name: The name of the parameter.
        mask: The mask, of the shape of the parameter.

    Returns:
        The module.

    >>> layer = pyburn.nn.utils.prune.custom_from_mask(pyburn.nn.Linear(2, 3), "bias", pyburn.tensor([1, 0, 1]))
    >>> layer.bias[1].item() == 0
    True
    """
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Any, str]],
    pruning_method: Any = L1Unstructured,
    importance_scores: dict[tuple[Any, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prunes elements of several parameters, ranked together.

    Args:
        parameters: (module, name) pairs.
        pruning_method: The unstructured pruning class.
        importance_scores: The scores by (module, name).
        **kwargs: Arguments of the pruning class: `amount`.

    Raises:
        TypeError: An argument has the wrong type, or the method is not unstructured.

    >>> layer = pyburn.nn.Linear(2, 3)
    >>> pyburn.nn.utils.prune.global_unstructured([(layer, "weight"), (layer, "bias")], amount=4)
    >>> (layer.weight == 0).sum() + (layer.bias == 0).sum()
    tensor(4)
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    if importance_scores is not None and not isinstance(importance_scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    pairs = list(parameters)
    masks: list[Tensor] = [
        getattr(m, name + "_mask") if hasattr(m, name + "_mask") else _core.ones_like(getattr(m, name).detach()) for m, name in pairs
    ]
    scores = [(importance_scores or {}).get((m, name), getattr(m, name)).detach().reshape(-1) for m, name in pairs]
    named = {"l1_unstructured": L1Unstructured, "random_unstructured": RandomUnstructured}
    method = (named[pruning_method] if isinstance(pruning_method, str) else pruning_method)(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. '
            f"Found method {pruning_method} of type {method.PRUNING_TYPE}"
        )
    method._tensor_name = "temp"
    kept = PruningContainer(method).compute_mask(_core.cat(scores), _core.cat([mask.reshape(-1) for mask in masks]))
    start = 0
    for (module, name), mask in zip(pairs, masks):
        custom_from_mask(module, name, kept[start : start + mask.numel()].reshape(mask.shape))
        start += mask.numel()


def remove(module: Any, name: str) -> Any:
    """Makes pruning permanent: the parameter becomes a plain one, with its zeros.

    Args:
        module: The module.
        name: The name of the parameter.

    Returns:
        The module.

    Raises:
        ValueError: The parameter is not pruned.

    >>> layer = pyburn.nn.utils.prune.l1_unstructured(pyburn.nn.Linear(2, 3), "weight", amount=2)
    >>> list(pyburn.nn.utils.prune.remove(layer, "weight").state_dict())
    ['bias', 'weight']
    """
    pruned = pre_hook_of(module, BasePruningMethod, name)
    if pruned is None:
        raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")
    key, method = pruned
    method.remove(module)
    del hooks_of(module).forward_pre[key]
    return module


def is_pruned(module: Any) -> bool:
    """Returns whether a module or one of its descendants has a pruned parameter.

    Args:
        module: The module.

    >>> pyburn.nn.utils.prune.is_pruned(pyburn.nn.Linear(2, 3))
    False
    """
    return any(isinstance(hook, BasePruningMethod) for m in module.modules() for hook in hooks_of(m).forward_pre.values())
