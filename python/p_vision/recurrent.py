"""Recurrent layers. The usual ones run as one operation over all steps; with other activations they run step by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyburn
from pyburn import Tensor
from pyburn.nn import functional

from . import activations
from .configured import arguments
from .dense import positive
from .dropout import kept, probability
from .layer import Layer
from .symbol import is_drawing


class RecurrentLayer(Layer):
    """What LSTM, GRU and SimpleRNN share. `gates` is the number of matrices, `state_count` that of the states."""

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
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        name = type(self).__name__
        self.units = positive(name, "units", units)
        self.activation, self.use_bias = activation, use_bias
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
        self.return_sequences, self.return_state, self.go_backwards = return_sequences, return_state, go_backwards
        self._activate = activations.get(activation)

    @classmethod
    def config_arguments(cls) -> dict[str, Any]:
        return {**arguments(RecurrentLayer), **arguments(cls)}

    def build(self, input_shape: Any) -> None:
        if len(input_shape) != 3:
            raise ValueError(f"[{type(self).__name__}] expected inputs (batch, steps, features): got the shape {tuple(input_shape)}")
        width = self.gates * self.units
        self.kernel = self.add_weight((input_shape[-1], width), self.kernel_initializer, regularizer=self.kernel_regularizer)
        self.recurrent_kernel = self.add_weight((self.units, width), self.recurrent_initializer, regularizer=self.recurrent_regularizer)
        self.bias = self._make_bias(width) if self.use_bias else None

    def _make_bias(self, width: int) -> Tensor:
        return self.add_weight((width,), self.bias_initializer, regularizer=self.bias_regularizer)

    def forward(self, inputs: Tensor, initial_state: Any = None) -> Any:
        states = self._start(inputs, initial_state)
        x = inputs.flip(1) if self.go_backwards else inputs
        if self.training and self.dropout:
            x = x * kept([x.shape[0], 1, x.shape[2]], self.dropout, x)
        if is_drawing():  # shapes are all there is: one step shows them, however many there are
            states = self.step(x[:, 0], states)
            sequence = states[0].unsqueeze(1).expand(-1, x.shape[1], -1)
        elif self._is_fused():
            sequence, states = self.all_steps(x, states)
        else:
            sequence, states = self._step_by_step(x, states)
        output = sequence if self.return_sequences else sequence[:, -1]
        return [output, *states] if self.return_state else output

    def _start(self, inputs: Tensor, initial_state: Any) -> list[Tensor]:
        if initial_state is None:
            return [inputs.new_zeros(inputs.shape[0], self.units) for _ in range(self.state_count)]
        states = list(initial_state) if isinstance(initial_state, (list, tuple)) else [initial_state]
        if len(states) != self.state_count:
            raise ValueError(f"[{type(self).__name__}] expected {self.state_count} initial states: got {len(states)}")
        return states

    def _step_by_step(self, x: Tensor, states: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        mask = kept([x.shape[0], self.units], self.recurrent_dropout, x) if self.training and self.recurrent_dropout else None
        outputs = []
        for t in range(x.shape[1]):
            states = self.step(x[:, t], states if mask is None else [states[0] * mask, *states[1:]])
            outputs.append(states[0])
        return pyburn.stack(outputs, 1), states

    def _is_fused(self) -> bool:
        return self.activation == "tanh" and not self.recurrent_dropout

    def _fused_weights(self) -> list[Tensor]:
        """As PyTorch has them: of the inputs, of the states, and their biases."""
        weights = [self.kernel.T, self.recurrent_kernel.T]
        return weights if self.bias is None else [*weights, self.bias, pyburn.zeros_like(self.bias)]

    def all_steps(self, x: Tensor, states: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        """The states after each step, and the last ones, in one operation."""
        raise NotImplementedError

    def step(self, x: Tensor, states: list[Tensor]) -> list[Tensor]:
        """The states after one step."""
        raise NotImplementedError


class SimpleRNN(RecurrentLayer):
    """h = activation(x @ kernel + h @ recurrent_kernel + bias)."""

    def _is_fused(self) -> bool:
        return self.activation in ("tanh", "relu") and not self.recurrent_dropout

    def all_steps(self, x: Tensor, states: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        run = pyburn.rnn_tanh if self.activation == "tanh" else pyburn.rnn_relu
        sequence, h = run(x, states[0].unsqueeze(0), self._fused_weights(), self.bias is not None, 1, 0.0, False, False, True)
        return sequence, [h[0]]

    def step(self, x: Tensor, states: list[Tensor]) -> list[Tensor]:
        return [self._activate(functional.linear(x, self.kernel.T, self.bias) + states[0] @ self.recurrent_kernel)]


class _Gated(RecurrentLayer):
    def __init__(self, units: int, activation: Any = "tanh", recurrent_activation: Any = "sigmoid", **options: Any) -> None:
        super().__init__(units, activation, **options)
        self.recurrent_activation = recurrent_activation
        self._gate = activations.get(recurrent_activation)

    def _is_fused(self) -> bool:
        return super()._is_fused() and self.recurrent_activation == "sigmoid"


class LSTM(_Gated):
    """A long short-term memory; its states are the output and the cell. Gates in the order input, forget, cell, output."""

    gates = 4
    state_count = 2

    def __init__(
        self, units: int, activation: Any = "tanh", recurrent_activation: Any = "sigmoid", *, unit_forget_bias: bool = True, **options: Any
    ) -> None:
        super().__init__(units, activation, recurrent_activation, **options)
        self.unit_forget_bias = unit_forget_bias

    def _make_bias(self, width: int) -> Tensor:
        bias = super()._make_bias(width)
        if self.unit_forget_bias:
            with pyburn.no_grad():
                bias[self.units : 2 * self.units] = 1.0
        return bias

    def all_steps(self, x: Tensor, states: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        start = [state.unsqueeze(0) for state in states]
        sequence, h, c = pyburn.lstm(x, start, self._fused_weights(), self.bias is not None, 1, 0.0, False, False, True)
        return sequence, [h[0], c[0]]

    def step(self, x: Tensor, states: list[Tensor]) -> list[Tensor]:
        h, c = states
        i, f, g, o = (functional.linear(x, self.kernel.T, self.bias) + h @ self.recurrent_kernel).chunk(4, -1)
        c = self._gate(f) * c + self._gate(i) * self._activate(g)
        return [self._gate(o) * self._activate(c), c]


class GRU(_Gated):
    """A gated recurrent unit. Gates in the order update, reset, candidate; `reset_after`: reset after the product with the state."""

    gates = 3

    def __init__(
        self, units: int, activation: Any = "tanh", recurrent_activation: Any = "sigmoid", *, reset_after: bool = True, **options: Any
    ) -> None:
        super().__init__(units, activation, recurrent_activation, **options)
        self.reset_after = reset_after

    def _is_fused(self) -> bool:
        return super()._is_fused() and self.reset_after

    def _make_bias(self, width: int) -> Tensor:
        shape = (2, width) if self.reset_after else (width,)
        return self.add_weight(shape, self.bias_initializer, regularizer=self.bias_regularizer)

    def all_steps(self, x: Tensor, states: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        def reordered(weight: Tensor) -> Tensor:  # reset, update, candidate
            z, r, n = weight.chunk(3, -1)
            return pyburn.cat([r, z, n], -1)

        weights = [reordered(self.kernel).T, reordered(self.recurrent_kernel).T]
        if self.bias is not None:
            weights += [reordered(self.bias[0]), reordered(self.bias[1])]
        sequence, h = pyburn.gru(x, states[0].unsqueeze(0), weights, self.bias is not None, 1, 0.0, False, False, True)
        return sequence, [h[0]]

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


class Bidirectional(Layer):
    """A recurrent layer forwards and its copy backwards; `merge_mode` is "concat", "sum", "mul", "ave" or None (a list)."""

    def __init__(
        self, layer: RecurrentLayer, merge_mode: str | None = "concat", backward_layer: RecurrentLayer | None = None, **options: Any
    ) -> None:
        super().__init__(**options)
        if not isinstance(layer, RecurrentLayer):
            raise TypeError(f"[Bidirectional] expected a recurrent layer: got {layer!r}")
        if merge_mode not in ("concat", "sum", "mul", "ave", None):
            raise ValueError(f"[Bidirectional] merge_mode must be 'concat', 'sum', 'mul', 'ave' or None: got {merge_mode!r}")
        self.merge_mode = merge_mode
        self.forward_layer = layer
        if backward_layer is None:
            config = {**layer.get_config(), "go_backwards": not layer.go_backwards}
            config.pop("name", None)
            backward_layer = type(layer).from_config(config)
        self.backward_layer = backward_layer

    @property
    def layer(self) -> RecurrentLayer:
        return self.forward_layer

    def build(self, input_shape: Any) -> None:
        self.forward_layer.build_for(input_shape)
        self.backward_layer.build_for(input_shape)

    def forward(self, inputs: Tensor, initial_state: Any = None) -> Any:
        half = len(initial_state) // 2 if initial_state is not None else 0
        first, second = (initial_state[:half], initial_state[half:]) if half else (None, None)
        there, back = self.forward_layer(inputs, initial_state=first), self.backward_layer(inputs, initial_state=second)
        states: list[Tensor] = []
        if self.forward_layer.return_state:
            states = [*there[1:], *back[1:]]
            there, back = there[0], back[0]
        if self.forward_layer.return_sequences:
            back = back.flip(1)
        merged = _merged(there, back, self.merge_mode)
        return [*merged, *states] if isinstance(merged, list) else [merged, *states] if states else merged


def _merged(there: Tensor, back: Tensor, how: str | None) -> Any:
    if how == "concat":
        return pyburn.cat([there, back], -1)
    if how is None:
        return [there, back]
    return there * back if how == "mul" else (there + back) / (2 if how == "ave" else 1)


class TimeDistributed(Layer):
    """A layer applied to each step of (batch, steps, ...)."""

    def __init__(self, layer: Layer, **options: Any) -> None:
        super().__init__(**options)
        self.layer = layer

    def build(self, input_shape: Sequence[int | None]) -> None:
        self.layer.build_for((None, *input_shape[2:]))

    def forward(self, inputs: Tensor) -> Tensor:
        flat = self.layer(inputs.reshape(inputs.shape[0] * inputs.shape[1], *inputs.shape[2:]))
        return flat.reshape(*inputs.shape[:2], *flat.shape[1:])
