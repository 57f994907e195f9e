"""Recurrent cells, which compute one step, and RNN, which runs a built-in or custom cell over all steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyburn
from pyburn import Tensor
from pyburn._nested import leaves, mapped

from ..layer import Layer
from ..symbolic.symbol import is_drawing
from .declared import DeclaredLayer
from .dropout import kept
from .recurrent_steps import GRUSteps, LSTMSteps, RecurrentSteps, SequenceLayer, SimpleSteps


class _Cell(RecurrentSteps):
    """A layer of one step, called with the inputs and a list of states."""

    def build(self, input_shape: Any) -> None:
        self.make_weights(input_shape[-1])

    @property
    def state_size(self) -> Any:
        return self.units if self.state_count == 1 else [self.units] * self.state_count

    @property
    def output_size(self) -> int:
        return self.units

    def get_initial_state(self, batch_size: int) -> list[Tensor]:
        return zero_states(self.state_size, batch_size)

    def forward(self, inputs: Tensor, states: Any) -> tuple[Tensor, list[Tensor]]:
        given = list(states) if isinstance(states, (list, tuple)) else [states]
        if self.training and self.dropout:
            inputs = inputs * self._noise("inputs", inputs, self.dropout)
        if self.training and self.recurrent_dropout:
            given = [given[0] * self._noise("states", given[0], self.recurrent_dropout), *given[1:]]
        after = self.step(inputs, given)
        return after[0], after

    def _noise(self, what: str, like: Tensor, rate: float) -> Tensor:
        """Returns the dropout mask, which is the same for all steps of a sequence."""
        noises = self.__dict__.setdefault("_noises", {})
        if what not in noises or noises[what].shape != like.shape:
            noises[what] = kept(list(like.shape), rate, like)
        return noises[what]

    def reset_dropout_mask(self) -> None:
        """Draws new dropout masks for the next sequence."""
        self.__dict__["_noises"] = {}


class SimpleRNNCell(_Cell, SimpleSteps):
    """One step of SimpleRNN: called with the inputs (N, features) and a list of states, returns the output and the new states.

    >>> output, states = p_vision.SimpleRNNCell(4)(pyburn.rand(2, 3), [pyburn.zeros(2, 4)])
    >>> output.shape
    pyburn.Size([2, 4])
    """


class LSTMCell(_Cell, LSTMSteps):
    """One step of LSTM; its states are the hidden state and the cell state.

    >>> p_vision.RNN(p_vision.LSTMCell(4))(pyburn.rand(2, 5, 3)).shape
    pyburn.Size([2, 4])
    """


class GRUCell(_Cell, GRUSteps):
    """One step of GRU.

    >>> p_vision.RNN(p_vision.GRUCell(4), return_sequences=True)(pyburn.rand(2, 5, 3)).shape
    pyburn.Size([2, 5, 4])
    """


class StackedRNNCells(DeclaredLayer):
    """Stacks cells into one cell; its states are a list of the states of each cell.

    Args:
        cells: The cells, from the first to the last.

    Raises:
        ValueError: A cell has no state_size.

    >>> cells = p_vision.StackedRNNCells([p_vision.GRUCell(4), p_vision.LSTMCell(2)])
    >>> p_vision.RNN(cells)(pyburn.rand(2, 5, 3)).shape
    pyburn.Size([2, 2])
    """

    cells: Sequence[Any]

    def prepare(self) -> None:
        for cell in self.cells:
            if not hasattr(cell, "state_size"):
                raise ValueError(f"[StackedRNNCells] a cell has a state_size and is called with inputs and states: got {cell!r}")
        self.cells = pyburn.nn.ModuleList(self.cells)  # type: ignore[assignment, arg-type]

    def build(self, input_shape: Any) -> None:
        for cell in self.cells:
            cell.build_for(input_shape)
            input_shape = (None, *_shape(_output_size(cell)))

    @property
    def state_size(self) -> list[Any]:
        return [cell.state_size for cell in self.cells]

    @property
    def output_size(self) -> Any:
        return _output_size(self.cells[-1])

    def get_initial_state(self, batch_size: int) -> list[Any]:
        return [_start(cell, batch_size) for cell in self.cells]

    def forward(self, inputs: Tensor, states: Any) -> tuple[Tensor, list[Any]]:
        after = []
        for cell, mine in zip(self.cells, states):
            inputs, changed = cell(inputs, mine)
            after.append(changed)
        return inputs, after

    def reset_dropout_mask(self) -> None:
        _reset_noise(*self.cells)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "cells": list(self.cells)}


def _shape(size: Any) -> list[int]:
    return [size] if isinstance(size, int) else list(size)


def _output_size(cell: Any) -> Any:
    found = getattr(cell, "output_size", None)
    if found is not None:
        return found
    size = cell.state_size
    return size[0] if isinstance(size, (list, tuple)) else size


def zero_states(size: Any, count: int) -> list[Tensor]:
    """Returns zeros for a state_size: a number, or a list of numbers and shapes."""
    sizes = size if isinstance(size, (list, tuple)) else [size]
    return [pyburn.zeros(count, *_shape(extent)) for extent in sizes]


def _start(cell: Any, count: int) -> Any:
    made = cell.get_initial_state(batch_size=count) if hasattr(cell, "get_initial_state") else zero_states(cell.state_size, count)
    return made if isinstance(made, (list, tuple)) else [made]


def _reset_noise(*cells: Any) -> None:
    for cell in cells:
        if hasattr(cell, "reset_dropout_mask"):
            cell.reset_dropout_mask()


class RNN(SequenceLayer):
    """Runs a cell over the steps of (batch, steps, ...).

    A cell is a layer that is called with the inputs of one step and a list of states, returns (output, states), and has a `state_size`.

    Args:
        cell: The cell; a list of cells is stacked.

    Raises:
        ValueError: The cell is not a layer with a state_size.

    >>> class Decay(p_vision.Layer):
    ...     state_size = 3
    ...     def call(self, inputs, states):
    ...         output = 0.5 * states[0] + inputs
    ...         return output, [output]
    >>> p_vision.RNN(Decay())(pyburn.ones(1, 2, 3))
    tensor([[1.5000, 1.5000, 1.5000]])
    """

    cell: Any
    return_sequences: bool = False
    return_state: bool = False
    go_backwards: bool = False
    stateful: bool = False
    unroll: bool = False
    zero_output_for_mask: bool = False

    def prepare(self) -> None:
        super().prepare()
        if isinstance(self.cell, (list, tuple)):
            self.cell = StackedRNNCells(self.cell)
        if not isinstance(self.cell, Layer) or not hasattr(self.cell, "state_size"):
            raise ValueError(f"[RNN] a cell is a layer with a state_size that is called with inputs and states: got {self.cell!r}")

    def build(self, input_shape: Any) -> None:
        self.cell.build_for((None, *input_shape[2:]))

    @property
    def state_size(self) -> Any:
        return self.cell.state_size

    def get_initial_state(self, batch_size: int) -> Any:
        """Returns the initial states for a batch: those of the cell if it defines them, else zeros.

        Args:
            batch_size: The number of samples.
        """
        return _start(self.cell, batch_size)

    def forward(self, inputs: Tensor, initial_state: Any = None, mask: Tensor | None = None) -> Any:
        _reset_noise(self.cell)
        states = self._states(inputs, initial_state)
        count = 1 if is_drawing() else inputs.shape[1]  # only shapes are computed: one step suffices
        steps = range(count - 1, -1, -1) if self.go_backwards else range(count)
        outputs: list[Tensor] = []
        for t in steps:
            output, after = self.cell(inputs[:, t], states)
            after = list(after) if isinstance(after, (list, tuple)) else [after]
            if mask is not None and not is_drawing():
                output, after = self._where_counted(mask[:, t], output, after, states, outputs)
            states = after
            outputs.append(output)
        self.keep(states)
        sequence = outputs[-1]
        if self.return_sequences:
            sequence = (
                outputs[0].unsqueeze(1).expand(-1, inputs.shape[1], *outputs[0].shape[1:]) if is_drawing() else pyburn.stack(outputs, 1)
            )
        return [sequence, *states] if self.return_state else sequence

    def _where_counted(self, counts: Tensor, output: Tensor, after: Any, before: Any, outputs: list[Tensor]) -> tuple[Tensor, Any]:
        """Keeps the states at masked steps; the output is the previous one, or zeros."""

        def chosen(new: Tensor, old: Any) -> Tensor:
            return pyburn.where(counts.reshape(-1, *[1] * (new.ndim - 1)), new, old)

        held = iter(list(leaves(before)))
        last = outputs[-1] if outputs and not self.zero_output_for_mask else 0.0
        return chosen(output, last), mapped(lambda state: chosen(state, next(held)), after)

    def _states(self, inputs: Tensor, initial_state: Any) -> Any:
        if initial_state is None:
            initial_state = self.kept_states()
        if initial_state is None:
            initial_state = _start(self.cell, inputs.shape[0])
        states = list(initial_state) if isinstance(initial_state, (list, tuple)) else [initial_state]
        return mapped(lambda state: state.to(device=inputs.device), states)
