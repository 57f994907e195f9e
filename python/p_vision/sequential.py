"""Sequential: a linear stack of layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyburn.nn import Module

from .configured import with_own_layers
from .conversion import is_shape, mapped_shapes
from .devices import resolve
from .input import Input, InputLayer
from .layer import Layer
from .model import Model, check_shape, with_last_axis
from .symbolic.symbol import Symbol, drawing_device, is_drawing, symbolic_call, without_values


class Sequential(Model):
    """A linear stack of layers. With an Input, each layer is built when it is added; otherwise on the first call.

    Args:
        layers: The layers: of p_vision, modules of pyburn.nn, or an Input as the first one.
        backend: The backend or device of the weights.
        name: The name of the model.
        trainable: False freezes all weights.
        dtype: The dtype or dtype policy.

    Raises:
        TypeError: One of the layers is none of these.

    >>> model = p_vision.Sequential(backend="NdArray")
    >>> model.add(p_vision.Input(shape=(16,)))
    >>> model.add(p_vision.Dense(8))
    >>> len(model.weights)
    2
    """

    def __init__(
        self,
        layers: Sequence[Any] | None = None,
        *,
        backend: Any = None,
        name: str | None = None,
        trainable: bool = True,
        dtype: Any = None,
    ) -> None:
        super().__init__(backend=backend, name=name, trainable=trainable, dtype=dtype)
        self._tails: list[Symbol] = []  # the outputs of the layers built so far
        self._head: Symbol | None = None
        for layer in layers or ():
            self.add(layer)

    def add(self, layer: Any) -> None:
        """Appends a layer.

        Args:
            layer: A layer of p_vision, a module of pyburn.nn, or an Input.

        Raises:
            TypeError: layer is none of these.
            ValueError: The layer is in the model already, or an Input is not the first one.
        """
        if isinstance(layer, (Symbol, InputLayer)):
            self._begin(layer.output if isinstance(layer, InputLayer) else layer)
            return
        if not isinstance(layer, Module):
            raise TypeError(f"[Sequential.add] expected a layer: got {layer!r}")
        shape = getattr(layer, "_input_shape", None)
        if self._head is None and not self.layers and shape is not None:
            self._begin(Input(shape=shape))
        if any(part is layer for part in self.layers):
            raise ValueError(f"[Sequential.add] the layer {layer!r} is in the model already: draw a Model to use one twice")
        self.adopt(layer)
        if self._head is not None:
            try:
                self._extend(layer)
            except BaseException:
                self._forget(layer)
                raise

    def _begin(self, symbol: Symbol) -> None:
        if self._head is not None or self.layers:
            raise ValueError("[Sequential.add] an Input stands in front of all layers, and there is one of them")
        if not isinstance(symbol.node.layer, InputLayer):
            raise TypeError("[Sequential.add] expected a layer or an Input: got the output of a layer")
        self._head = self._inputs = self._outputs = symbol
        self.built = True

    def _extend(self, layer: Any) -> None:
        tail = self._tails[-1] if self._tails else self._head
        with resolve(self._device):
            given = layer(tail) if isinstance(layer, Layer) else symbolic_call(layer, (tail,), {})
        if not isinstance(given, Symbol):
            raise ValueError(f"[Sequential.add] layers of a Sequential give one tensor: {layer!r} gives several")
        if self._device is not None:
            layer.to(device=self._device)
        self._tails.append(given)
        self._outputs = given
        if not self._trainable:
            layer.requires_grad_(False)

    def _forget(self, layer: Any) -> None:
        name = next(name for name, part in self.named_children() if part is layer)
        delattr(self, name)

    def pop(self) -> Any:
        """Removes the last layer and returns it.

        Raises:
            ValueError: There are no layers.
        """
        if not self.layers:
            raise ValueError("[Sequential.pop] there is no layer left")
        layer = self.layers[-1]
        self._forget(layer)
        if self._tails:
            self._tails.pop()
            self._outputs = self._tails[-1] if self._tails else self._head
        return layer

    def build(self, input_shape: Any = None) -> None:
        """Builds all layers for an input shape.

        Args:
            input_shape: The shape with None for the batch dimension.

        Raises:
            TypeError: input_shape is not a shape.
        """
        if input_shape is None or self._head is not None:
            return
        if not is_shape(input_shape):
            raise TypeError(f"[Sequential.build] expected a shape like (None, 16): got {input_shape!r}")
        self._head = self._inputs = self._outputs = Input(batch_shape=tuple(input_shape))
        try:
            for layer in self.layers:
                self._extend(layer)
        except BaseException:
            self._head, self._tails, self._inputs, self._outputs = None, [], None, None
            raise
        self.built = True

    def forward(self, inputs: Any) -> Any:  # type: ignore[override]
        if self._head is not None:
            inputs = with_last_axis(self._head, inputs)
            check_shape(self._get_name(), self._head, inputs)
        x = inputs
        for layer in self.children():
            x = layer(x)
        return x

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._head is None and args and hasattr(args[0], "shape"):
            shape = mapped_shapes(args[0])
            shape = (None, *args[0].shape[1:]) if shape is None else shape
            if is_drawing():  # inside the symbolic call of another layer: only shapes are computed
                with drawing_device():
                    self.build(shape)
                return without_values(self, args, kwargs)
            self.build(shape)
        return super().__call__(*args, **kwargs)

    def __len__(self) -> int:
        return len(self.layers)

    def __getitem__(self, index: int) -> Any:
        return self.layers[index]

    def get_config(self) -> dict[str, Any]:
        from .symbolic.drawing import part_config

        layers: list[Any] = [] if self._head is None else [self._head.node.layer]
        return {"layers": [part_config(layer) for layer in [*layers, *self.layers]], **self._own_options()}

    @classmethod
    def from_config(cls, config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None) -> Any:
        return cls(**with_own_layers(config, custom_objects))
