"""Sizes, strides, offsets and counts that do not fit into 64 bits or into memory are errors; huge values with a meaning work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pyburn
import pyburn.nn.functional as F
from pyburn import nn

LARGEST, SMALLEST = 2**63 - 1, -(2**63)

# None of these has a result. Each one read or wrote foreign memory, hung, or gave a wrong result.
REFUSED: dict[str, Callable[[], Any]] = {
    "offset": lambda: pyburn.ones(3).as_strided((2,), (1,), 2**62 - 5),
    "large offset": lambda: pyburn.ones(3).as_strided((2,), (1,), 2**61),
    "stride": lambda: pyburn.ones(3).as_strided((2,), (2**62,), 0),
    "strides": lambda: pyburn.ones(3).as_strided((2, 2), (LARGEST, LARGEST), 0),
    "bincount": lambda: pyburn.bincount(pyburn.tensor([LARGEST])),
    "bincount with weights": lambda: pyburn.bincount(pyburn.tensor([2**60]), pyburn.ones(1)),
    "minlength": lambda: pyburn.bincount(pyburn.tensor([1]), minlength=LARGEST),
    "repeats": lambda: pyburn.repeat_interleave(pyburn.ones(3), pyburn.tensor([LARGEST, LARGEST, 3])),
    "repeat": lambda: pyburn.ones(3).repeat(2**62),
    "tile": lambda: pyburn.ones(3).tile((2**62, 2**62)),
    "pad": lambda: F.pad(pyburn.ones(3), (LARGEST, LARGEST)),
    "replicate": lambda: F.pad(pyburn.ones(1, 3), (LARGEST, LARGEST), mode="replicate"),
    "bins": lambda: pyburn.histc(pyburn.ones(3), bins=2**62),
    "combinations": lambda: pyburn.combinations(pyburn.ones(3), 2**62),
    "diag": lambda: pyburn.diag(pyburn.ones(3), LARGEST),
    "narrow": lambda: pyburn.ones(8).narrow(0, LARGEST, 1),
    "narrow by a huge length": lambda: pyburn.ones(8).narrow(0, 1, LARGEST),
    "windows of a fractional pool": lambda: F.fractional_max_pool2d(pyburn.ones(2, 4, 6, 6), 2, output_size=LARGEST),
    "pool with ceil_mode": lambda: F.max_pool1d(pyburn.ones(1, 8), 2, stride=LARGEST, padding=1, ceil_mode=True),
    "size of an unpooled line": lambda: F.max_unpool1d(pyburn.ones(1, 1), pyburn.tensor([[0]]), 2, stride=LARGEST, output_size=[2]),
    "padding for the same size": lambda: nn.Conv1d(1, 1, 3, padding="same", dilation=2**62)(pyburn.ones(1, 1, 5)),
    "output size of a transposed convolution": lambda: nn.ConvTranspose1d(1, 1, 3, stride=2**62)(pyburn.ones(1, 1, 5), output_size=[5]),
    "deformable convolution": lambda: nn.DeformConv2d(1, 1, 3, dilation=2**62)(pyburn.ones(1, 1, 5, 5), pyburn.ones(1, 18, 3, 3)),
    "kron": lambda: pyburn.kron(pyburn.ones(1).expand(2**40), pyburn.ones(1).expand(2**40)),
    "histogram": lambda: pyburn.histogram(pyburn.ones(3), LARGEST),
    "fractional pool of an empty batch": lambda: F.fractional_max_pool2d(pyburn.empty(0, 1, 4, 2**62), 2, 2),
    "fractional pool of an empty expanded batch": lambda: F.fractional_max_pool2d(pyburn.empty(0, 1, 4, 1).expand(0, 1, 4, 2**62), 2, 2),
    "hidden units of a cell": lambda: nn.LSTMCell(4, 2**62),
    "rows of an embedding": lambda: nn.Embedding(SMALLEST, 3, padding_idx=1),
    "fans": lambda: nn.init.xavier_uniform_(pyburn.empty(0, 2**40, 2**40, 3)),
    "narrow from far before the start": lambda: pyburn.ones(8).narrow(0, -LARGEST, 2**31),
    "split": lambda: pyburn.split(pyburn.ones(5), [LARGEST, LARGEST, 7]),
    "split into rows": lambda: pyburn.split(pyburn.ones(1).expand(2**40), 1),
    "unbind": lambda: pyburn.unbind(pyburn.ones(1).expand(2**40)),
    "chunk": lambda: pyburn.chunk(pyburn.ones(0), 2**40),
    "tensor_split": lambda: pyburn.tensor_split(pyburn.ones(8), 2**40),
    "eye": lambda: pyburn.eye(2**31, 2**33),
    "mvlgamma": lambda: pyburn.mvlgamma(pyburn.tensor([3.0]), 2**40),
    "resize": lambda: pyburn.resize_axis_input(pyburn.ones(1, 3), 1, 2**60, 3, "nearest", False, 0.0, False),
    "expand": lambda: pyburn.ones(1).expand(2**40, 2**40),
    "empty": lambda: pyburn.empty(2**40, 2**40),
    "bytes": lambda: pyburn.zeros(2**61),
    "layers": lambda: pyburn.lstm(pyburn.ones(1, 1, 1), (), [], True, 2**62, 0.0, False, True, False),
}


@pytest.mark.parametrize("name", REFUSED)
def test_sizes_that_cannot_be_are_errors(name: str) -> None:
    with pytest.raises((pyburn.PyburnError, TypeError)):
        REFUSED[name]()


def test_huge_numbers_with_a_meaning() -> None:
    x, v = pyburn.arange(9.0).reshape(3, 3), pyburn.arange(8.0)
    assert pyburn.triu(x, LARGEST).sum() == 0 and pyburn.equal(pyburn.triu(x, SMALLEST), x)
    assert pyburn.tril(x, SMALLEST).sum() == 0 and pyburn.equal(pyburn.tril(x, LARGEST), x)
    assert v[0:8:LARGEST].tolist() == [0] and v[SMALLEST:LARGEST].tolist() == v.tolist()
    assert v.unfold(0, 1, LARGEST).tolist() == [[0]] and pyburn.diagonal(x, LARGEST).numel() == 0
    assert len(pyburn.split(v, LARGEST)) == 1 and len(pyburn.chunk(v, LARGEST)) == 8
    assert pyburn.equal(pyburn.eye(3).matrix_power(SMALLEST), pyburn.eye(3))
    assert pyburn.empty(2**40, 2**40, 0).numel() == 0
    assert pyburn.vander(pyburn.ones(0), N=2**62).numel() == 0 and pyburn.cov(x, correction=SMALLEST).abs().max() < 1e-15
    assert v.roll(SMALLEST).tolist() == v.tolist() and v.roll(SMALLEST + 1).tolist() == v.roll(1).tolist()
    x = pyburn.ones(4, requires_grad=True)
    x[1::LARGEST].sum().backward()
    assert x.grad.tolist() == [0, 1, 0, 0]
    assert nn.CrossMapLRN2d(LARGEST)(pyburn.ones(1, 1, 1, 1)).item() == pytest.approx(1.0)
    assert pyburn.ones(8).as_strided((0,), (1,), LARGEST - 1).tolist() == []
    assert pyburn.ones(2, dtype=pyburn.float64).round(decimals=SMALLEST).isnan().all()
    assert pyburn.histc(pyburn.tensor([-1e308, 0.0, 1e308], dtype=pyburn.float64), 4).tolist() == [1, 0, 1, 1]


def test_the_smallest_integer_divides() -> None:
    smallest = pyburn.tensor([SMALLEST])
    assert pyburn.gcd(smallest, pyburn.tensor([6])).tolist() == [2] and pyburn.gcd(smallest, smallest).tolist() == [SMALLEST]
    assert pyburn.floor_divide(smallest, 3).tolist() == [SMALLEST // 3] and pyburn.remainder(smallest, 3).tolist() == [SMALLEST % 3]


@pytest.mark.parametrize("device", ["cpu", "numpy"])
def test_random_integers_of_wide_ranges(device: str) -> None:
    pyburn.manual_seed(0)
    draws = pyburn.randint(0, 2**62, (1000,), device=device)
    assert len(set((draws % 1024).tolist())) > 500 and draws.min() >= 0 and draws.max() > 2**61
    assert set(pyburn.randint(2**62, 2**62 + 5, (200,), device=device).tolist()) == {2**62 + i for i in range(5)}
    wide = pyburn.randint(SMALLEST, LARGEST, (1000,), device=device)
    assert wide.min() < -(2**61) and wide.max() > 2**61
    pyburn.manual_seed(0)
    assert pyburn.equal(pyburn.randint(0, 2**62, (1000,)), draws.cpu())


def test_gamma_of_many_dimensions_is_quick() -> None:
    assert pyburn.special.multigammaln(pyburn.tensor([200000.0]), 100000).isfinite().all()


@pytest.mark.parametrize("call", [
    lambda: pyburn.ones(()).repeat((1,) * 10**5),
    lambda: pyburn.tile(pyburn.ones(2), (2,) * 10**5),
    lambda: pyburn.ones((1,) * 65),
    lambda: pyburn.ones((1,) * 64).unsqueeze(0),
    lambda: pyburn.ones(1).expand((1,) * 100),
    lambda: pyburn.ones(1).view((1,) * 1000),
    lambda: pyburn.ones(1).as_strided((1,) * 65, (1,) * 65),
])  # fmt: skip
def test_too_many_dimensions(call: Callable[[], object]) -> None:
    with pytest.raises(pyburn.ShapeError, match="too many dimensions: expected at most 64"):
        call()


def test_the_most_dimensions() -> None:
    x = pyburn.ones((1,) * 64)
    assert (x + 1).sum().item() == 2
    assert x.squeeze(0).repeat((1,) * 62 + (3,)).shape == (1,) * 62 + (3,)
