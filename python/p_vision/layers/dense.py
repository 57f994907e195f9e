"""Dense, Embedding, Masking, Activation, Lambda and Rescaling."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from pyburn import Tensor
from pyburn.nn import functional

from .. import activations
from ..layer import Layer


class Dense(Layer):
    """Fully connected layer: activation(inputs @ kernel + bias) along the last dimension."""

    supports_masking = True

    def __init__(
        self,
        units: int,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.units = positive("Dense", "units", units)
        self.activation, self.use_bias = activation, use_bias
        self.kernel_initializer, self.bias_initializer = kernel_initializer, bias_initializer
        self.kernel_regularizer, self.bias_regularizer = kernel_regularizer, bias_regularizer
        self._activate = activations.get(activation)

    def build(self, input_shape: Any) -> None:
        shape = (input_shape[-1], self.units)
        self.kernel = self.add_weight(shape, self.kernel_initializer, regularizer=self.kernel_regularizer)
        self.bias = self.add_weight((self.units,), self.bias_initializer, regularizer=self.bias_regularizer) if self.use_bias else None

    def forward(self, inputs: Tensor) -> Tensor:
        return self._activate(functional.linear(inputs, self.kernel.T, self.bias))


class Embedding(Layer):
    """Looks up embedding vectors by token id.

    Args:
        input_dim: The number of embeddings.
        output_dim: The size of an embedding vector.
        mask_zero: Treats id 0 as padding: later layers mask its steps.
        weights: The initial embedding table.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        embeddings_initializer: Any = "uniform",
        embeddings_regularizer: Any = None,
        mask_zero: bool = False,
        weights: Any = None,
        **options: Any,
    ) -> None:
        if options.pop("input_length", None) is not None:
            warnings.warn("[Embedding] input_length has no effect: the input says how long it is", stacklevel=2)
        super().__init__(**options)
        self.input_dim, self.output_dim = positive("Embedding", "input_dim", input_dim), positive("Embedding", "output_dim", output_dim)
        self.embeddings_initializer, self.embeddings_regularizer, self.mask_zero = embeddings_initializer, embeddings_regularizer, mask_zero
        if weights is not None:
            self.build_for(None)
            self.set_weights(weights if isinstance(weights, (list, tuple)) and len(weights) == 1 else [weights])

    @classmethod
    def config_arguments(cls) -> dict[str, Any]:
        return {name: default for name, default in super().config_arguments().items() if name != "weights"}

    def build(self, input_shape: Any) -> None:
        shape = (self.input_dim, self.output_dim)
        self.embeddings = self.add_weight(shape, self.embeddings_initializer, regularizer=self.embeddings_regularizer)

    def forward(self, inputs: Tensor) -> Tensor:
        return functional.embedding(inputs.long(), self.embeddings)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return inputs != 0 if self.mask_zero else None


class Masking(Layer):
    """Masks the steps whose features are all equal to mask_value."""

    def __init__(self, mask_value: float = 0.0, **options: Any) -> None:
        super().__init__(**options)
        self.mask_value = mask_value

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs * self.compute_mask(inputs).unsqueeze(-1)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return (inputs != self.mask_value).any(-1)


class Activation(Layer):
    """Applies an activation function, given by name or as a function: `Activation("relu")`."""

    supports_masking = True

    def __init__(self, activation: Any, **options: Any) -> None:
        super().__init__(**options)
        self.activation = activation
        self._activate = activations.get(activation)

    def forward(self, inputs: Tensor) -> Tensor:
        return self._activate(inputs)


class Lambda(Layer):
    """Applies a Python function. A model with a Lambda layer cannot be saved as a whole, since files contain no code.

    `output_shape` is accepted for compatibility: the shape is found by running the function.
    """

    def __init__(
        self, function: Callable[..., Any], output_shape: Any = None, mask: Any = None, arguments: Any = None, **options: Any
    ) -> None:
        super().__init__(**options)
        self.function, self.output_shape, self.mask, self.arguments = function, output_shape, mask, arguments

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs, **(self.arguments or {}))

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return self.mask(inputs, mask) if callable(self.mask) else self.mask


class Rescaling(Layer):
    """Computes inputs * scale + offset."""

    supports_masking = True

    def __init__(self, scale: float, offset: float = 0.0, **options: Any) -> None:
        super().__init__(**options)
        self.scale, self.offset = scale, offset

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs * self.scale + self.offset


def positive(layer: str, name: str, value: Any) -> int:
    """Returns value if it is a positive integer.

    Raises:
        ValueError: It is not; the message names the argument.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 2**40:
        raise ValueError(f"[{layer}] {name} must be a positive integer: got {value!r}")
    return value
