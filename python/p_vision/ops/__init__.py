"""Keras's `ops`: functions of tensors with its names and arguments, which build functional models when called with symbols.

from p_vision import ops

ops.mean(x, axis=-1, keepdims=True)
ops.concatenate([a, b], axis=1)
"""

from __future__ import annotations

import builtins
import functools
import sys
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pyburn
from pyburn import Tensor
from pyburn.nn import functional

from .. import activations
from ..configured import public, suggestion
from ..conversion import as_input, dtype_of
from ..described import describe
from ..losses import functions
from ..symbolic.operation import Operation, drawing, table
from . import arrays, loops, networks, plain, tensors
from .loops import *  # noqa: F403
from .plain import *  # noqa: F403
from .renamed import ARGUMENTS, FUNCTIONS, Axis, axes_of
from .tensors import written


def _operation(function: Callable[..., Any], name: str | None = None, summary: str = "") -> Any:
    """Adds a function to the table; called with symbols, it adds a node to the graph."""
    key = name or function.__name__
    made = globals()[key] = drawing(function, key)
    made.__doc__ = summary or made.__doc__
    describe(made, ARGUMENTS, "The result.")
    return made


def _reduction(name: str, function: Callable[..., Tensor], summary: str, **fixed: Any) -> None:
    def reduce(x: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
        given = pyburn.as_tensor(x)
        if name in ("mean", "std", "var", "logsumexp") and not given.is_floating_point():
            given = given.float()  # the mean of booleans is a fraction
        return function(given, axes_of(given, axis), keepdim=keepdims, **fixed)

    _operation(reduce, name, summary)


_reduction("sum", pyburn.sum, "The sum of the elements.")
_reduction("mean", pyburn.mean, "The mean of the elements.")
_reduction("logsumexp", pyburn.logsumexp, "The logarithm of the sum of the exponentials.")
_reduction("nansum", pyburn.nansum, "The sum of the elements that are not NaN.")
_reduction("nanmean", pyburn.nanmean, "The mean of the elements that are not NaN.")
_reduction("any", pyburn.any, "Whether any element is True.")
_reduction("all", pyburn.all, "Whether all elements are True.")
for _name in ("max", "amax"):
    _reduction(_name, pyburn.amax, "The largest element.")
for _name in ("min", "amin"):
    _reduction(_name, pyburn.amin, "The smallest element.")
_reduction("std", pyburn.std, "The standard deviation, divided by the number of elements.", correction=0)
_reduction("var", pyburn.var, "The variance, divided by the number of elements.", correction=0)

# Element-wise functions of one or two tensors with the same arguments in pyburn.
_SAME = """
abs absolute add arccos arccosh arcsin arcsinh arctan arctan2 arctanh bitwise_and bitwise_not bitwise_or bitwise_xor ceil cos cosh
cross deg2rad diag divide einsum erf erfinv exp exp2 expm1 fmod floor floor_divide heaviside hypot isclose isfinite isinf isnan
kron log log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor matmul multiply nan_to_num nonzero
inner outer rad2deg ravel reciprocal relu round rsqrt sigmoid sign sin sinc sinh sqrt square subtract tan tanh tril triu trunc vdot
"""
_ACTIVATIONS = """
celu elu glu hard_shrink hard_sigmoid hard_silu hard_swish hard_tanh leaky_relu log_sigmoid log_softmax mish relu6 selu silu soft_shrink
softmax softplus softsign sparse_plus sparse_sigmoid sparsemax squareplus swish tanh_shrink threshold
"""
_OTHER_NAMES = {
    "equal": "eq",
    "not_equal": "ne",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "power": "pow",
    "negative": "neg",
    "mod": "remainder",
    "true_divide": "divide",
}


def _with_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps a binary function whose first argument can be a number."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        if len(args) > 1 and not isinstance(args[0], Tensor) and isinstance(args[1], Tensor) and isinstance(args[0], (int, float, bool)):
            args = (pyburn.tensor(args[0], device=args[1].device), *args[1:])
        return function(*args, **kwargs)

    return called


for _name in _SAME.split():
    _operation(_with_numbers(getattr(pyburn, _name)), _name)
for _name, _theirs in _OTHER_NAMES.items():
    _operation(_with_numbers(getattr(pyburn, _theirs)), _name)
for _name in ("binary_crossentropy", "categorical_crossentropy", "sparse_categorical_crossentropy"):
    _operation(getattr(functions, _name), _name)


def _pairwise(name: str, function: Callable[..., Tensor], summary: str) -> None:
    def of_two(x1: Any, x2: Any) -> Tensor:
        first = x1 if isinstance(x1, Tensor) else pyburn.as_tensor(x1, dtype=x2.dtype, device=x2.device)
        return function(first, x2 if isinstance(x2, Tensor) else pyburn.as_tensor(x2, dtype=first.dtype, device=first.device))

    _operation(of_two, name, summary)


_pairwise("maximum", pyburn.maximum, "The element-wise maximum.")
_pairwise("minimum", pyburn.minimum, "The element-wise minimum.")


def __getattr__(name: str) -> Any:
    if name in ("nn", "numpy", "linalg", "core", "math"):  # Keras has these submodules
        return sys.modules[__name__]
    hint = suggestion(name, __all__) or ": functions of pyburn take tensors too, and `Lambda` puts them into a model"
    raise AttributeError(f"p_vision.ops has no {name!r}{hint}")


for _name, (_summary, _function) in FUNCTIONS.items():
    _operation(_with_numbers(_function), _name, _summary)
for _name, _function in {**tensors.FUNCTIONS, **arrays.FUNCTIONS, **networks.FUNCTIONS}.items():
    _operation(_with_numbers(_function), _name)
for _name in _ACTIVATIONS.split():
    _operation(activations.get(_name), _name)
image = SimpleNamespace(**{name: drawing(function, f"image.{name}", name) for name, function in networks.IMAGE.items()})
for _function in vars(image).values():
    describe(_function, ARGUMENTS, "The images.")

__all__ = [*(name for name in table if "." not in name), *public(vars(plain)), *public(vars(loops)), "Operation", "image"]
