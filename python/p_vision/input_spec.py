"""InputSpec: the shape and dtype that a layer requires, checked on each call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyburn
from pyburn._nested import leaves

from .configured import Configured


class InputSpec(Configured):
    """The number of dimensions, the sizes and the dtype that a layer requires; None is not checked. A layer has one or a list of them as
    `self.input_spec`.

    Args:
        dtype: The dtype.
        shape: The shape; None for sizes that are not checked.
        ndim: The number of dimensions.
        max_ndim: The largest number of dimensions.
        min_ndim: The least number of dimensions.
        axes: Sizes by axis.
        allow_last_axis_squeeze: Whether a last dimension of size 1 can be missing or added.
        name: The name of the input.
        optional: Whether the input can be None.

    >>> p_vision.InputSpec(min_ndim=2, axes={-1: 4})
    InputSpec(min_ndim=2, axes={-1: 4})
    """

    def __init__(
        self,
        dtype: Any = None,
        shape: Sequence[int | None] | None = None,
        ndim: int | None = None,
        max_ndim: int | None = None,
        min_ndim: int | None = None,
        axes: Mapping[int, int | None] | None = None,
        allow_last_axis_squeeze: bool = False,
        name: str | None = None,
        optional: bool = False,
    ) -> None:
        self.dtype, self.shape = dtype, None if shape is None else tuple(shape)
        self.ndim = ndim if shape is None else len(shape)
        self.max_ndim, self.min_ndim, self.axes = max_ndim, min_ndim, {int(axis): extent for axis, extent in (axes or {}).items()} or None
        self.allow_last_axis_squeeze, self.name, self.optional = allow_last_axis_squeeze, name, optional

    def problem(self, tensor: Any) -> str | None:
        """Returns what is wrong with a tensor, or None.

        Args:
            tensor: The tensor.
        """
        shape = tuple(tensor.shape)
        rank = len(shape)
        if self.allow_last_axis_squeeze and self.ndim in (rank - 1, rank + 1):
            return None
        if self.ndim is not None and rank != self.ndim:
            return f"{self.ndim} axes"
        if self.max_ndim is not None and rank > self.max_ndim:
            return f"at most {self.max_ndim} axes"
        if self.min_ndim is not None and rank < self.min_ndim:
            return f"at least {self.min_ndim} axes"
        if self.dtype is not None and tensor.dtype.name != getattr(self.dtype, "name", self.dtype):
            return f"the dtype {getattr(self.dtype, 'name', self.dtype)} (and not {tensor.dtype.name})"
        for axis, extent in {**dict(enumerate(self.shape or ())), **(self.axes or {})}.items():
            if extent is not None and -rank <= axis < rank and shape[axis] not in (None, extent):
                return f"an extent of {extent} along axis {axis}"
        return None


def check_inputs(spec: Any, inputs: Any, layer: str) -> None:
    """Raises if the inputs do not match the spec, or their own spec in a list."""
    specs, given = list(leaves(spec)), list(leaves(inputs))
    if len(specs) != len(given):
        raise ValueError(f"[{layer}] expected {len(specs)} inputs: got {len(given)}")
    for one, tensor in zip(specs, given):
        if one is None or not hasattr(tensor, "shape"):
            continue
        problem = one.problem(tensor)
        if problem is not None:
            raise pyburn.ShapeError(f"[{layer}] expected an input with {problem}: got the shape {tuple(tensor.shape)}")
