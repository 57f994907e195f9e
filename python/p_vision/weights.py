"""The weights of layers and models under Keras's names, over the parameters and buffers of a module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyburn
from pyburn import Tensor
from pyburn.nn import Module

if TYPE_CHECKING:
    _Mixin = Module
else:
    _Mixin = object


class WeightMethods(_Mixin):
    """Mixin that adds `weights`, `trainable` and related methods to modules."""

    __slots__ = ()

    _trainable = True  # for layers that are not built yet

    @property
    def weights(self) -> list[Tensor]:
        """The parameters and the floating-point buffers, layer by layer."""
        return [tensor for _, tensor in named_weights(self)]

    @property
    def variables(self) -> list[Tensor]:
        """The same as `weights`."""
        return self.weights

    @property
    def trainable_weights(self) -> list[Tensor]:
        """The weights that training updates."""
        return [tensor for tensor in self.weights if tensor.requires_grad]

    @property
    def non_trainable_weights(self) -> list[Tensor]:
        """The weights that training does not update: frozen ones and moving averages."""
        return [tensor for tensor in self.weights if not tensor.requires_grad]

    trainable_variables, non_trainable_variables = trainable_weights, non_trainable_weights

    @property
    def trainable(self) -> bool:
        """Whether training updates the weights. Setting it freezes or unfreezes this layer and all its sublayers."""
        return self._trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        value = bool(value)
        for module in self.modules():
            module._trainable = value  # used by layers that are built later
        self.requires_grad_(value)

    def constrain(self) -> None:
        """Applies the constraints to the weights; layers with constraints override it."""

    def count_params(self) -> int:
        """Returns the total number of elements of all weights.

        Raises:
            ValueError: The layers have no weights yet, since their input shape is not known.
        """
        if not getattr(self, "built", True):
            raise ValueError(f"[count_params] {self._get_name()} has no weights yet: build it first, with an Input or by calling it")
        return sum(tensor.numel() for tensor in self.weights)

    def get_weights(self) -> list[Any]:
        """Returns copies of the weights as NumPy arrays, in the order of `weights`."""
        return [as_array(tensor).copy() for tensor in self.weights]

    def set_weights(self, weights: Sequence[Any]) -> None:
        """Sets the weights from arrays or tensors in the order of `weights`.

        Raises:
            ValueError: The number of arrays differs from the number of weights.
            ShapeError: An array has another shape than its weight.
        """
        mine = named_weights(self)
        if len(weights) != len(mine):
            raise ValueError(f"[set_weights] expected {len(mine)} arrays, one for each weight: got {len(weights)}")
        given = [pyburn.as_tensor(value) for value in weights]
        for (name, tensor), value in zip(mine, given):
            if tuple(value.shape) != tuple(tensor.shape):
                raise pyburn.ShapeError(f"[set_weights] {name} has the shape {tuple(tensor.shape)}: got {tuple(value.shape)}")
        with pyburn.no_grad():
            for (_, tensor), value in zip(mine, given):
                tensor.copy_(value.to(device=tensor.device, dtype=tensor.dtype))


def as_array(tensor: Tensor) -> Any:
    """Converts a tensor to a NumPy array; bfloat16 becomes float32."""
    tensor = tensor.detach().to("cpu")
    return (tensor.float() if tensor.dtype == pyburn.bfloat16 else tensor).numpy()


def named_weights(module: Module) -> list[tuple[str, Tensor]]:
    """Returns the weights of a module with their dotted names, each once: the parameters, then the buffers of each layer."""
    found: dict[int, tuple[str, Tensor]] = {}
    for prefix, part in module.named_modules():
        for name, tensor in [*part.named_parameters(recurse=False), *part.named_buffers(recurse=False)]:
            if tensor.is_floating_point():
                found.setdefault(id(tensor), (f"{prefix}.{name}" if prefix else name, tensor))
    return list(found.values())


def is_frozen(module: Module) -> bool:
    """Returns whether a module has parameters of its own and none of them is trainable."""
    own = list(module.parameters(recurse=False))
    return bool(own) and not any(parameter.requires_grad for parameter in own)
