"""Convolutional LSTM layers for sequences of 1-d, 2-d or 3-d data."""

from __future__ import annotations

from typing import Any

import pyburn
from pyburn import Tensor

from .. import activations
from ..configured import arguments
from ..symbolic.structure import leaves
from ..symbolic.symbol import is_drawing
from .convolution import ConvolutionLayer, convolution
from .dense import positive
from .dropout import kept, probability
from .windows import Extent, as_given, channels_first, same_padding


class _ConvLSTM(ConvolutionLayer):
    """Base class of ConvLSTM1D, 2D and 3D. The gates are in the order input, forget, cell, output."""

    def __init__(
        self,
        filters: int,
        kernel_size: Extent,
        strides: Extent = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Extent = 1,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        unit_forget_bias: bool = True,
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        name = type(self).__name__
        self.filters = positive(name, "filters", filters)
        self._prepare(kernel_size, strides, padding, data_format, dilation_rate)
        self._prepare_output(activation, use_bias, bias_initializer, bias_regularizer)
        self.recurrent_activation, self.unit_forget_bias, self.seed = recurrent_activation, unit_forget_bias, seed
        self.kernel_initializer, self.recurrent_initializer = kernel_initializer, recurrent_initializer
        self.kernel_regularizer, self.recurrent_regularizer = kernel_regularizer, recurrent_regularizer
        self.dropout, self.recurrent_dropout = probability(name, dropout), probability(name, recurrent_dropout)
        self.return_sequences, self.return_state, self.go_backwards, self.stateful = return_sequences, return_state, go_backwards, stateful
        self.zero_output_for_mask = False
        self._gate = activations.get(recurrent_activation)
        self._kept: list[Tensor] | None = None

    @classmethod
    def config_arguments(cls) -> dict[str, Any]:
        return arguments(_ConvLSTM)

    def build(self, input_shape: Any) -> None:
        if len(input_shape) != self.rank + 3:
            raise ValueError(f"[{type(self).__name__}] expected inputs of {self.rank + 3} axes: got the shape {tuple(input_shape)}")
        channels, width = self._channels((input_shape[0], *input_shape[2:])), 4 * self.filters
        self.kernel = self.add_weight(
            (*self.kernel_size, channels, width), self.kernel_initializer, regularizer=self.kernel_regularizer, name="kernel"
        )
        self.recurrent_kernel = self.add_weight(
            (*self.kernel_size, self.filters, width), self.recurrent_initializer, regularizer=self.recurrent_regularizer
        )
        self._add_bias(width)
        if self.bias is not None and self.unit_forget_bias:
            with pyburn.no_grad():
                self.bias[self.filters : 2 * self.filters] = 1.0

    def forward(self, inputs: Tensor, initial_state: Any = None, mask: Tensor | None = None) -> Any:
        count, steps = inputs.shape[:2]
        flat = channels_first(inputs.reshape(count * steps, *inputs.shape[2:]), self.data_format)
        if self.training and self.dropout:
            noise = kept([count, 1, *flat.shape[1:]], self.dropout, flat).expand(-1, steps, *[-1] * (flat.ndim - 1))
            flat = flat * noise.reshape(flat.shape)
        projected = self._convolve(flat, self.kernel, self.bias, 1)  # all steps in one convolution
        projected = projected.reshape(count, steps, *projected.shape[1:])
        states = self._states(projected, initial_state)
        held = kept(list(states[0].shape), self.recurrent_dropout, states[0]) if self.training and self.recurrent_dropout else None
        order = range(steps - 1, -1, -1) if self.go_backwards else range(steps)
        outputs: list[Tensor] = []
        for t in [0] if is_drawing() else order:  # only shapes are computed: one step suffices
            before, states = states, self._step(projected[:, t], states, held)
            if mask is not None and not is_drawing():
                counts = mask[:, t].reshape(-1, *[1] * (self.rank + 1))
                states = [pyburn.where(counts, new, old) for new, old in zip(states, before)]
            outputs.append(states[0])
        if self.stateful and not is_drawing():
            self._kept = [state.detach() for state in states]
        output = as_given(outputs[-1], self.data_format)
        if self.return_sequences and is_drawing():
            output = output.unsqueeze(1).expand(-1, steps, *output.shape[1:])
        elif self.return_sequences:
            output = pyburn.stack([as_given(one, self.data_format) for one in outputs], 1)
        return [output, *(as_given(state, self.data_format) for state in states)] if self.return_state else output

    def _step(self, x: Tensor, states: list[Tensor], noise: Tensor | None) -> list[Tensor]:
        hidden, memory = states if noise is None else (states[0] * noise, states[1])
        ones = (1,) * self.rank
        borders = same_padding(hidden.shape[2:], self.kernel_size, ones, ones)
        i, f, g, o = (x + convolution(self.rank, hidden, self.recurrent_kernel, borders)).chunk(4, 1)
        memory = self._gate(f) * memory + self._gate(i) * self._activate(g)
        return [self._gate(o) * self._activate(memory), memory]

    def _states(self, projected: Tensor, initial_state: Any) -> list[Tensor]:
        if initial_state is not None:
            return [channels_first(state, self.data_format) for state in initial_state]
        if self._kept is not None and not is_drawing():
            return [state.to(device=projected.device) for state in self._kept]
        shape = [projected.shape[0], self.filters, *projected.shape[3:]]
        return [projected.new_zeros(shape) for _ in range(2)]

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return next(leaves(mask), None) if self.return_sequences else None

    def reset_state(self) -> None:
        """Resets the states of a stateful layer."""
        self._kept = None

    reset_states = reset_state


class ConvLSTM1D(_ConvLSTM, rank=1):
    """Convolutional LSTM over (batch, steps, length, channels)."""


class ConvLSTM2D(_ConvLSTM, rank=2):
    """Convolutional LSTM over (batch, steps, height, width, channels)."""


class ConvLSTM3D(_ConvLSTM, rank=3):
    """Convolutional LSTM over (batch, steps, depth, height, width, channels)."""
