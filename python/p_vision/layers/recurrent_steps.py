"""Single steps of SimpleRNN, LSTM and GRU: weights and formulas shared by the layers and the cells."""

from __future__ import annotations

from typing import Any

import pyburn
from pyburn import Tensor
from pyburn.nn import functional

from .. import activations
from ..configured import arguments
from ..layer import Layer
from .dense import positive
from .dropout import probability


class RecurrentSteps(Layer):
    """Base class; `gates` is the number of gate matrices and `state_count` the number of states."""

    gates = 1
    state_count = 1

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        name = type(self).__name__
        self.units = positive(name, "units", units)
        self.activation, self.use_bias, self.seed = activation, use_bias, seed
        self.kernel_initializer, self.recurrent_initializer, self.bias_initializer = (
            kernel_initializer,
            recurrent_initializer,
            bias_initializer,
        )
        self.kernel_regularizer, self.recurrent_regularizer, self.bias_regularizer = (
            kernel_regularizer,
            recurrent_regularizer,
            bias_regularizer,
        )
        self.dropout, self.recurrent_dropout = probability(name, dropout), probability(name, recurrent_dropout)
        self._activate = activations.get(activation)

    @classmethod
    def config_arguments(cls) -> dict[str, Any]:
        """Returns the arguments of all base classes."""
        kinds = [kind for kind in reversed(cls.__mro__) if kind not in Layer.__mro__ and "__init__" in vars(kind)]
        return {name: default for kind in kinds for name, default in arguments(kind).items()}

    def make_weights(self, features: int) -> None:
        width = self.gates * self.units
        self.kernel = self.add_weight((features, width), self.kernel_initializer, regularizer=self.kernel_regularizer)
        self.recurrent_kernel = self.add_weight((self.units, width), self.recurrent_initializer, regularizer=self.recurrent_regularizer)
        self.bias = self._make_bias(width) if self.use_bias else None

    def _make_bias(self, width: int) -> Tensor:
        return self.add_weight((width,), self.bias_initializer, regularizer=self.bias_regularizer)

    def is_usual(self) -> bool:
        """Returns whether `rnn_steps` supports the activations."""
        return self.activation == "tanh"

    def rnn_kind(self) -> str:
        """Returns the name of the step in `rnn_steps`."""
        raise NotImplementedError

    def fused_weights(self) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
        """Returns the input weights, the recurrent weights and their biases, with the gates in PyTorch's order."""
        return self.kernel, self.recurrent_kernel, self.bias, None

    def step(self, x: Tensor, states: list[Tensor]) -> list[Tensor]:
        """Returns the states after one step."""
        raise NotImplementedError


class SimpleSteps(RecurrentSteps):
    """h = activation(x @ kernel + h @ recurrent_kernel + bias)."""

    def is_usual(self) -> bool:
        return self.activation in ("tanh", "relu")

    def rnn_kind(self) -> str:
        return str(self.activation)

    def step(self, x: Tensor, states: list[Tensor]) -> list[Tensor]:
        return [self._activate(functional.linear(x, self.kernel.T, self.bias) + states[0] @ self.recurrent_kernel)]


class GatedSteps(RecurrentSteps):
    """Base class of LSTM and GRU."""

    def __init__(self, units: int, activation: Any = "tanh", recurrent_activation: Any = "sigmoid", *args: Any, **options: Any) -> None:
        super().__init__(units, activation, *args, **options)
        self.recurrent_activation = recurrent_activation
        self._gate = activations.get(recurrent_activation)

    def is_usual(self) -> bool:
        return super().is_usual() and self.recurrent_activation == "sigmoid"


class LSTMSteps(GatedSteps):
    """Long short-term memory; its states are the hidden state and the cell state. Gates in the order input, forget, cell, output."""

    gates = 4
    state_count = 2

    def __init__(self, *args: Any, unit_forget_bias: bool = True, **options: Any) -> None:
        super().__init__(*args, **options)
        self.unit_forget_bias = unit_forget_bias

    def rnn_kind(self) -> str:
        return "lstm"

    def _make_bias(self, width: int) -> Tensor:
        bias = super()._make_bias(width)
        if self.unit_forget_bias:
            with pyburn.no_grad():
                bias[self.units : 2 * self.units] = 1.0
        return bias

    def step(self, x: Tensor, states: list[Tensor]) -> list[Tensor]:
        h, c = states
        i, f, g, o = (functional.linear(x, self.kernel.T, self.bias) + h @ self.recurrent_kernel).chunk(4, -1)
        c = self._gate(f) * c + self._gate(i) * self._activate(g)
        return [self._gate(o) * self._activate(c), c]


class GRUSteps(GatedSteps):
    """Gated recurrent unit. Gates in the order update, reset, candidate; `reset_after` resets after the product with the state."""

    gates = 3

    def __init__(self, *args: Any, reset_after: bool = True, **options: Any) -> None:
        super().__init__(*args, **options)
        self.reset_after = reset_after

    def rnn_kind(self) -> str:
        return "gru"

    def is_usual(self) -> bool:
        return super().is_usual() and self.reset_after

    def _make_bias(self, width: int) -> Tensor:
        shape = (2, width) if self.reset_after else (width,)
        return self.add_weight(shape, self.bias_initializer, regularizer=self.bias_regularizer)

    def fused_weights(self) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
        def reordered(weight: Tensor) -> Tensor:  # reset, update, candidate
            z, r, n = weight.chunk(3, -1)
            return pyburn.cat([r, z, n], -1)

        biases = (None, None) if self.bias is None else (reordered(self.bias[0]), reordered(self.bias[1]))
        return reordered(self.kernel), reordered(self.recurrent_kernel), *biases

    def step(self, x: Tensor, states: list[Tensor]) -> list[Tensor]:
        (h,) = states
        of_inputs, of_states = (self.bias[0], self.bias[1]) if self.bias is not None and self.reset_after else (self.bias, None)
        xz, xr, xn = functional.linear(x, self.kernel.T, of_inputs).chunk(3, -1)
        if self.reset_after:
            hz, hr, hn = functional.linear(h, self.recurrent_kernel.T, of_states).chunk(3, -1)
            z, r = self._gate(xz + hz), self._gate(xr + hr)
            n = self._activate(xn + r * hn)
        else:
            wz, wr, wn = self.recurrent_kernel.chunk(3, -1)
            z, r = self._gate(xz + h @ wz), self._gate(xr + h @ wr)
            n = self._activate(xn + (r * h) @ wn)
        return [z * h + (1 - z) * n]
