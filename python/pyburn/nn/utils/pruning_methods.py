"""Pruning methods, as classes like in PyTorch: each computes a mask from the values and the existing mask.

An instance is the forward pre-hook of the pruned module: it computes `name` from `name_orig` and `name_mask`. A parameter that is pruned
repeatedly has a PruningContainer of all methods.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

from ... import _core
from ..._core import Tensor
from ..hooks import hooks_of, pre_hook_of
from ..parameter import Parameter


def _validate_pruning_amount_init(amount: Any) -> None:
    """Raises an error if the amount is neither a fraction in [0, 1] nor a count."""
    if isinstance(amount, bool) or not isinstance(amount, (int, float)):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if amount < 0 or (isinstance(amount, float) and amount > 1):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _validate_pruning_amount(amount: float, tensor_size: int) -> None:
    """Raises an error if a count exceeds the size."""
    if isinstance(amount, int) and amount > tensor_size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={tensor_size}")


def _compute_nparams_toprune(amount: float, tensor_size: int) -> int:
    """Returns an amount as a number of elements."""
    return amount if isinstance(amount, int) else round(amount * tensor_size)


class BasePruningMethod(ABC):
    """Base class of pruning methods. Subclasses define PRUNING_TYPE and compute_mask.

    >>> class EverySecond(pyburn.nn.utils.prune.BasePruningMethod):
    ...     PRUNING_TYPE = "unstructured"
    ...     def compute_mask(self, t, default_mask):
    ...         mask = default_mask.clone()
    ...         mask.view(-1)[::2] = 0
    ...         return mask
    >>> layer = pyburn.nn.Linear(2, 2)
    >>> method = EverySecond.apply(layer, "weight")
    >>> layer.weight_mask.tolist()
    [[0.0, 1.0], [0.0, 1.0]]
    """

    PRUNING_TYPE: str
    _tensor_name: str

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Returns the mask for values or scores `t`, given the existing mask `default_mask`.

        Args:
            t: The values or scores.
            default_mask: The existing mask.
        """

    def apply_mask(self, module: Any) -> Tensor:
        """Returns the pruned parameter of a module.

        Args:
            module: The module.
        """
        original, mask = getattr(module, self._tensor_name + "_orig"), getattr(module, self._tensor_name + "_mask")
        return mask.to(original.dtype) * original

    @classmethod
    def apply(cls, module: Any, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any) -> Any:
        """Prunes a parameter of a module; `args` and `kwargs` are those of the constructor.

        Args:
            module: The module.
            name: The name of the parameter.
            *args: Positional arguments of the constructor.
            importance_scores: Scores to prune by, instead of the values.
            **kwargs: Keyword arguments of the constructor.

        Returns:
            The pruning method.

        Raises:
            AssertionError: importance_scores has the wrong shape.
            TypeError: There is no parameter of that name.
        """
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        parameter = getattr(module, name)
        if importance_scores is not None and importance_scores.shape != parameter.shape:
            raise AssertionError(f"importance_scores should have the same shape as parameter {name} of {module}")
        scores = (parameter if importance_scores is None else importance_scores).detach()
        pruned = pre_hook_of(module, BasePruningMethod, name)
        if pruned is None:
            if not isinstance(parameter, Parameter):
                raise TypeError(f"expected a Parameter as '{name}': got {type(parameter).__name__}")
            mask = method.compute_mask(scores, _core.ones_like(parameter.detach()))
            delattr(module, name)
            module.register_parameter(name + "_orig", parameter)
            module.register_buffer(name + "_mask", mask)
            module.register_forward_pre_hook(method)
        else:
            key, old = pruned
            container = PruningContainer(*old) if isinstance(old, PruningContainer) else PruningContainer(old)
            container.add_pruning_method(method)
            setattr(module, name + "_mask", container.compute_mask(scores, getattr(module, name + "_mask")))
            hooks_of(module).forward_pre[key] = method = container
        method(module, ())
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """Returns a pruned copy of a tensor that belongs to no module."""
        if importance_scores is not None and importance_scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        mask = _core.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(t if importance_scores is None else importance_scores, mask)

    def remove(self, module: Any) -> None:
        """Makes the pruned parameter a plain one, with its zeros. The hook stays; see prune.remove.

        Args:
            module: The module.
        """
        name = self._tensor_name
        original = getattr(module, name + "_orig")
        original.data = self.apply_mask(module).detach()
        for old in ("", "_orig", "_mask"):
            delattr(module, name + old)
        module.register_parameter(name, original)


class PruningContainer(BasePruningMethod):
    """A sequence of pruning methods applied to the same parameter.

    >>> from pyburn.nn.utils import prune
    >>> first = prune.L1Unstructured(amount=1)
    >>> first._tensor_name = "weight"
    >>> len(prune.PruningContainer(first))
    1
    """

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        methods: Iterable[Any] = args
        if len(args) == 1 and not isinstance(args[0], BasePruningMethod):
            methods = args[0]
        for method in methods:
            if not self._pruning_methods and isinstance(method, BasePruningMethod):
                self._tensor_name = method._tensor_name
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod | None) -> None:
        """Adds a method, which must prune the same parameter."""
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is None:
            return
        if self._tensor_name != method._tensor_name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to PruningContainer {self}. "
                f"Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, index: Any) -> Any:
        return self._pruning_methods[index]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Returns the mask of the last method, which chooses among the elements not yet pruned."""
        method = self._pruning_methods[-1]
        kind = method.PRUNING_TYPE
        if kind == "global":
            return method.compute_mask(t, default_mask)
        mask = default_mask.clone().to(t.dtype)
        if kind == "unstructured":
            kept = mask == 1
            mask[kept] = method.compute_mask(t[kept], mask[kept]).to(mask.dtype)
            return mask
        if kind != "structured":
            raise ValueError(f"Unrecognized PRUNING_TYPE {kind}")
        dim = method.dim % t.ndim  # type: ignore[attr-defined]
        channels = (mask.sum([i for i in range(t.ndim) if i != dim]) != 0).nonzero().reshape(-1)
        chosen = method.compute_mask(t.index_select(dim, channels), mask.index_select(dim, channels))
        return mask.index_copy(dim, channels, chosen.to(mask.dtype))


class Identity(BasePruningMethod):
    """Prunes nothing.

    >>> layer = pyburn.nn.Linear(2, 3)
    >>> _ = Identity.apply(layer, "weight")
    >>> layer.weight_mask.min()
    tensor(1.)
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class _ByAmount(BasePruningMethod):
    def __init__(self, amount: float) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def _count(self, size: int) -> int:
        _validate_pruning_amount(self.amount, size)
        return _compute_nparams_toprune(self.amount, size)

    def _without_lowest(self, mask: Tensor, scores: Tensor) -> Tensor:
        mask, count = mask.clone(), self._count(scores.numel())
        if count:
            mask.view(-1)[scores.reshape(-1).topk(count, largest=False)[1]] = 0
        return mask


class RandomUnstructured(_ByAmount):
    """Prunes random elements: a fraction (float) or a number (int).

    >>> pyburn.nn.utils.prune.RandomUnstructured(amount=2).prune(pyburn.ones(5)).sum()
    tensor(3.)
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return self._without_lowest(default_mask, _core.rand(t.shape, device=t.device))


class L1Unstructured(_ByAmount):
    """Prunes the elements with the smallest absolute values.

    >>> pyburn.nn.utils.prune.L1Unstructured(amount=2).prune(pyburn.tensor([3.0, -1.0, 2.0]))
    tensor([3., -0., 0.])
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return self._without_lowest(default_mask, t.abs())


class RandomStructured(_ByAmount):
    """Prunes random slices along a dimension."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return self._without_slices(default_mask, _core.rand(t.shape[self.dim], device=t.device))

    def _without_slices(self, mask: Tensor, scores: Tensor) -> Tensor:
        if mask.ndim < 2:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
                f"{tuple(mask.shape)} with {mask.ndim} dims"
            )
        count = self._count(scores.numel())
        return mask.index_fill(self.dim, scores.topk(count, largest=False)[1], 0) if count else mask.clone()


class LnStructured(RandomStructured):
    """Prunes the slices along a dimension with the lowest L_n norm."""

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        others = [i for i in range(t.ndim) if i != self.dim % t.ndim]
        if not others:
            return self._without_slices(default_mask, t)
        return self._without_slices(default_mask, _core.norm(t, self.n, dim=others))


class CustomFromMask(BasePruningMethod):
    """Prunes the elements where a mask is 0.

    >>> pyburn.nn.utils.prune.CustomFromMask(pyburn.tensor([1, 0])).prune(pyburn.ones(2))
    tensor([1., 0.])
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(f"expected a mask of shape {tuple(default_mask.shape)}: got {tuple(self.mask.shape)}")
        return default_mask * self.mask.to(default_mask.dtype)
