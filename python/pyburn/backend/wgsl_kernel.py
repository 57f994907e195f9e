"""Kernels that users write in WGSL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor

__all__ = ["WgslKernel"]


class WgslKernel:
    """A compute kernel written in WGSL, the shading language of WebGPU.

    The code reads and writes tensors by functions that know their dtype and layout: for a tensor `x`, `x_get(i)` is element i in row-major
    order, and `x_set(i, v)` writes it. Values are `f32` for all floating dtypes, `i32` and `u32` for integers of up to 32 bits, `bool`, and
    `vec2<u32>` (low word first) for 64 bits. Numbers are `p.name`.

    A kernel records no gradient. `register_op` with `kernel={"wgpu": ...}` makes an operation of it that has one.

    Args:
        body: Statements. They run for each `i` below count; with workgroup_size, for each `group` below count and each `lane` of it.
        inputs: The names of the tensors that are read.
        outputs: The names of the results.
        declarations: Functions, constants and workgroup variables.
        workgroup_size: The number of invocations that share workgroup variables and barriers; None if there is nothing to share.
        name: For error messages.

    Raises:
        TypeError: The inputs or outputs are one string.
        ValueError: workgroup_size is not positive.

    >>> double = pyburn.backend.WgslKernel("y_set(i, 2.0 * x_get(i));", inputs=["x"], outputs=["y"], name="double")
    >>> double
    WgslKernel('double', inputs=['x'], outputs=['y'])
    """

    def __init__(
        self,
        body: str,
        *,
        inputs: Sequence[str],
        outputs: Sequence[str] = ("y",),
        declarations: str = "",
        workgroup_size: int | None = None,
        name: str = "wgsl_kernel",
    ) -> None:
        if isinstance(inputs, str) or isinstance(outputs, str):
            raise TypeError(f"[{name}] inputs and outputs must be sequences of names: got a str")
        if workgroup_size is not None and workgroup_size < 1:
            raise ValueError(f"[{name}] workgroup_size must be positive: got {workgroup_size}")
        self.name, self.inputs, self.outputs = name, list(inputs), list(outputs)
        self._kernel = _core._WgslKernel(name, self.inputs, self.outputs, body, declarations, workgroup_size or 0)

    def __call__(self, *tensors: Tensor, shape: Any, dtype: Any = None, count: int | None = None, **numbers: float) -> Any:
        """Runs the kernel on tensors of one GPU.

        Args:
            tensors: The inputs, in the order of their names.
            shape: The shape of the result; a list of shapes for several outputs.
            dtype: The dtype of the result, by default that of the first tensor; a list of them for several outputs.
            count: The number of values of `i`, by default the number of elements of the first result; the number of workgroups.
            numbers: `p.name` in the code: an int is a u32, a float an f32.

        Returns:
            The result, contiguous, or a tuple of results. Elements that the kernel does not write have any value.

        Raises:
            DeviceError: The tensors are not on wgpu, or the code does not compile; the message says where.
            ValueError: A name, a number or the number of tensors does not fit.
        """
        for tensor in tensors:
            if not isinstance(tensor, Tensor):
                raise TypeError(f"[{self.name}] expected tensors: got {type(tensor).__name__}")
        for key, value in numbers.items():
            if not isinstance(value, int | float) or isinstance(value, bool):
                raise TypeError(f"[{self.name}] {key} must be an int or a float: got {type(value).__name__}")
            if isinstance(value, int) and not 0 <= value < 2**32:
                raise ValueError(f"[{self.name}] {key} must fit into 32 bits without a sign: got {value}")
        several = len(self.outputs) != 1
        shapes = list(shape) if several else [shape]
        if dtype is None and tensors:
            dtype = [tensors[0].dtype] * len(shapes) if several else tensors[0].dtype
        results = [(_core.Size([s] if isinstance(s, int) else s), d) for s, d in zip(shapes, dtype if several else [dtype], strict=True)]
        if count is None:
            if self._kernel.workgroup_size:
                raise ValueError(f"[{self.name}] count is missing: expected the number of workgroups")
            count = results[0][0].numel()
        made = self._kernel.run(tensors, results, numbers, count)
        return tuple(made) if several else made[0]

    def __repr__(self) -> str:
        return f"WgslKernel({self.name!r}, inputs={self.inputs}, outputs={self.outputs})"
