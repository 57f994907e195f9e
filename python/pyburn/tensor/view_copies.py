"""Copying versions of views: `permute_copy(x, ...)` is a copy of `permute(x, ...)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .out_argument import takes_out

_EXAMPLES = {
    "as_strided": "pyburn.as_strided_copy(pyburn.arange(4), (2, 2), (1, 1))",
    "detach": "pyburn.detach_copy(pyburn.ones(2))",
    "diagonal": "pyburn.diagonal_copy(pyburn.eye(2))",
    "expand": "pyburn.expand_copy(pyburn.ones(1, 2), (2, 2))",
    "permute": "pyburn.permute_copy(pyburn.ones(2, 3), (1, 0)).shape",
    "select": "pyburn.select_copy(pyburn.eye(2), 0, 1)",
    "slice": "pyburn.slice_copy(pyburn.arange(4), 0, 1, 3)",
    "split": "pyburn.split_copy(pyburn.arange(4), 2)",
    "split_with_sizes": "pyburn.split_with_sizes_copy(pyburn.arange(4), (1, 3))",
    "squeeze": "pyburn.squeeze_copy(pyburn.ones(1, 2))",
    "t": "pyburn.t_copy(pyburn.ones(2, 3)).shape",
    "transpose": "pyburn.transpose_copy(pyburn.ones(2, 3), 0, 1).shape",
    "unbind": "pyburn.unbind_copy(pyburn.eye(2))",
    "unfold": "pyburn.unfold_copy(pyburn.arange(4), 0, 2, 1)",
    "unsqueeze": "pyburn.unsqueeze_copy(pyburn.ones(2), 0).shape",
    "view": "pyburn.view_copy(pyburn.ones(4), (2, 2)).shape",
}


def _copying(name: str, example: str) -> Callable[..., Any]:
    view = getattr(_core, name, None) or getattr(_core.Tensor, name)

    @takes_out
    def copy(input: Any, *arguments: Any, **named: Any) -> Any:
        seen = view(input, *arguments, **named)
        return seen.clone() if isinstance(seen, _core.Tensor) else tuple(part.clone() for part in seen)

    copy.__name__ = copy.__qualname__ = name + "_copy"
    copy.__doc__ = f"What {name} gives, as a copy.\n\n>>> {example}"
    return copy


COPIES = {name + "_copy": _copying(name, example) for name, example in _EXAMPLES.items()}
COPIES["alias_copy"] = _copying("clone", "pyburn.alias_copy(pyburn.ones(2))")
