"""Random draws: the same numbers from one seed on every device, in every dtype, and the right distributions."""

from __future__ import annotations

import numpy as np
import pytest
from harness import DEVICES, download

import pyburn

FLOATS = [pyburn.float64, pyburn.float32, pyburn.float16, pyburn.bfloat16]


def seeded():
    return pyburn.Generator().manual_seed(0x1234_5678_9ABC)


DRAWS = {
    "rand": lambda d, t: pyburn.rand(3, 7, dtype=t, device=d, generator=seeded()),
    "randn": lambda d, t: pyburn.randn(3, 7, dtype=t, device=d, generator=seeded()),
    "randint": lambda d, t: pyburn.randint(-3, 9, (3, 7), dtype=t, device=d, generator=seeded()),
    "uniform_": lambda d, t: pyburn.zeros(3, 7, dtype=t, device=d).uniform_(-2, 5, generator=seeded()),
    "normal_": lambda d, t: pyburn.zeros(3, 7, dtype=t, device=d).normal_(4, 0.5, generator=seeded()),
    "bernoulli_": lambda d, t: pyburn.zeros(3, 7, dtype=t, device=d).bernoulli_(0.25, generator=seeded()),
    "strided": lambda d, t: pyburn.zeros(7, 3, dtype=t, device=d).T.uniform_(generator=seeded()),
    "empty": lambda d, t: pyburn.rand(0, 3, dtype=t, device=d, generator=seeded()),
    "0-d": lambda d, t: pyburn.rand((), dtype=t, device=d, generator=seeded()),
}


@pytest.mark.parametrize("device", [d for d in DEVICES if d != "cpu"])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("draw", DRAWS)
def test_equal_on_every_device(draw, dtype, device):
    here, there = download(DRAWS[draw]("cpu", dtype)), download(DRAWS[draw](device, dtype))
    np.testing.assert_allclose(there, here, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("device", DEVICES)
def test_integers_in_integer_dtypes(device):
    for dtype in (pyburn.int64, pyburn.int8, pyburn.uint8):
        values = download(pyburn.randint(0, 5, (200,), dtype=dtype, device=device))
        assert set(values.tolist()) == {0, 1, 2, 3, 4}
    assert set(download(pyburn.randint(4, None, (200,), device=device)).tolist()) == {0, 1, 2, 3}


@pytest.mark.parametrize("device", DEVICES)
def test_distributions(device):
    n = 20_000
    uniform = download(pyburn.zeros(n, device=device).uniform_(-1, 3, generator=seeded()))
    assert uniform.min() >= -1 and uniform.max() < 3 and abs(uniform.mean() - 1) < 0.05
    normal = download(pyburn.randn(n, device=device, generator=seeded()))
    assert abs(normal.mean()) < 0.03 and abs(normal.std() - 1) < 0.03
    coins = download(pyburn.zeros(n, device=device).bernoulli_(0.3, generator=seeded()))
    assert set(np.unique(coins)) == {0, 1} and abs(coins.mean() - 0.3) < 0.02


@pytest.mark.parametrize("device", DEVICES)
def test_generator_goes_on(device):
    g = seeded()
    first, second = (download(pyburn.rand(5, device=device, generator=g)) for _ in range(2))
    assert (first != second).all()
    state = g.get_state()
    third = download(pyburn.rand(5, device=device, generator=g))
    g.set_state(state)
    np.testing.assert_array_equal(download(pyburn.rand(5, device=device, generator=g)), third)


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda d: pyburn.rand(2, dtype=pyburn.int64, device=d), "floating"),
        (lambda d: pyburn.randint(3, 3, (2,), device=d), "from must be less"),
        (lambda d: pyburn.zeros(2, device=d).bernoulli_(1.5), "probability"),
        (lambda d: pyburn.zeros(2, device=d).normal_(0, -1), "deviation"),
        (lambda d: pyburn.zeros(2, device=d).uniform_(2, 1), "from <= to"),
    ],
)
@pytest.mark.parametrize("device", DEVICES)
def test_errors(device, draw, words):
    with pytest.raises(pyburn.PyburnError, match=words):
        draw(device)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", ["rand", "randn"])
def test_like_draws_what_the_size_draws(name, device):
    x = pyburn.zeros(3, 7, dtype=pyburn.float64, device=device)
    pyburn.manual_seed(5)
    like = getattr(pyburn, name + "_like")(x, requires_grad=True)
    pyburn.manual_seed(5)
    drawn = getattr(pyburn, name)(3, 7, dtype=pyburn.float64, device=device)
    assert like.requires_grad and like.dtype is pyburn.float64 and like.device == x.device
    np.testing.assert_array_equal(download(like), download(drawn))
    assert getattr(pyburn, name + "_like")(x, dtype=pyburn.float32).dtype is pyburn.float32
