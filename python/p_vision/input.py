"""Input: the symbolic input of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyburn
from pyburn import DType

from .conversion import dtype_of
from .layer import Layer
from .symbolic.symbol import TEXT, Node, Symbol


class InputLayer(Layer):
    """The layer of an Input; returns its input unchanged.

    Args:
        shape: The shape of one sample, without the batch dimension; None for unknown sizes.
        batch_size: The batch size, if it is fixed.
        dtype: The dtype; "string" for texts.
        batch_shape: The shape including the batch dimension, instead of shape.
        name: The name of the input.

    Raises:
        ValueError: Not exactly one of shape and batch_shape is given.
        ShapeError: A size is negative.

    >>> p_vision.InputLayer((3,)).output.shape
    (None, 3)
    """

    def __init__(
        self,
        shape: Sequence[int | None] | None = None,
        batch_size: int | None = None,
        dtype: DType | str | None = None,
        batch_shape: Sequence[int | None] | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name=name)
        if (shape is None) == (batch_shape is None):
            raise ValueError("[Input] give either shape (without the batch) or batch_shape")
        extents = (batch_size, *_extents(shape)) if batch_shape is None else tuple(_extents(batch_shape))
        if any(extent is not None and extent < 0 for extent in extents):
            raise pyburn.ShapeError(f"[Input] extents are not negative: got {extents}")
        self.batch_shape = extents
        self._input_dtype: Any = TEXT if dtype in ("string", "str") else dtype_of(dtype) or pyburn.float32
        self.built = True
        node = Node(self, (), {})
        node.output = Symbol(extents, self._input_dtype, node, name)
        self._calls.append(node)

    @property
    def input(self) -> Any:
        return self.output

    def call(self, inputs: Any) -> Any:
        return inputs

    def get_config(self) -> dict[str, Any]:
        config: dict[str, Any] = {"batch_shape": list(self.batch_shape), "dtype": self._input_dtype.name}
        return config if self._name is None else {**config, "name": self._name}

    def extra_repr(self) -> str:
        return f"shape={self.batch_shape[1:]}, dtype={self._input_dtype.name}"


def Input(
    shape: Sequence[int | None] | None = None,
    batch_size: int | None = None,
    dtype: DType | str | None = None,
    batch_shape: Sequence[int | None] | None = None,
    name: str | None = None,
) -> Symbol:
    """Creates a symbolic input.

    Args:
        shape: The shape of one sample, without the batch dimension; None for unknown sizes.
        batch_size: The batch size, if it is fixed.
        dtype: The dtype.
        batch_shape: The shape including the batch dimension, instead of shape.
        name: The name of the input.

    Returns:
        The symbol, to call layers with.

    >>> p_vision.Input(shape=(28, 28, 1))
    <Symbol shape=(None, 28, 28, 1), dtype=float32>
    """
    return InputLayer(shape, batch_size, dtype, batch_shape, name).output


def _extents(shape: Any) -> list[int | None]:
    if isinstance(shape, int):
        shape = (shape,)
    if not isinstance(shape, Sequence) or not all(extent is None or (isinstance(extent, int) and extent < 2**40) for extent in shape):
        raise TypeError(f"[Input] a shape must be a tuple of integers and None: got {shape!r}")
    return list(shape)
