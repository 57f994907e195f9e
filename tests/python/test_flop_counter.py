"""torch.utils.flop_counter over pyburn: the numbers of PyTorch, and those of pyburn.summary."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pytest

import pyburn
import pyburn.compat
from pyburn import nn


@pytest.fixture
def counter() -> Iterator[Any]:
    pyburn.compat.install()
    try:
        yield importlib.import_module("torch.utils.flop_counter").FlopCounterMode
    finally:
        pyburn.compat.uninstall()


def _total(counts: dict[str, int]) -> int:
    return sum(counts.values())


class _Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.project, self.out = nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, x: pyburn.Tensor) -> pyburn.Tensor:
        q, k, v = self.project(x).reshape(2, 5, 3, 2, 4).permute(2, 0, 3, 1, 4)
        return self.out(nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(2, 5, 8))


class _Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 6, 3, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(6, 4, 2, stride=2)
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(4 * 64, 5))

    def forward(self, x: pyburn.Tensor) -> pyburn.Tensor:
        return self.head(self.up(self.conv(x).relu()))


def test_forward_and_backward_by_module(counter: Any) -> None:
    net = _Net()
    with counter(display=False) as mode:
        loss = net(pyburn.ones(2, 3, 8, 8)).sum()
        forward = mode.get_total_flops()
        loss.backward()
    counts = mode.get_flop_counts()
    # What PyTorch 2.15 counts for the same network.
    conv, up, linear = 2 * 2 * 16 * 6 * 27, 2 * 2 * 6 * 16 * 4 * 4, 2 * 2 * 256 * 5
    assert forward == conv + up + linear
    assert mode.get_total_flops() == 2 * conv + 3 * up + 3 * linear  # the first layer has no gradient of its input
    assert _total(counts["_Net"]) == _total(counts["Global"])
    assert _total(counts["_Net.conv"]) == 2 * conv and _total(counts["_Net.up"]) == 3 * up
    assert _total(counts["_Net.head"]) == _total(counts["_Net.head.1"]) == 3 * linear
    assert "_Net.head.0" not in counts and mode.get_unsupported_ops() == {}


def test_attention_and_recurrence(counter: Any) -> None:
    block, x = _Block(), pyburn.ones(2, 5, 8, requires_grad=True)
    with counter(display=False) as mode:
        block(x).sum().backward()
    products, scores = 2 * 10 * 8 * 32, 2 * 2 * 2 * 5 * 5 * 4
    assert mode.get_total_flops() == 3 * products + (2 + 5) * scores  # backward computes the scores again
    layer = nn.LSTM(4, 6)
    with counter(display=False) as mode:
        layer(pyburn.ones(7, 3, 4))[0].sum().backward()
    inputs, steps = 2 * 21 * 4 * 24, 2 * 21 * 6 * 24
    assert mode.get_total_flops() == inputs + steps + inputs + 2 * steps


def test_the_counts_are_those_of_the_summary(counter: Any) -> None:
    net = _Net().eval()
    with counter(display=False) as mode, pyburn.no_grad():
        net(pyburn.ones(2, 3, 8, 8))
    found = pyburn.summary(net, (2, 3, 8, 8))
    assert mode.get_total_flops() == 2 * found.total_mult_adds
    counts = mode.get_flop_counts()
    assert _total(counts["_Net.conv"]) == 2 * next(layer.mult_adds for layer in found.layers if layer.name == "conv")


def test_table_and_second_use(counter: Any, capsys: pytest.CaptureFixture[str]) -> None:
    layer, mode = nn.Linear(4, 2), counter()
    for rows in (3, 5):
        with mode:
            layer(pyburn.ones(rows, 4))
        assert mode.get_total_flops() == 2 * rows * 8
        lines = capsys.readouterr().out.splitlines()
        assert lines[0].split() == ["Module", "FLOP", "%", "Total"] and lines[2].split() == ["Linear", str(2 * rows * 8), "100.00%"]
    with pytest.warns(UserWarning, match="mods argument"):
        counter(layer)
    with counter(display=False) as mode:
        pass
    assert mode.get_total_flops() == 0 and mode.get_table().splitlines()[2].split()[:2] == ["Global", "0"]
