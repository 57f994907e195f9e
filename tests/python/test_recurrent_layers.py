"""Recurrent layers beyond one call of one tensor: packed sequences, names of parameters, dropout."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np
import pytest

import pyburn
from pyburn import nn


class Packed(NamedTuple):
    """What the layers ask of a PackedSequence."""

    data: Any
    batch_sizes: Any
    sorted_indices: Any = None
    unsorted_indices: Any = None


def packed(sequences: list[Any]) -> Packed:
    """Sequences of any order of lengths, packed step by step."""
    order = sorted(range(len(sequences)), key=lambda i: -len(sequences[i]))
    steps = [[sequences[i][t] for i in order if t < len(sequences[i])] for t in range(len(sequences[order[0]]))]
    inverse = [order.index(i) for i in range(len(order))]
    data = pyburn.stack([row for step in steps for row in step])
    return Packed(data, pyburn.tensor([len(step) for step in steps]), pyburn.tensor(order), pyburn.tensor(inverse))


def unpacked(p: Packed) -> list[Any]:
    rows: list[list[Any]] = [[] for _ in range(int(p.batch_sizes[0]))]
    at = 0
    for size in p.batch_sizes.tolist():
        for i in range(size):
            rows[i].append(p.data[at + i])
        at += size
    return [pyburn.stack(rows[i]) for i in p.unsorted_indices.tolist()]


LAYERS = [
    nn.RNN(3, 2),
    nn.RNN(3, 2, 2, "relu", bidirectional=True),
    nn.GRU(3, 2, 2, bias=False),
    nn.GRU(3, 2, bidirectional=True, batch_first=True),
    nn.LSTM(3, 2, 2),
    nn.LSTM(3, 4, 2, proj_size=2, bidirectional=True),
]


def alone(layer: Any, x: Any, hx: Any, i: int) -> tuple[Any, list[Any]]:
    states = None if hx is None else tuple(s[:, i].contiguous() for s in hx) if isinstance(hx, tuple) else hx[:, i].contiguous()
    output, last = layer(x, states)
    return output, list(last) if isinstance(last, tuple) else [last]


@pytest.mark.parametrize("with_states", [False, True])
@pytest.mark.parametrize("layer", LAYERS, ids=repr)
def test_a_packed_sequence_is_each_sequence_for_itself(layer: Any, with_states: bool) -> None:
    sequences = [pyburn.randn(n, 3) for n in (2, 5, 5, 1, 3)]
    runs = layer.num_layers * (2 if layer.bidirectional else 1)
    state = getattr(layer, "proj_size", 0) or layer.hidden_size
    hx: Any = None
    if with_states:
        hx = pyburn.randn(runs, 5, state)
        hx = (hx, pyburn.randn(runs, 5, layer.hidden_size)) if isinstance(layer, nn.LSTM) else hx
    x = packed(sequences)
    x.data.requires_grad_()
    output, last = layer(x, hx)
    assert isinstance(output, Packed)
    last = list(last) if isinstance(last, tuple) else [last]
    for i, (found, sequence) in enumerate(zip(unpacked(output), sequences, strict=True)):
        expected, states = alone(layer, sequence, hx, i)
        np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6)
        for all_states, of_one in zip(last, states, strict=True):
            np.testing.assert_allclose(all_states[:, i].detach().numpy(), of_one.detach().numpy(), rtol=1e-5, atol=1e-6)
    output.data.sum().backward()
    assert x.data.grad is not None
    assert float(x.data.grad.abs().sum()) > 0


def test_packed_data_is_checked() -> None:
    x = pyburn.randn(4, 3)
    for sizes in ([1, 2, 1], [2, 1], [2, 2, 0]):
        with pytest.raises(ValueError, match="batch_sizes"):
            nn.GRU(3, 2)(Packed(x, pyburn.tensor(sizes)))
    with pytest.raises(TypeError):
        nn.GRU(3, 2)([1.0])
    with pytest.raises(TypeError, match="pair"):
        nn.LSTM(3, 2)(pyburn.randn(4, 1, 3), pyburn.randn(1, 1, 2))


def test_parameters_by_layer_and_direction() -> None:
    layer = nn.LSTM(3, 4, num_layers=2, bidirectional=True, proj_size=2)
    groups = layer.all_weights
    assert len(groups) == 4
    assert [len(g) for g in groups] == [5] * 4
    assert groups[1][0] is layer.weight_ih_l0_reverse
    assert groups[3][4] is layer.weight_hr_l1_reverse
    layer.flatten_parameters()
    bound = 1 / 4**0.5
    assert all(float(p.abs().max()) <= bound for p in layer.parameters())


def test_dropout_is_between_layers_and_while_training() -> None:
    layer = nn.GRU(3, 8, num_layers=2, dropout=0.5)
    x = pyburn.randn(5, 2, 3)
    assert not pyburn.equal(layer(x)[0], layer(x)[0])
    layer.eval()
    assert pyburn.equal(layer(x)[0], layer(x)[0])
    whole = copy.deepcopy(layer)
    assert pyburn.equal(whole(x)[0], layer(x)[0])


@pytest.mark.parametrize("cell", [nn.GRUCell, nn.LSTMCell])
def test_the_result_of_a_step_may_be_written_to(cell: Any) -> None:
    layer, x = cell(3, 4), pyburn.randn(2, 3, requires_grad=True)

    def gradients(change: Any) -> list[Any]:
        result = layer(x)
        changed = change(result if isinstance(result, pyburn.Tensor) else result[0])
        return [g.numpy() for g in pyburn.autograd.grad((changed * changed).sum(), [x, *layer.parameters()])]

    for written, plain in zip(gradients(lambda y: y.add_(1.0)), gradients(lambda y: y + 1.0), strict=True):
        np.testing.assert_allclose(written, plain, rtol=1e-6)


def test_hooks_and_subclasses() -> None:
    class Doubled(nn.GRU):
        def forward(self, input: Any, hx: Any = None) -> Any:
            output, last = super().forward(input, hx)
            return output * 2, last

    layer = Doubled(3, 2)
    x = pyburn.randn(4, 1, 3)
    seen = []
    layer.register_forward_hook(lambda module, args, output: seen.append(output[0].shape))
    assert float((layer(x)[0] - 2 * nn.GRU.forward(layer, x)[0]).abs().max()) == 0
    assert seen == [(4, 1, 2)]
