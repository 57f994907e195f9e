"""Adds `out=` and NumPy's argument names, which C++ functions accept, to functions written in Python."""

from __future__ import annotations

import functools
from typing import Any

from .. import _core
from .._core import Tensor

# As in PyTorch and in bindings/signature.cpp.
NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other"}


def into(out: Any, result: Any) -> Any:
    """Copies a result, or each of several, into `out`. Shapes and dtypes must match as for C++ functions."""
    if isinstance(result, Tensor):
        return _core.contiguous(result, out=out)  # type: ignore[call-arg]
    for target, part in zip(out, result, strict=True):
        into(target, part)
    return out


def takes_out(function: Any) -> Any:
    """Decorator that adds `out=` (a tensor, or one per result) and NumPy's argument names."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    usual = {other: name for other, name in NUMPY_NAMES.items() if name in names and other not in names}

    @functools.wraps(function)
    def with_out(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        for other in usual.keys() & kwargs.keys():
            if usual[other] not in kwargs:  # otherwise it is an unexpected argument
                kwargs[usual[other]] = kwargs.pop(other)
        result = function(*args, **kwargs)
        return result if out is None else into(out, result)

    return with_out
