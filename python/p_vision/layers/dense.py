"""Dense, Embedding, Masking, Activation, Lambda and Rescaling."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import InitVar
from typing import Any

from pyburn import Tensor
from pyburn.nn import functional

from .arguments import ARGUMENTS
from .declared import DeclaredLayer


class Dense(DeclaredLayer):
    """Fully connected layer: activation(inputs @ kernel + bias) along the last dimension.

    Input shape (N, ..., features), output shape (N, ..., units).

    >>> layer = p_vision.Dense(3, activation="relu")
    >>> layer(pyburn.ones(2, 4)).shape, layer.kernel.shape
    (pyburn.Size([2, 3]), pyburn.Size([4, 3]))
    """

    supports_masking = True
    units: int
    activation: Any = None
    use_bias: bool = True
    kernel_initializer: Any = "glorot_uniform"
    bias_initializer: Any = "zeros"
    kernel_regularizer: Any = None
    bias_regularizer: Any = None

    def build(self, input_shape: Any) -> None:
        self.kernel = self.weight_of("kernel", (input_shape[-1], self.units))
        self.bias = self.weight_of("bias", (self.units,)) if self.use_bias else None

    def forward(self, inputs: Tensor) -> Tensor:
        return self._activate(functional.linear(inputs, self.kernel.T, self.bias))


class Embedding(DeclaredLayer):
    """Looks up embedding vectors by token id: input shape (N, ...) of integers, output shape (N, ..., output_dim).

    Args:
        input_dim: The number of embeddings; ids are smaller than it.
        output_dim: The size of an embedding vector.
        mask_zero: Whether id 0 is padding: later layers mask its steps.
        weights: The initial embedding table.
        input_length: Accepted for compatibility; has no effect.

    >>> p_vision.Embedding(10, 4)(pyburn.tensor([[1, 2, 3]])).shape
    pyburn.Size([1, 3, 4])
    """

    checks = {"input_dim": ARGUMENTS["units"].check, "output_dim": ARGUMENTS["units"].check}
    input_dim: int
    output_dim: int
    embeddings_initializer: Any = "uniform"
    embeddings_regularizer: Any = None
    mask_zero: bool = False
    weights: InitVar[Any] = None
    input_length: InitVar[int | None] = None

    def prepare(self, weights: Any, input_length: int | None) -> None:  # type: ignore[override]
        if input_length is not None:
            warnings.warn("[Embedding] input_length has no effect: the input says how long it is", stacklevel=3)
        if weights is not None:
            self.build_for(None)
            self.set_weights(weights if isinstance(weights, (list, tuple)) and len(weights) == 1 else [weights])

    def build(self, input_shape: Any) -> None:
        self.embeddings = self.weight_of("embeddings", (self.input_dim, self.output_dim))

    def forward(self, inputs: Tensor) -> Tensor:
        return functional.embedding(inputs.long(), self.embeddings)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return inputs != 0 if self.mask_zero else None


class Masking(DeclaredLayer):
    """Masks the steps whose features are all equal to mask_value, and sets them to 0. Later layers ignore masked steps.

    Args:
        mask_value: The value of padding.

    >>> p_vision.Masking().compute_mask(pyburn.tensor([[[1.0, 2.0], [0.0, 0.0]]])).tolist()
    [[True, False]]
    """

    mask_value: float = 0.0

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs * self.compute_mask(inputs).unsqueeze(-1)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return (inputs != self.mask_value).any(-1)


class Activation(DeclaredLayer):
    """Applies an activation function, given by name or as a function.

    >>> p_vision.Activation("relu")(pyburn.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    supports_masking = True
    activation: Any

    def forward(self, inputs: Tensor) -> Tensor:
        return self._activate(inputs)


class Lambda(DeclaredLayer):
    """Applies a Python function. A model with a Lambda layer cannot be saved as a whole, since files contain no code.

    Args:
        function: The function of the inputs.
        output_shape: Accepted for compatibility: the shape is found by running the function.
        mask: The mask of the output, or a function of (inputs, mask) that returns it.
        arguments: A dict of keyword arguments for the function.

    >>> p_vision.Lambda(lambda x: x**2)(pyburn.tensor([1.0, 3.0]))
    tensor([1., 9.])
    """

    function: Callable[..., Any]
    output_shape: Any = None
    mask: Any = None
    arguments: Mapping[str, Any] | None = None

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs, **(self.arguments or {}))

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return self.mask(inputs, mask) if callable(self.mask) else self.mask


class Rescaling(DeclaredLayer):
    """Computes inputs * scale + offset, such as images with values from 0 to 255 scaled to the range from 0 to 1.

    Args:
        scale: The factor.
        offset: The number to add.

    >>> p_vision.Rescaling(1 / 127.5, offset=-1)(pyburn.tensor([0.0, 255.0]))
    tensor([-1.,  1.])
    """

    supports_masking = True
    scale: float
    offset: float = 0.0

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs * self.scale + self.offset
