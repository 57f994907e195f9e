"""Deprecated PyTorch arguments, translated to current ones."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

# The arguments of losses in nn.functional, as in PyTorch.
_FLAGS = "size_average=None, reduce=None, reduction='mean'"
LOSSES = {
    "binary_cross_entropy": f"input, target, weight=None, {_FLAGS}",
    "binary_cross_entropy_with_logits": f"input, target, weight=None, {_FLAGS}, pos_weight=None",
    "cosine_embedding_loss": f"input1, input2, target, margin=0, {_FLAGS}",
    "cross_entropy": "input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean', label_smoothing=0.0",
    "hinge_embedding_loss": f"input, target, margin=1.0, {_FLAGS}",
    "kl_div": f"input, target, {_FLAGS}, log_target=False",
    "l1_loss": f"input, target, {_FLAGS}, weight=None",
    "margin_ranking_loss": f"input1, input2, target, margin=0, {_FLAGS}",
    "mse_loss": f"input, target, {_FLAGS}, weight=None",
    "multi_margin_loss": f"input, target, p=1, margin=1.0, weight=None, {_FLAGS}",
    "multilabel_margin_loss": f"input, target, {_FLAGS}",
    "multilabel_soft_margin_loss": f"input, target, weight=None, {_FLAGS}",
    "nll_loss": "input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean'",
    "poisson_nll_loss": "input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction='mean'",
    "smooth_l1_loss": f"input, target, {_FLAGS}, beta=1.0",
    "soft_margin_loss": f"input, target, {_FLAGS}",
    "triplet_margin_loss": f"anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, {_FLAGS}",
}
_RENAMED = {"min_value": "min_val", "max_value": "max_val"}


def reduction(size_average: bool | None, reduce: bool | None, stacklevel: int = 2) -> str:
    """Returns the reduction for PyTorch's deprecated flags, with a warning.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     print(pyburn.nn.legacy.reduction(False, None))
    sum
    """
    name = "none" if reduce is False else "sum" if size_average is False else "mean"
    text = f"size_average and reduce args will be deprecated, please use reduction='{name}' instead."
    warnings.warn(text, stacklevel=stacklevel + 1)
    return name


def translate(given: dict[str, Any]) -> None:
    """Replaces deprecated arguments of a call in place.

    >>> given = {"min_val": -1.0}
    >>> pyburn.nn.legacy.translate(given)
    >>> given
    {'min_val': -1.0}
    """
    size_average, reduce = given.pop("size_average", None), given.pop("reduce", None)
    if size_average is not None or reduce is not None:
        given["reduction"] = reduction(size_average, reduce, stacklevel=3)
    for old, new in _RENAMED.items():
        value = given.pop(old, None)
        if value is not None:
            warnings.warn(f"keyword argument `{old}` is deprecated and rename to `{new}`", FutureWarning, stacklevel=3)
            given[new] = value


def with_legacy_arguments(function: Callable[..., Any], arguments: str) -> Callable[..., Any]:
    """Wraps a function to accept `arguments`, including size_average and reduce."""
    read = _named_like(function, eval(f"lambda {arguments}: locals()"))

    def legacy(*args: Any, **kwargs: Any) -> Any:
        given = read(*args, **kwargs)
        translate(given)
        return function(**given)

    legacy.__wrapped__ = read  # type: ignore[attr-defined]  # used by inspect.signature
    return _named_like(function, legacy)


def with_implicit_axis(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps softmax functions to choose a dimension if `dim` is None, with a warning, as in PyTorch."""

    def softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
        if dim is None:
            text = (
                f"Implicit dimension choice for {function.__name__} has been deprecated. Change the call to include dim=X as an argument."
            )
            warnings.warn(text, stacklevel=_stacklevel - 1)
            dim = 0 if input.ndim in (0, 1, 3) else 1
        return function(input, dim, dtype=dtype)

    return _named_like(function, softmax)


def _named_like(other: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = other.__name__
    function.__doc__ = other.__doc__
    return function
