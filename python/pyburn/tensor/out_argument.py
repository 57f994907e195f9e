"""`out=` of functions that are written in Python."""

from __future__ import annotations

import functools
from typing import Any

from .._core import Tensor


def into(out: Tensor | None, result: Tensor) -> Tensor:
    """The result itself, or `out` with its elements; an empty `out` takes its shape."""
    if out is None:
        return result
    if out.numel() == 0:
        out.resize_(result.shape)
    return out.copy_(result)


def takes_out(function: Any) -> Any:
    """A function of one result that takes `out=` as well."""

    @functools.wraps(function)
    def with_out(*args: Any, out: Tensor | None = None, **kwargs: Any) -> Tensor:
        return into(out, function(*args, **kwargs))

    return with_out
