"""Wrapper layers (Wrapper, Pipeline, SpectralNormalization), EinsumDense and Identity."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import InitVar
from typing import Any

import pyburn
from pyburn import Tensor

from ..layer import Layer
from .declared import DeclaredLayer


class Identity(DeclaredLayer):
    """Returns the inputs unchanged.

    >>> p_vision.layers.Identity()(pyburn.tensor([1.0]))
    tensor([1.])
    """

    supports_masking = True

    def forward(self, inputs: Any) -> Any:
        return inputs


class Wrapper(DeclaredLayer):
    """Base class of layers that wrap another layer, in the attribute `layer`.

    Args:
        layer: The layer.

    Raises:
        TypeError: layer is not a layer of p_vision.

    >>> class Twice(p_vision.Wrapper):
    ...     def call(self, inputs):
    ...         return self.layer(self.layer(inputs))
    >>> Twice(p_vision.Rescaling(3.0))(pyburn.tensor([1.0]))
    tensor([9.])
    """

    layer: Any

    def prepare(self) -> None:
        if not isinstance(self.layer, Layer):
            raise TypeError(f"[{type(self).__name__}] expected a layer: got {self.layer!r}")

    def build(self, input_shape: Any = None) -> None:
        self.layer.build_for(input_shape)


class Pipeline(DeclaredLayer):
    """Applies layers in sequence, as one layer, such as the preprocessing of images.

    Args:
        layers: The layers.

    Raises:
        TypeError: One of them is not a layer of p_vision.

    >>> p_vision.Pipeline([p_vision.Rescaling(2.0), p_vision.Rescaling(1.0, offset=1.0)])(pyburn.tensor([3.0]))
    tensor([7.])
    """

    trains_by_itself = True
    supports_masking = True
    layers: InitVar[Sequence[Any]]

    def prepare(self, layers: Sequence[Any]) -> None:  # type: ignore[override]
        for index, layer in enumerate(layers):
            if not isinstance(layer, Layer):
                raise TypeError(f"[Pipeline] expected layers: got {layer!r}")
            self.add_module(str(index), layer)

    @property  # type: ignore[no-redef]
    def layers(self) -> list[Any]:
        return list(self.children())

    def forward(self, inputs: Any) -> Any:
        for layer in self.layers:
            inputs = layer(inputs)
        return inputs


class SpectralNormalization(Wrapper):
    """Spectral normalization: divides the kernel of a layer by its largest singular value, estimated by power iteration in each training
    call.

    Args:
        layer: The layer, which has a kernel or embeddings.
        power_iterations: The number of iterations per call.

    Raises:
        ValueError: power_iterations is below 1.

    >>> p_vision.SpectralNormalization(p_vision.Dense(4))(pyburn.rand(2, 3), training=True).shape
    pyburn.Size([2, 4])
    """

    power_iterations: int = 1

    def prepare(self) -> None:
        super().prepare()
        if self.power_iterations < 1:
            raise ValueError(f"[SpectralNormalization] power_iterations must be at least 1: got {self.power_iterations}")

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


class EinsumDense(DeclaredLayer):
    """A dense layer over any dimensions: activation(einsum(equation, inputs, kernel) + bias).

    Args:
        equation: The equation of the inputs, the kernel and the output, such as "abc,cd->abd".
        output_shape: The shape of the output without the batch dimension; None for sizes that the input gives.
        bias_axes: The letters of the dimensions of the bias; None for no bias.

    Raises:
        ValueError: The equation is not valid.

    >>> p_vision.EinsumDense("abc,cd->abd", output_shape=(None, 8), bias_axes="d")(pyburn.rand(2, 5, 3)).shape
    pyburn.Size([2, 5, 8])
    """

    equation: str
    output_shape: Any
    activation: Any = None
    bias_axes: str | None = None
    kernel_initializer: Any = "glorot_uniform"
    bias_initializer: Any = "zeros"
    kernel_regularizer: Any = None
    bias_regularizer: Any = None

    def prepare(self) -> None:
        found = re.fullmatch(r"((?:\.\.\.)?[a-zA-Z]*),([a-zA-Z]+)->((?:\.\.\.)?[a-zA-Z]*)", self.equation.replace(" ", ""))
        if found is None:
            raise ValueError(f"[EinsumDense] an equation is like 'ab,bc->ac' or '...b,bc->...c': got {self.equation!r}")
        self.output_shape = (self.output_shape,) if isinstance(self.output_shape, int) else tuple(self.output_shape)
        self._parts = found.groups()

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
        self.kernel = self.weight_of("kernel", [sizes[x] for x in of_kernel])
        self.bias = None
        if self.bias_axes:
            letters = of_output.removeprefix("...")
            first = min(letters.index(axis) for axis in self.bias_axes)
            self.bias = self.weight_of("bias", [sizes[x] if x in self.bias_axes else 1 for x in letters[first:]])

    def forward(self, inputs: Tensor) -> Tensor:
        output = pyburn.einsum(self.equation, inputs, self.kernel)
        return self._activate(output if self.bias is None else output + self.bias)
