"""Convolutional LSTM layers for sequences of 1-d, 2-d or 3-d data."""

from __future__ import annotations

from typing import Any

import pyburn
from pyburn import Tensor

from ..symbolic.symbol import is_drawing
from .arguments import Extent
from .convolution import ConvolutionLayer, convolution
from .dropout import kept
from .recurrent_steps import SequenceLayer
from .windows import as_given, channels_first, same_padding


class _ConvLSTM(SequenceLayer, ConvolutionLayer):
    """Base class of ConvLSTM1D, 2D and 3D. The gates are in the order input, forget, cell, output."""

    filters: int
    kernel_size: Extent
    strides: Extent = 1
    padding: str = "valid"
    data_format: str | None = "channels_last"
    dilation_rate: Extent = 1
    activation: Any = "tanh"
    recurrent_activation: Any = "sigmoid"
    use_bias: bool = True
    kernel_initializer: Any = "glorot_uniform"
    recurrent_initializer: Any = "orthogonal"
    bias_initializer: Any = "zeros"
    unit_forget_bias: bool = True
    kernel_regularizer: Any = None
    recurrent_regularizer: Any = None
    bias_regularizer: Any = None
    dropout: float = 0.0
    recurrent_dropout: float = 0.0
    seed: int | None = None
    return_sequences: bool = False
    return_state: bool = False
    go_backwards: bool = False
    stateful: bool = False
    zero_output_for_mask = False

    def build(self, input_shape: Any) -> None:
        if len(input_shape) != self.rank + 3:
            raise ValueError(f"[{type(self).__name__}] expected inputs of {self.rank + 3} axes: got the shape {tuple(input_shape)}")
        channels, width = self._channels((input_shape[0], *input_shape[2:])), 4 * self.filters
        self.kernel = self.weight_of("kernel", (*self.kernel_size, channels, width))
        self.recurrent_kernel = self.weight_of("recurrent", (*self.kernel_size, self.filters, width))
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
        self.keep(states)
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
        kept_states = self.kept_states()
        if kept_states is not None:
            return [state.to(device=projected.device) for state in kept_states]
        shape = [projected.shape[0], self.filters, *projected.shape[3:]]
        return [projected.new_zeros(shape) for _ in range(2)]


class ConvLSTM1D(_ConvLSTM, rank=1, causal=True):
    """Convolutional LSTM over (batch, steps, length, channels); the output is that of the last step by default.

    >>> p_vision.ConvLSTM1D(4, 3, padding="same")(pyburn.rand(2, 5, 8, 3)).shape
    pyburn.Size([2, 8, 4])
    """


class ConvLSTM2D(_ConvLSTM, rank=2):
    """Convolutional LSTM over (batch, steps, height, width, channels); the output is that of the last step by default.

    >>> p_vision.ConvLSTM2D(4, 3, return_sequences=True)(pyburn.rand(2, 5, 8, 8, 3)).shape
    pyburn.Size([2, 5, 6, 6, 4])
    """


class ConvLSTM3D(_ConvLSTM, rank=3):
    """Convolutional LSTM over (batch, steps, depth, height, width, channels); the output is that of the last step by default.

    >>> p_vision.ConvLSTM3D(2, 3, padding="same")(pyburn.rand(1, 2, 4, 4, 4, 1)).shape
    pyburn.Size([1, 4, 4, 4, 2])
    """
