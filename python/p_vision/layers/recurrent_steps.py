"""Single steps of SimpleRNN, LSTM and GRU: weights and formulas shared by the layers and the cells."""

from __future__ import annotations

from typing import Any, ClassVar

import pyburn
from pyburn import Tensor
from pyburn._nested import leaves, mapped
from pyburn.nn import functional

from ..symbolic.symbol import is_drawing
from .declared import DeclaredLayer


class SequenceLayer(DeclaredLayer):
    """Base class of layers that carry states over time steps, and from one batch to the next if they are stateful."""

    def prepare(self) -> None:
        self._kept: Any = None  # the last states of a stateful layer

    def keep(self, states: Any) -> None:
        """Keeps the last states of a batch for the next one."""
        if self.stateful and not is_drawing():
            self._kept = mapped(lambda state: state.detach(), states)

    def kept_states(self) -> Any:
        """Returns the states of the previous batch, or None."""
        return None if is_drawing() else self._kept

    def reset_state(self) -> None:
        """Resets the states of a stateful layer."""
        self._kept = None

    reset_states = reset_state

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        found = next(leaves(mask), None) if self.return_sequences else None
        return found if found is None or not self.go_backwards else found.flip(1)


class RecurrentSteps(DeclaredLayer):
    """Base class; `gates` is the number of gate matrices and `state_count` the number of states."""

    gates: ClassVar[int] = 1
    state_count: ClassVar[int] = 1
    units: int
    activation: Any = "tanh"
    use_bias: bool = True
    kernel_initializer: Any = "glorot_uniform"
    recurrent_initializer: Any = "orthogonal"
    bias_initializer: Any = "zeros"
    kernel_regularizer: Any = None
    recurrent_regularizer: Any = None
    bias_regularizer: Any = None
    dropout: float = 0.0
    recurrent_dropout: float = 0.0
    seed: int | None = None

    def make_weights(self, features: int) -> None:
        width = self.gates * self.units
        self.kernel = self.weight_of("kernel", (features, width))
        self.recurrent_kernel = self.weight_of("recurrent", (self.units, width))
        self.bias = self._make_bias(width) if self.use_bias else None

    def _make_bias(self, width: int) -> Tensor:
        return self.weight_of("bias", (width,))

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

    first: ClassVar[tuple[str, ...]] = ("units", "activation", "recurrent_activation")
    recurrent_activation: Any = "sigmoid"

    def is_usual(self) -> bool:
        return super().is_usual() and self.recurrent_activation == "sigmoid"


class LSTMSteps(GatedSteps):
    """Long short-term memory; its states are the hidden state and the cell state. Gates in the order input, forget, cell, output."""

    gates = 4
    state_count = 2
    first = (
        "units", "activation", "recurrent_activation", "use_bias", "kernel_initializer", "recurrent_initializer", "bias_initializer",
        "unit_forget_bias",
    )  # fmt: skip
    unit_forget_bias: bool = True

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
    """Gated recurrent unit. Gates in the order update, reset, candidate.

    Args:
        reset_after: Whether the reset gate applies after the product with the recurrent kernel, as in cuDNN, or before it.
    """

    gates = 3
    reset_after: bool = True

    def rnn_kind(self) -> str:
        return "gru"

    def is_usual(self) -> bool:
        return super().is_usual() and self.reset_after

    def _make_bias(self, width: int) -> Tensor:
        return self.weight_of("bias", (2, width) if self.reset_after else (width,))

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
