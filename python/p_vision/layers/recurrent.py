"""Recurrent layers. With standard activations all steps run as one operation; with others they run step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import InitVar
from typing import Any

import pyburn
from pyburn import Tensor
from pyburn._nested import leaves
from pyburn.nn import functional

from ..layer import Layer
from ..symbolic.masks import takes_mask
from ..symbolic.symbol import is_drawing
from .arguments import one_of
from .declared import DeclaredLayer, option
from .dropout import kept
from .recurrent_steps import GRUSteps, LSTMSteps, RecurrentSteps, SequenceLayer, SimpleSteps


class RecurrentLayer(SequenceLayer, RecurrentSteps):
    """Runs a recurrent step over all time steps."""

    return_sequences: bool = option(default=False, kw_only=True)
    return_state: bool = option(default=False, kw_only=True)
    go_backwards: bool = option(default=False, kw_only=True)
    stateful: bool = option(default=False, kw_only=True)
    unroll: bool = option(default=False, kw_only=True)
    use_cudnn: Any = option(default="auto", kw_only=True)
    zero_output_for_mask: bool = option(default=False, kw_only=True)

    def build(self, input_shape: Any) -> None:
        if len(input_shape) != 3:
            raise ValueError(f"[{type(self).__name__}] expected inputs (batch, steps, features): got the shape {tuple(input_shape)}")
        self.make_weights(input_shape[-1])

    def forward(self, inputs: Tensor, initial_state: Any = None, mask: Tensor | None = None) -> Any:
        start = self._start(inputs, initial_state)
        x, mask = (inputs.flip(1), None if mask is None else mask.flip(1)) if self.go_backwards else (inputs, mask)
        if self.training and self.dropout:
            x = x * kept([x.shape[0], 1, x.shape[2]], self.dropout, x)
        if is_drawing():  # only shapes are computed: one step suffices for any number of steps
            states = [state.unsqueeze(1).expand(-1, x.shape[1], -1) for state in self.step(x[:, 0], start)]
            mask = None
        else:
            states = self._after_each_step(x, start) if mask is None else self._after_each_that_counts(x, start, mask)
        sequence, last = states[0], [state[:, -1] for state in states]
        if mask is not None:  # before the first unmasked step there is a state, but no output
            silent = mask if self.zero_output_for_mask else mask.cumsum(1) > 0
            sequence = pyburn.where(silent.unsqueeze(-1), sequence, 0.0)
        self.keep(last)
        output = sequence if self.return_sequences else sequence[:, -1]
        return [output, *last] if self.return_state else output

    def _start(self, inputs: Tensor, initial_state: Any) -> list[Tensor]:
        count = inputs.shape[0]
        kept_states = self.kept_states()
        if initial_state is None and kept_states is not None:
            if kept_states[0].shape[0] != count:
                raise ValueError(
                    f"[{type(self).__name__}] stateful=True requires batches of equal size: "
                    f"got {count} after {kept_states[0].shape[0]}; reset_state() forgets them"
                )
            return [state.to(device=inputs.device, dtype=inputs.dtype) for state in kept_states]
        if initial_state is None:
            return [inputs.new_zeros(count, self.units) for _ in range(self.state_count)]
        states = list(initial_state) if isinstance(initial_state, (list, tuple)) else [initial_state]
        if len(states) != self.state_count:
            raise ValueError(f"[{type(self).__name__}] expected {self.state_count} initial states: got {len(states)}")
        return states

    def _after_each_that_counts(self, x: Tensor, start: list[Tensor], mask: Tensor) -> list[Tensor]:
        """Runs only the unmasked steps, which are moved to the front; masked steps keep the previous states."""
        order = mask.logical_not().int().argsort(1, stable=True)
        states = self._after_each_step(x.gather(1, order.unsqueeze(-1).expand(x.shape)), start)
        done = mask.long().cumsum(1).unsqueeze(-1).expand(*mask.shape, self.units)
        return [pyburn.cat([first.unsqueeze(1), state], 1).gather(1, done) for first, state in zip(start, states)]

    def _after_each_step(self, x: Tensor, start: list[Tensor]) -> list[Tensor]:
        """Returns the states after each step, each (batch, steps, units)."""
        return self._all_steps(x, start) if self.is_usual() and not self.recurrent_dropout else self._step_by_step(x, start)

    def _step_by_step(self, x: Tensor, states: list[Tensor]) -> list[Tensor]:
        noise = kept([x.shape[0], self.units], self.recurrent_dropout, x) if self.training and self.recurrent_dropout else None
        found = []
        for t in range(x.shape[1]):
            states = self.step(x[:, t], states if noise is None else [states[0] * noise, *states[1:]])
            found.append(states)
        return [pyburn.stack(list(state), 1) for state in zip(*found)]

    def _all_steps(self, x: Tensor, start: list[Tensor]) -> list[Tensor]:
        """Runs all steps as one operation, after one matrix product for all inputs."""
        kernel, recurrent, bias, recurrent_bias = self.fused_weights()
        projected = functional.linear(x, kernel.T, bias).transpose(0, 1)
        cells = start[1] if len(start) > 1 else None
        found = pyburn.rnn_steps(projected, recurrent.T, recurrent_bias, start[0], cells, self.rnn_kind(), False)
        return [state.transpose(0, 1) for state in found[: self.state_count]]


class SimpleRNN(RecurrentLayer, SimpleSteps):
    """Simple recurrent layer: h = activation(x @ kernel + h @ recurrent_kernel + bias) at each step.

    Input shape (N, steps, features), output shape (N, units), or (N, steps, units) with return_sequences=True.

    >>> p_vision.SimpleRNN(8)(pyburn.rand(2, 5, 3)).shape
    pyburn.Size([2, 8])
    """


class LSTM(RecurrentLayer, LSTMSteps):
    """Long short-term memory (LSTM) layer; its states are the hidden state and the cell state.

    Input shape (N, steps, features), output shape (N, units), or (N, steps, units) with return_sequences=True.

    >>> output, hidden, cell = p_vision.LSTM(8, return_sequences=True, return_state=True)(pyburn.rand(2, 5, 3))
    >>> output.shape, cell.shape
    (pyburn.Size([2, 5, 8]), pyburn.Size([2, 8]))
    """


class GRU(RecurrentLayer, GRUSteps):
    """Gated recurrent unit (GRU) layer.

    Input shape (N, steps, features), output shape (N, units), or (N, steps, units) with return_sequences=True.

    >>> p_vision.GRU(8, return_sequences=True)(pyburn.rand(2, 5, 3)).shape
    pyburn.Size([2, 5, 8])
    """


class Bidirectional(DeclaredLayer):
    """Runs a recurrent layer forward and a copy of it backward in time.

    Args:
        layer: The forward layer.
        merge_mode: How the outputs are combined: "concat", "sum", "mul", "ave" or None for a list.
        backward_layer: The backward layer; by default a copy of layer.

    Raises:
        TypeError: layer is not a recurrent layer.
        ValueError: merge_mode is unknown.

    >>> p_vision.Bidirectional(p_vision.LSTM(8))(pyburn.rand(2, 5, 3)).shape
    pyburn.Size([2, 16])
    """

    layer: InitVar[Any]
    merge_mode: str | None = "concat"
    backward_layer: Any = None

    def prepare(self, layer: Any) -> None:  # type: ignore[override]
        if not hasattr(layer, "go_backwards"):
            raise TypeError(f"[Bidirectional] expected a recurrent layer: got {layer!r}")
        one_of("Bidirectional", "merge_mode", self.merge_mode, ("concat", "sum", "mul", "ave", None))
        backward = self.backward_layer
        if backward is None:
            config = {**layer.get_config(), "go_backwards": not layer.go_backwards}
            config.pop("name", None)
            backward = type(layer).from_config(config)
        del self.backward_layer  # it follows the forward layer
        self.forward_layer, self.backward_layer = layer, backward
        for part in (self.forward_layer, self.backward_layer):  # as in Keras: masked outputs are 0 before two sequences are merged
            part.zero_output_for_mask = part.return_sequences

    @property
    def layer(self) -> Any:
        return self.forward_layer

    def build(self, input_shape: Any) -> None:
        self.forward_layer.build_for(input_shape)
        self.backward_layer.build_for(input_shape)

    def forward(self, inputs: Tensor, initial_state: Any = None, mask: Tensor | None = None) -> Any:
        half = len(initial_state) // 2 if initial_state is not None else 0
        first, second = (initial_state[:half], initial_state[half:]) if half else (None, None)
        there = self.forward_layer(inputs, initial_state=first, mask=mask)
        back = self.backward_layer(inputs, initial_state=second, mask=mask)
        states: list[Tensor] = []
        if self.forward_layer.return_state:
            states = [*there[1:], *back[1:]]
            there, back = there[0], back[0]
        if self.forward_layer.return_sequences:
            back = back.flip(1)
        merged = _merged(there, back, self.merge_mode)
        return [*merged, *states] if isinstance(merged, list) else [merged, *states] if states else merged

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        found = next(leaves(mask), None) if self.forward_layer.return_sequences else None
        return [found, found] if self.merge_mode is None else found

    def reset_state(self) -> None:
        """Resets the states of stateful layers."""
        self.forward_layer.reset_state()
        self.backward_layer.reset_state()

    reset_states = reset_state


def _merged(there: Tensor, back: Tensor, how: str | None) -> Any:
    if how == "concat":
        return pyburn.cat([there, back], -1)
    if how is None:
        return [there, back]
    return there * back if how == "mul" else (there + back) / (2 if how == "ave" else 1)


class TimeDistributed(DeclaredLayer):
    """Applies a layer to each step of (batch, steps, ...).

    Args:
        layer: The layer.

    >>> p_vision.TimeDistributed(p_vision.Dense(4))(pyburn.rand(2, 5, 3)).shape
    pyburn.Size([2, 5, 4])
    """

    supports_masking = True
    layer: Layer

    def build(self, input_shape: Sequence[int | None]) -> None:
        self.layer.build_for((None, *input_shape[2:]))

    def forward(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        steps = inputs.shape[0] * inputs.shape[1]
        options: dict[str, Any] = {} if mask is None or not takes_mask(type(self.layer)) else {"mask": mask.reshape(steps, *mask.shape[2:])}
        flat = self.layer(inputs.reshape(steps, *inputs.shape[2:]), **options)
        return flat.reshape(*inputs.shape[:2], *flat.shape[1:])
