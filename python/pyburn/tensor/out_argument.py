"""`out=` of functions that are written in Python."""

from __future__ import annotations

import functools
from typing import Any

from .. import _core
from .._core import Tensor


def into(out: Any, result: Any) -> Any:
    """`out` with the elements of the result; of each, where there are several. Shapes and dtypes must fit as for functions of C++."""
    if isinstance(result, Tensor):
        return _core.contiguous(result, out=out)  # type: ignore[call-arg]
    for target, part in zip(out, result, strict=True):
        into(target, part)
    return out


def takes_out(function: Any) -> Any:
    """The function, which takes `out=` as well: a tensor, or as many as it has results."""

    @functools.wraps(function)
    def with_out(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        return result if out is None else into(out, result)

    return with_out
