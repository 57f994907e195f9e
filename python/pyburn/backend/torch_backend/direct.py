"""Operations that are a single PyTorch call, in the order of pyburn's families."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional as f

from ... import _core
from ..interface import kernel
from ..numpy_backend.arrays import operands

UNARY = """neg abs sign floor ceil trunc sqrt rsqrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh
    acosh atanh erf erfc erfinv lgamma digamma isinf isfinite signbit logical_not relu sigmoid frexp i0 special_i0e special_i1 special_i1e
    special_erfcx special_ndtri special_entr special_airy_ai special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1
    special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 nonzero linalg_slogdet"""
# Either operand can be a number.
BINARY = {"mul": operator.mul, "div": operator.truediv, "pow": torch.pow}
BINARY |= {op: getattr(operator, op) for op in ("eq", "ne", "lt", "le", "gt", "ge")}
# PyTorch requires two tensors.
BINARY_OF_TENSORS = """floor_divide remainder fmod maximum minimum
    atan2 hypot xlogy logaddexp logaddexp2 gcd lcm copysign fmax fmin nextafter heaviside logical_and
    logical_or logical_xor bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift igamma igammac special_zeta
    special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v special_chebyshev_polynomial_w
    special_hermite_polynomial_h special_hermite_polynomial_he special_laguerre_polynomial_l special_legendre_polynomial_p"""
# The function and the attributes it takes; `name=attribute` for keyword arguments.
CALLS: dict[str, tuple[Callable[..., Any], str]] = {
    "round": (torch.round, "decimals=decimals"),
    "nan_to_num": (torch.nan_to_num, "nan posinf neginf"),
    "cast": (lambda x, dtype: x.to(dtype, copy=True), "dtype"),
    "contiguous_copy": (lambda x: x.clone(memory_format=torch.contiguous_format), ""),
    "_view_bits": (lambda x, dtype: x.clone(memory_format=torch.contiguous_format).view(dtype), "dtype"),
    "polygamma": (lambda x, n: torch.polygamma(n, x), "n"),
    "addcmul": (torch.addcmul, "value=value"),
    "addcdiv": (torch.addcdiv, "value=value"),
    "sum": (torch.sum, "dim keepdim dtype=result"),
    "mean": (torch.mean, "dim keepdim dtype=result"),
    "nansum": (torch.nansum, "dim keepdim dtype=result"),
    "count_nonzero": (lambda x, dim, keepdim: torch.sum(x != 0, dim, keepdim), "dim keepdim"),
    "any": (lambda x, dim, keepdim: torch.any(x, dim, keepdim) if dim else x != 0, "dim keepdim"),
    "all": (lambda x, dim, keepdim: torch.all(x, dim, keepdim) if dim else x != 0, "dim keepdim"),
    "amax": (torch.amax, "dim keepdim"),
    "amin": (torch.amin, "dim keepdim"),
    "logsumexp": (torch.logsumexp, "dim keepdim"),
    "var_mean": (torch.var_mean, "dim correction=correction keepdim=keepdim"),
    "argmax": (lambda x, dim, keepdim: torch.argmax(x, None if dim < 0 else dim, keepdim), "dim keepdim"),
    "argmin": (lambda x, dim, keepdim: torch.argmin(x, None if dim < 0 else dim, keepdim), "dim keepdim"),
    "max.dim": (torch.max, "dim keepdim"),
    "min.dim": (torch.min, "dim keepdim"),
    "cummax": (torch.cummax, "dim"),
    "cummin": (torch.cummin, "dim"),
    "sort": (lambda x, dim, descending: torch.sort(x, dim=dim, descending=descending, stable=True), "dim descending"),
    "topk": (torch.topk, "k dim largest sorted"),
    "kthvalue": (torch.kthvalue, "k dim keepdim"),
    "median.dim": (torch.median, "dim keepdim"),
    "nanmedian.dim": (torch.nanmedian, "dim keepdim"),
    "mode": (torch.mode, "dim keepdim"),
    "histc": (torch.histc, "bins min max"),
    "bincount": (torch.bincount, "minlength=minlength"),
    "index_select": (lambda x, index, dim: torch.index_select(x, dim, index), "dim"),
    "index_add": (lambda x, index, source, dim, alpha: torch.index_add(x, dim, index, source, alpha=alpha), "dim alpha"),
    "index_copy": (lambda x, index, source, dim: torch.index_copy(x, dim, index, source), "dim"),
    "_embedding": (lambda weight, indices: f.embedding(indices, weight), ""),
    "gather": (lambda x, index, dim: torch.gather(x, dim, index), "dim"),
    "scatter.src": (lambda x, index, src, dim: torch.scatter(x, dim, index, src), "dim"),
    "scatter_add": (lambda x, index, src, dim: torch.scatter_add(x, dim, index, src), "dim"),
    "cat": (lambda *tensors: torch.cat(tensors[:-1], tensors[-1]), "dim"),
    "flip": (torch.flip, "dims"),
    "tril": (torch.tril, "diagonal"),
    "triu": (torch.triu, "diagonal"),
    "constant_pad_nd": (torch.constant_pad_nd, "pad value"),
    "bmm": (torch.bmm, ""),
    "bmm_plus": (torch.baddbmm, "beta=beta alpha=alpha"),
    "_linalg_solve": (torch.linalg.solve, ""),
    "_linalg_lu": (lambda a: torch.linalg.lu_factor_ex(a)[:2], ""),
    "linalg_solve_triangular": (torch.linalg.solve_triangular, "upper=upper left=left unitriangular=unit"),
    "linalg_cholesky": (torch.linalg.cholesky, "upper=upper"),
    "linalg_qr": (lambda a, mode: torch.linalg.qr(a, ("reduced", "complete", "r")[mode]), "mode"),
    "linalg_svd": (torch.linalg.svd, "full"),
    "im2col": (f.unfold, "kernel_size dilation padding stride"),
    "col2im": (f.fold, "output_size kernel_size dilation padding stride"),
    "softmax": (torch.softmax, "dim dtype=result"),
    "log_softmax": (torch.log_softmax, "dim dtype=result"),
    "softmax_backward": (lambda dy, y, dim: torch.ops.aten._softmax_backward_data(dy, y, dim, y.dtype), "dim"),
    "log_softmax_backward": (lambda dy, y, dim: torch.ops.aten._log_softmax_backward_data(dy, y, dim, y.dtype), "dim"),
    "gelu": (lambda x, tanh: f.gelu(x, approximate="tanh" if tanh else "none"), "tanh"),
    "silu": (f.silu, ""),
    "mish": (f.mish, ""),
    "softplus": (f.softplus, "beta threshold"),
    "leaky_relu": (f.leaky_relu, "negative_slope"),
}


def function_of(op: str) -> Any:
    """Returns the PyTorch function of the same name."""
    return getattr(torch, op, None) or getattr(torch.special if op.startswith("special_") else torch.linalg, op.partition("_")[2])


def torch_value(attribute: Any) -> Any:
    return getattr(torch, attribute.name) if isinstance(attribute, _core.DType) else attribute


def call(op: str, function: Any, attributes: str) -> Any:
    positional = [name for name in attributes.split() if "=" not in name]
    keywords = [name.split("=") for name in attributes.split() if "=" in name]

    @kernel(op)
    def run(self: Any, *tensors: Any, **given: Any) -> Any:
        options = {name: torch_value(given[own]) for name, own in keywords}
        return function(*tensors, *(torch_value(given[name]) for name in positional), **options)

    return run


def unary(op: str, function: Any) -> Any:
    """Makes the kernel of an operation on one tensor.

    Args:
        op: The name of the operation.
        function: The PyTorch function.

    Returns:
        The kernel.

    >>> unary("exp", abs)(None, -1.0)
    1.0
    """

    @kernel(op)
    def run(self: Any, x: Any) -> Any:
        return function(x)

    return run


def binary(op: str, function: Any) -> Any:
    """Makes the kernel of an operation on two operands, one of which may be a number.

    Args:
        op: The name of the operation.
        function: The PyTorch function.

    Returns:
        The kernel.

    >>> binary("add", lambda a, b: a + b)(None, 1.0, 2.0)
    3.0
    """

    @kernel(op)
    def run(self: Any, *tensors: Any, scalar: int = 0, value: Any = None) -> Any:
        return function(*operands(tensors, scalar, value)) if scalar else function(*tensors)

    return run


def of_tensors(function: Any) -> Any:
    """Wraps a function of two tensors to accept a tensor and a number."""

    def of_both(a: Any, b: Any) -> Any:
        like = a if isinstance(a, torch.Tensor) else b
        return function(*(v if isinstance(v, torch.Tensor) else torch.full_like(like, v) for v in (a, b)))

    return of_both


class DirectKernels:
    """Kernels that are one call of a PyTorch function with the same arguments; see the tables above.

    >>> sorted(name for name in vars(DirectKernels) if name in ("exp", "matmul", "sqrt"))
    ['exp', 'sqrt']
    """

    locals().update({op: unary(op, function_of(op)) for op in UNARY.split()})
    locals().update({op: binary(op, function) for op, function in BINARY.items()})
    locals().update({op: binary(op, of_tensors(function_of(op))) for op in BINARY_OF_TENSORS.split()})
    locals().update({op: call(op, function, attributes) for op, (function, attributes) in CALLS.items()})
