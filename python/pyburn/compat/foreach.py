"""torch._foreach_*: an operation on each of a list of tensors. pyburn's own optimisers have one operation for a whole group instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core, linalg
from .._core import Tensor

_UNARY = (
    "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round rsqrt sigmoid sign "
    "sin sinh sqrt tan tanh trunc"
)
_MORE = "add addcdiv addcmul clamp_max clamp_min div lerp maximum minimum mul pow sub"
_BOTH = [*_UNARY.split(), *_MORE.split()]
NAMES = frozenset([*_BOTH, *(f"{name}_" for name in _BOTH), "clone", "copy_", "max", "mm", "norm", "powsum", "zero_"])
_OPTIONS = ("alpha", "dtype", "memory_format", "non_blocking", "ord", "value")  # the same for all; other words name lists or operands


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _of_each(value: Any, count: int) -> list[Any]:
    """An element of a list for each tensor, or the same for all."""
    if not _is_list(value):
        return [value] * count
    if len(value) != count:
        raise RuntimeError(f"Tensor lists must have the same number of tensors, got {count} and {len(value)}")
    return list(value)


def _one(name: str, x: Any, operands: list[Any], options: dict[str, Any]) -> Any:
    """The operation on one of the tensors."""
    function = name.removesuffix("_")
    if name == "norm":
        return linalg.vector_norm(x, *operands, **options)
    if name == "powsum":
        return (x.abs() ** (operands[0] if operands else options.get("ord", 2))).sum(dtype=options.get("dtype"))
    if function in ("addcdiv", "addcmul") and len(operands) == 3:
        options = {"value": operands.pop()}
    if isinstance(options.get("value"), Tensor):
        options = {"value": options["value"].item()}
    if function in ("maximum", "minimum"):  # which have no form in place
        result = getattr(_core, function)(x, *operands)
        return x.copy_(result) if name.endswith("_") else result
    if not isinstance(x, Tensor):  # a number to the power of each
        return getattr(_core, function)(x, *operands)
    return getattr(x, name)(*operands, **options)


def foreach(name: str) -> Callable[..., Any]:
    """The function `torch._foreach_<name>`."""

    def apply(self: Any, *operands: Any, **named: Any) -> Any:
        options = {key: named.pop(key) for key in _OPTIONS if key in named}
        given = [*operands, *named.values()]
        if name.startswith("addc") and len(given) == 3 and isinstance(given[2], Tensor) and given[2].dim() == 1:
            given[2] = given[2].tolist()  # a number for each
        lists = [value for value in (self, *given) if _is_list(value)]
        if not _is_list(self) and not (name == "pow" and lists):
            raise TypeError(f"_foreach_{name}(): argument 'self' (position 1) must be tuple of Tensors, not {type(self).__name__}")
        count = len(lists[0])
        if count == 0:
            raise RuntimeError("Tensor list must have at least one tensor.")
        columns = [_of_each(value, count) for value in given]
        results = [_one(name, x, [column[i] for column in columns], options) for i, x in enumerate(_of_each(self, count))]
        return self if name.endswith("_") else tuple(results)

    apply.__name__ = apply.__qualname__ = f"_foreach_{name}"
    return apply
