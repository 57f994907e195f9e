"""Functions of `ops` that are functions of pyburn with other arguments: a summary and a definition of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pyburn
from pyburn import Tensor, linalg
from pyburn.nn import functional

from ..conversion import dtype_of

Axis = int | Sequence[int] | None


def axes_of(x: Tensor, axis: Axis) -> list[int]:
    """Returns the dimensions that `axis` stands for: all of them if it is None.

    Args:
        x: The tensor.
        axis: One axis, several, or None.

    >>> from p_vision.ops.renamed import axes_of
    >>> axes_of(pyburn.ones(2, 3), None)
    [0, 1]
    """
    return list(range(x.ndim)) if axis is None else [axis] if isinstance(axis, int) else list(axis)


def _line(x: Tensor, axis: int | None) -> tuple[Tensor, int]:
    return (x.reshape(-1), 0) if axis is None else (x, axis)


def _list(value: Any) -> list[Any]:
    return [value] if isinstance(value, int) else list(value)


def _known(x: Tensor, value: float) -> Tensor:
    """Replaces NaN by a value."""
    return pyburn.where(x.isnan(), value, x)


def _reduced(reduce: Callable[..., Tensor], x: Tensor, axis: int | None, keepdims: bool) -> Tensor:
    return reduce(x) if axis is None else reduce(x, axis, keepdim=keepdims)


def _norm(x: Tensor, ord: Any = None, axis: Axis = None, keepdims: bool = False) -> Tensor:
    return linalg.norm(x, ord, axis if axis is None else tuple(axes_of(x, axis)), keepdim=keepdims)


def _moments(x: Tensor, axes: Axis, keepdims: bool = False) -> list[Tensor]:
    variance, mean = pyburn.var_mean(x, axes_of(x, axes), correction=0, keepdim=keepdims)
    return [mean, variance]


def _lstsq(a: Tensor, b: Tensor, rcond: float | None = None) -> Tensor:
    return linalg.lstsq(a, b if b.ndim > 1 else b.unsqueeze(-1), rcond=rcond)[0].reshape(a.shape[-1], *b.shape[1:])


def _unique(x: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, axis: int | None = None) -> Any:
    return pyburn.unique(x, sorted, return_inverse, return_counts, axis)


FUNCTIONS: dict[str, tuple[str, Callable[..., Any]]] = {
    # ---- element-wise
    "gelu": ("The GELU activation.", lambda x, approximate=True: functional.gelu(x, approximate="tanh" if approximate else "none")),
    "clip": ("Clamps the elements to a range.", lambda x, x_min, x_max: pyburn.clamp(x, x_min, x_max)),
    "cbrt": ("The cube root of each element.", lambda x: x.sign() * x.abs().pow(1 / 3)),
    "divide_no_nan": ("x1 / x2, or 0 where x2 is 0.", lambda x1, x2: pyburn.where(x2 == 0, 0.0, x1 / pyburn.where(x2 == 0, 1.0, x2))),
    "where": (
        "Elements of x1 where the condition is True, else of x2; without them, the indices where it is True.",
        lambda condition, x1=None, x2=None: pyburn.where(condition) if x1 is None else pyburn.where(condition, x1, x2),
    ),
    "cast": ("Casts to a dtype.", lambda x, dtype: pyburn.as_tensor(x).to(dtype=dtype_of(dtype))),
    "stop_gradient": ("Returns x; no gradient flows back through it.", lambda x: x.detach()),
    "copy": ("Returns a copy.", lambda x: x.clone()),
    "zeros_like": ("Zeros with the shape of x.", lambda x, dtype=None: pyburn.zeros_like(x, dtype=dtype_of(dtype))),
    "ones_like": ("Ones with the shape of x.", lambda x, dtype=None: pyburn.ones_like(x, dtype=dtype_of(dtype))),
    "full_like": (
        "A constant with the shape of x.",
        lambda x, fill_value, dtype=None: pyburn.full_like(x, fill_value, dtype=dtype_of(dtype)),
    ),
    # ---- reductions, orders
    "argmax": ("The index of the largest element.", lambda x, axis=None, keepdims=False: pyburn.argmax(x, axis, keepdim=keepdims)),
    "argmin": ("The index of the smallest element.", lambda x, axis=None, keepdims=False: pyburn.argmin(x, axis, keepdim=keepdims)),
    "prod": (
        "The product of the elements.",
        lambda x, axis=None, keepdims=False: _reduced(pyburn.prod, x, axis, keepdims),
    ),
    "ptp": (
        "The largest minus the smallest element.",
        lambda x, axis=None, keepdims=False: x.amax(axes_of(x, axis), keepdims) - x.amin(axes_of(x, axis), keepdims),
    ),
    "norm": ("The norm of a vector or matrix.", _norm),
    "moments": ("The mean and the variance.", _moments),
    "cumsum": ("The cumulative sum.", lambda x, axis=None: pyburn.cumsum(*_line(x, axis))),
    "cumprod": ("The cumulative product.", lambda x, axis=None: pyburn.cumprod(*_line(x, axis))),
    "diff": ("The differences of neighboring elements.", lambda a, n=1, axis=-1: pyburn.diff(a, n, axis)),
    "trapezoid": (
        "The integral along an axis by the trapezoidal rule.",
        lambda y, x=None, dx=1.0, axis=-1: pyburn.trapezoid(y, dx=dx, dim=axis) if x is None else pyburn.trapezoid(y, x, dim=axis),
    ),
    "sort": ("Sorts along an axis.", lambda x, axis=-1: pyburn.sort(x, axis)[0]),
    "argsort": ("The indices that sort along an axis.", lambda x, axis=-1: pyburn.argsort(x, axis, stable=True)),
    "top_k": ("The k largest elements and their indices.", lambda x, k, sorted=True: list(pyburn.topk(x, k, -1, True, sorted))),
    "in_top_k": (
        "Whether each target class is among the k largest outputs.",
        lambda targets, predictions, k: (predictions.topk(k, -1)[1] == targets.long().unsqueeze(-1)).any(-1),
    ),
    "searchsorted": (
        "The indices at which values keep a sequence sorted.",
        lambda sorted_sequence, values, side="left": pyburn.searchsorted(sorted_sequence, values, right=side == "right"),
    ),
    "unique": ("The unique elements.", _unique),
    "bincount": (
        "The number of occurrences of each integer, or the sum of their weights.",
        lambda x, weights=None, minlength=0, sparse=False: pyburn.bincount(x.long(), weights=weights, minlength=minlength),
    ),
    # ---- shapes
    "reshape": ("Reshapes.", lambda x, newshape: x.reshape(_list(newshape))),
    "transpose": ("Permutes the dimensions.", lambda x, axes=None: x.permute(*(reversed(range(x.ndim)) if axes is None else axes))),
    "swapaxes": ("Swaps two dimensions.", lambda x, axis1, axis2: x.transpose(axis1, axis2)),
    "moveaxis": ("Moves dimensions.", lambda x, source, destination: x.movedim(source, destination)),
    "squeeze": ("Removes dimensions of size 1.", lambda x, axis=None: x.squeeze() if axis is None else x.squeeze(axis)),
    "broadcast_to": ("Broadcasts to a shape.", lambda x, shape: x.expand(*shape)),
    "flip": ("Reverses the elements along axes.", lambda x, axis=None: x.flip(axes_of(x, axis))),
    "roll": (
        "Shifts the elements along axes, cyclically.",
        lambda x, shift, axis=None: pyburn.roll(x, shift) if axis is None else pyburn.roll(x, shift, axis),
    ),
    "tile": ("Repeats a tensor.", lambda x, repeats: pyburn.tile(x, _list(repeats))),
    "repeat": ("Repeats each element.", lambda x, repeats, axis=None: _line(x, axis)[0].repeat_interleave(repeats, axis or 0)),
    # ---- joining and splitting
    "concatenate": ("Concatenates tensors.", lambda xs, axis=0: pyburn.cat(list(xs), axis)),
    "append": (
        "Concatenates two tensors, flattened if axis is None.",
        lambda x1, x2, axis=None: pyburn.cat([_line(x1, axis)[0], _line(x2, axis)[0]], axis or 0),
    ),
    "stack": ("Stacks tensors along a new axis.", lambda x, axis=0: pyburn.stack(list(x), axis)),
    "unstack": ("Splits into the slices along an axis.", lambda x, num=None, axis=0: list(x.unbind(axis))),
    "split": ("Splits along an axis.", lambda x, indices_or_sections, axis=0: list(pyburn.tensor_split(x, indices_or_sections, axis))),
    "array_split": (
        "Splits along an axis into parts that may differ in size.",
        lambda x, indices_or_sections, axis=0: list(pyburn.tensor_split(x, indices_or_sections, axis)),
    ),
    "hsplit": ("Splits along the second dimension.", lambda x, indices_or_sections: list(pyburn.hsplit(x, indices_or_sections))),
    "vsplit": ("Splits along the first dimension.", lambda x, indices_or_sections: list(pyburn.vsplit(x, indices_or_sections))),
    "take_along_axis": (
        "Takes one element per index along an axis.",
        lambda x, indices, axis=None: pyburn.take_along_dim(_line(x, axis)[0], _line(indices.long(), axis)[0], axis or 0),
    ),
    "unravel_index": (
        "Converts flat indices to indices of a shape.",
        lambda indices, shape: pyburn.unravel_index(indices.long(), tuple(shape)),
    ),
    "dsplit": ("Splits along the third dimension.", lambda x, indices_or_sections: list(pyburn.tensor_split(x, indices_or_sections, 2))),
    "meshgrid": (
        'Grids of coordinates; with indexing "xy" (the default) the first two dimensions are swapped, as in NumPy.',
        lambda *x, indexing="xy": list(pyburn.meshgrid(*x, indexing=indexing)),
    ),
    # ---- windows
    "bartlett": ("The Bartlett window of a length.", lambda x: pyburn.bartlett_window(x, periodic=False)),
    "blackman": ("The Blackman window of a length.", lambda x: pyburn.blackman_window(x, periodic=False)),
    "hamming": ("The Hamming window of a length.", lambda x: pyburn.hamming_window(x, periodic=False)),
    "hanning": ("The Hann window of a length.", lambda x: pyburn.hann_window(x, periodic=False)),
    "kaiser": ("The Kaiser window of a length.", lambda x, beta: pyburn.kaiser_window(x, periodic=False, beta=beta)),
    # ---- not a number
    "nanprod": (
        "The product of the elements that are not NaN.",
        lambda x, axis=None, keepdims=False: _reduced(pyburn.prod, _known(x, 1.0), axis, keepdims),
    ),
    "nancumsum": ("The cumulative sum, with NaN as 0.", lambda x, axis=None: pyburn.cumsum(*_line(_known(x, 0.0), axis))),
    "nancumprod": ("The cumulative product, with NaN as 1.", lambda x, axis=None: pyburn.cumprod(*_line(_known(x, 1.0), axis))),
    "nanargmax": (
        "The index of the largest element that is not NaN.",
        lambda x, axis=None, keepdims=False: pyburn.argmax(_known(x, -math.inf), axis, keepdim=keepdims),
    ),
    "nanargmin": (
        "The index of the smallest element that is not NaN.",
        lambda x, axis=None, keepdims=False: pyburn.argmin(_known(x, math.inf), axis, keepdim=keepdims),
    ),
    # ---- matrices
    "diagonal": ("A diagonal.", lambda x, offset=0, axis1=0, axis2=1: pyburn.diagonal(x, offset, axis1, axis2)),
    "trace": ("The sum of a diagonal.", lambda x, offset=0, axis1=0, axis2=1: pyburn.diagonal(x, offset, axis1, axis2).sum(-1)),
    "normalize": (
        "Divides by the norm along an axis.",
        lambda x, axis=-1, order=2, epsilon=1e-12: functional.normalize(x, float(order), axis, epsilon),
    ),
    "qr": ("The QR decomposition.", lambda x, mode="reduced": linalg.qr(x, mode)),
    "svd": (
        "The singular value decomposition.",
        lambda x, full_matrices=True, compute_uv=True: linalg.svd(x, full_matrices) if compute_uv else linalg.svdvals(x),
    ),
    "lstsq": ("The least-squares solution of a @ x = b.", _lstsq),
    "psnr": (
        "The peak signal-to-noise ratio of images in decibels.",
        lambda x1, x2, max_val: 20 * pyburn.log10(pyburn.tensor(float(max_val))) - 10 * (x1 - x2).square().mean().log10(),
    ),
}
ARGUMENTS = {
    "x": "The tensor.",
    "x1": "The first tensor.",
    "x2": "The second tensor.",
    "xs": "The tensors.",
    "a": "The tensor, or a matrix.",
    "b": "The right-hand side.",
    "y": "The values.",
    "inputs": "The tensor.",
    "images": "The images (N, height, width, channels) or (height, width, channels).",
    "axis": "The axis, or the axes; None for all of them, or for the flattened tensor.",
    "axes": "The axes.",
    "axis1": "The first axis.",
    "axis2": "The second axis.",
    "keepdims": "Whether to keep reduced dimensions with size 1.",
    "dtype": "The dtype of the result.",
    "shape": "The shape.",
    "newshape": "The shape; one dimension may be -1.",
    "size": "The size (height, width).",
    "indices": "The indices.",
    "indices_or_sections": "The number of parts, or the indices at which to split.",
    "repeats": "The number of repetitions, or one number per dimension or element.",
    "shift": "The number of places.",
    "k": "The number of elements.",
    "n": "How often the differences are taken.",
    "q": "The quantile, from 0 to 1 (or percentile, from 0 to 100), or several.",
    "method": 'How to interpolate between two elements: "linear", "lower", "higher", "midpoint" or "nearest".',
    "sorted": "Whether the result is sorted.",
    "weights": "The weights of the elements.",
    "epsilon": "A small number that avoids division by zero.",
    "order": "The order of the norm.",
    "ord": "The order of the norm.",
    "offset": "The distance of the diagonal from the main one; or the offset to add.",
    "scale": "The scale.",
    "kernel": "The kernel.",
    "strides": "The step of the window.",
    "padding": '"valid" or "same".',
    "data_format": '"channels_last" or "channels_first".',
    "dilation_rate": "The distance between the elements of the kernel.",
    "pool_size": "The size of the window.",
    "block_size": "The height and width of a block.",
    "num_classes": "The number of classes.",
    "data": "The values.",
    "segment_ids": "The segment of each row.",
    "num_segments": "The number of segments; by default the largest segment plus one.",
    "y_true": "The targets.",
    "y_pred": "The outputs.",
    "from_logits": "Whether the outputs are logits instead of probabilities.",
    "negative_slope": "The slope for negative inputs.",
    "threshold": "The threshold.",
    "alpha": "The scale of the negative part.",
    "approximate": "Whether to use the approximation by tanh.",
    "max_val": "The largest value of a pixel.",
    "full_matrices": "Whether to return square matrices.",
    "fill_value": "The value.",
    "x_min": "The lowest value.",
    "x_max": "The highest value.",
    "condition": "The condition.",
    "source": "The dimensions to move.",
    "destination": "Their new places.",
}
