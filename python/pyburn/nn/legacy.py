"""Arguments that PyTorch has deprecated and older code still uses, in terms of those that took their place."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

_RENAMED = {"min_value": "min_val", "max_value": "max_val"}


def reduction(size_average: bool | None, reduce: bool | None, stacklevel: int = 2) -> str:
    """The reduction that two flags of PyTorch's past stand for, with a warning.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True):
    ...     pyburn.nn.legacy.reduction(False, None)
    """
    name = "none" if reduce is False else "sum" if size_average is False else "mean"
    text = f"size_average and reduce args will be deprecated, please use reduction='{name}' instead."
    warnings.warn(text, stacklevel=stacklevel + 1)
    return name


def translate(given: dict[str, Any]) -> None:
    """Replaces the deprecated arguments of a call by today's.

    >>> given = {"min_val": -1.0}
    >>> pyburn.nn.legacy.translate(given)
    >>> given
    """
    flags = [given.pop(name, None) for name in ("size_average", "reduce")]
    if any(flag is not None for flag in flags):
        given["reduction"] = reduction(*flags, stacklevel=3)
    for old, new in _RENAMED.items():
        value = given.pop(old, None)
        if value is not None:
            warnings.warn(f"keyword argument `{old}` is deprecated and rename to `{new}`", FutureWarning, stacklevel=3)
            given[new] = value


def with_legacy_arguments(function: Callable[..., Any], arguments: str) -> Callable[..., Any]:
    """The function with `arguments` in PyTorch's order, size_average and reduce among them."""
    defaults = {name: p.default for name, p in inspect.signature(function).parameters.items()}
    names = arguments.split(", ")
    parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=defaults.get(name, None)) for name in names]
    signature = inspect.Signature(parameters)

    @functools.wraps(function)
    def legacy(*args: Any, **kwargs: Any) -> Any:
        given = dict(signature.bind(*args, **kwargs).arguments)
        translate(given)
        return function(**given)

    legacy.__signature__ = signature  # type: ignore[attr-defined]
    return legacy
