"""Creation of modules without initialization."""

from __future__ import annotations

from typing import Any

from ..._core import _nn
from ..._core._nn import Module


def skip_init(module_cls: type, *args: Any, **kwargs: Any) -> Any:
    """Creates a module without initializing its parameters, for values that are loaded later.

    Args:
        module_cls: The class.
        *args: The arguments of its constructor.
        **kwargs: Its options.

    Returns:
        The module.

    Raises:
        RuntimeError: module_cls is not a Module class.

    >>> pyburn.nn.utils.skip_init(pyburn.nn.Linear, 2, 3)
    Linear(in_features=2, out_features=3, bias=True)
    """
    if not (isinstance(module_cls, type) and issubclass(module_cls, Module)):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    return _nn._without_init(module_cls, *args, **kwargs)
