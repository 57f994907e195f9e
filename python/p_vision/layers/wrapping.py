"""Wrapper layers (Wrapper, Pipeline, SpectralNormalization), EinsumDense and Identity."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pyburn
from pyburn import Tensor

from .. import activations
from ..layer import Layer


class Identity(Layer):
    """Returns the inputs unchanged."""

    supports_masking = True

    def forward(self, inputs: Any) -> Any:
        return inputs


class Wrapper(Layer):
    """Base class of layers that wrap another layer, in the attribute `layer`."""

    def __init__(self, layer: Any, **options: Any) -> None:
        super().__init__(**options)
        if not isinstance(layer, Layer):
            raise TypeError(f"[{type(self).__name__}] expected a layer: got {layer!r}")
        self.layer = layer

    def build(self, input_shape: Any = None) -> None:
        self.layer.build_for(input_shape)


class Pipeline(Layer):
    """Applies layers in sequence, as one layer, such as the preprocessing of images."""

    trains_by_itself = True
    supports_masking = True

    def __init__(self, layers: Sequence[Any], **options: Any) -> None:
        super().__init__(**options)
        for index, layer in enumerate(layers):
            if not isinstance(layer, Layer):
                raise TypeError(f"[Pipeline] expected layers: got {layer!r}")
            self.add_module(str(index), layer)

    @property
    def layers(self) -> list[Any]:
        return list(self.children())

    def forward(self, inputs: Any) -> Any:
        for layer in self.layers:
            inputs = layer(inputs)
        return inputs


class SpectralNormalization(Wrapper):
    """Spectral normalization: divides the kernel of a layer by its largest singular value, estimated by power iteration in each training
    call.
    """

    def __init__(self, layer: Any, power_iterations: int = 1, **options: Any) -> None:
        super().__init__(layer, **options)
        if power_iterations < 1:
            raise ValueError(f"[SpectralNormalization] power_iterations must be at least 1: got {power_iterations}")
        self.power_iterations = power_iterations

    def build(self, input_shape: Any = None) -> None:
        super().build(input_shape)
        width = self._kernel().shape[-1]
        self.vector_u = self.add_weight((1, width), _small_normal, trainable=False, name="vector_u")

    def _kernel(self) -> Any:
        found = getattr(self.layer, "kernel", None)
        found = getattr(self.layer, "embeddings", None) if found is None else found
        if found is None:
            raise ValueError(f"[SpectralNormalization] {type(self.layer).__name__} has neither a kernel nor embeddings")
        return found

    def forward(self, inputs: Tensor) -> Any:
        kernel = self._kernel()
        if self.training and kernel.device.type != "meta":
            with pyburn.no_grad():
                rows = kernel.reshape(-1, kernel.shape[-1])
                u = self.vector_u
                for _ in range(self.power_iterations):
                    v = _unit(u @ rows.T)
                    u = _unit(v @ rows)
                largest = v @ rows @ u.T
                self.vector_u.copy_(u)
                kernel.copy_(pyburn.where(kernel.any(), kernel / pyburn.where(largest == 0, 1.0, largest).reshape(()), kernel))
        return self.layer(inputs)


def _unit(x: Tensor) -> Tensor:
    return x / x.square().sum().clamp(min=1e-12).sqrt()


def _small_normal(shape: Any, dtype: Any = None) -> Tensor:
    from ..initializers import TruncatedNormal

    return TruncatedNormal(stddev=0.02)(shape, dtype)


class EinsumDense(Layer):
    """activation(einsum(equation, inputs, kernel) + bias): `EinsumDense("abc,cd->abd", output_shape=(None, 64), bias_axes="d")`."""

    def __init__(
        self,
        equation: str,
        output_shape: Any,
        activation: Any = None,
        bias_axes: str | None = None,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        found = re.fullmatch(r"((?:\.\.\.)?[a-zA-Z]*),([a-zA-Z]+)->((?:\.\.\.)?[a-zA-Z]*)", equation.replace(" ", ""))
        if found is None:
            raise ValueError(f"[EinsumDense] an equation is like 'ab,bc->ac' or '...b,bc->...c': got {equation!r}")
        self.equation, self.bias_axes, self.activation = equation, bias_axes, activation
        self.output_shape = (output_shape,) if isinstance(output_shape, int) else tuple(output_shape)
        self.kernel_initializer, self.bias_initializer = kernel_initializer, bias_initializer
        self.kernel_regularizer, self.bias_regularizer = kernel_regularizer, bias_regularizer
        self._parts = found.groups()
        self._activate = activations.get(activation)

    def build(self, input_shape: Any) -> None:
        of_inputs, of_kernel, of_output = self._parts
        sizes = dict(zip(reversed(of_inputs.removeprefix("...")), reversed(input_shape)))
        for letter, extent in zip(reversed(of_output.removeprefix("...")), reversed(self.output_shape)):
            sizes[letter] = extent if extent is not None else sizes.get(letter)
        missing = [letter for letter in of_kernel if sizes.get(letter) is None]
        if missing:
            raise ValueError(
                f"[EinsumDense] the extent {missing[0]!r} of the kernel is not known: {self.equation!r} for {tuple(input_shape)}"
            )
        self.kernel = self.add_weight([sizes[x] for x in of_kernel], self.kernel_initializer, regularizer=self.kernel_regularizer)
        self.bias = None
        if self.bias_axes:
            letters = of_output.removeprefix("...")
            first = min(letters.index(axis) for axis in self.bias_axes)
            shape = [sizes[x] if x in self.bias_axes else 1 for x in letters[first:]]
            self.bias = self.add_weight(shape, self.bias_initializer, regularizer=self.bias_regularizer)

    def forward(self, inputs: Tensor) -> Tensor:
        output = pyburn.einsum(self.equation, inputs, self.kernel)
        return self._activate(output if self.bias is None else output + self.bias)
