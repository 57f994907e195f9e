"""Random draws: the same numbers from one seed on every device, in every dtype, and the right distributions."""

from __future__ import annotations

import numpy as np
import pytest
from harness import DEVICES, WITH_FLOAT64, skip_without

import pyburn
from pyburn.testing.conformance.calls import download

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
    "exponential_": lambda d, t: pyburn.zeros(3, 7, dtype=t, device=d).exponential_(2.0, generator=seeded()),
    "bernoulli": lambda d, t: pyburn.bernoulli(pyburn.full((3, 7), 0.25, dtype=t, device=d), generator=seeded()),
    "bernoulli.p": lambda d, t: pyburn.bernoulli(pyburn.zeros(3, 7, dtype=t, device=d), 0.25, generator=seeded()),
    "bernoulli_.each": lambda d, t: pyburn.zeros(3, 7, dtype=t, device=d).bernoulli_(pyburn.full((7,), 0.25, device=d), generator=seeded()),
    "normal": lambda d, t: pyburn.normal(pyburn.full((3, 7), 4.0, dtype=t, device=d), 0.5, generator=seeded()),
    "normal.each_deviation": lambda d, t: pyburn.normal(4.0, pyburn.full((3, 7), 0.5, dtype=t, device=d), generator=seeded()),
    "normal.each": lambda d, t: pyburn.normal(
        pyburn.full((3, 7), 4.0, dtype=t, device=d), pyburn.full((7,), 0.5, dtype=t, device=d), generator=seeded()
    ),
    "normal.size": lambda d, t: pyburn.normal(4.0, 0.5, (3, 7), dtype=t, device=d, generator=seeded()),
    "randperm": lambda d, t: pyburn.randperm(21, dtype=t, device=d, generator=seeded()),
    "multinomial": lambda d, t: pyburn.multinomial(pyburn.full((3, 7), 0.5, dtype=t, device=d), 4, generator=seeded()),
    "multinomial with replacement": lambda d, t: pyburn.multinomial(
        pyburn.full((3, 7), 0.5, dtype=t, device=d), 40, True, generator=seeded()
    ),
    "strided": lambda d, t: pyburn.zeros(7, 3, dtype=t, device=d).T.uniform_(generator=seeded()),
    "empty": lambda d, t: pyburn.rand(0, 3, dtype=t, device=d, generator=seeded()),
    "0-d": lambda d, t: pyburn.rand((), dtype=t, device=d, generator=seeded()),
}


@pytest.mark.parametrize("device", [d for d in DEVICES if d != "cpu"])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("draw", DRAWS)
def test_equal_on_every_device(draw, dtype, device):
    skip_without(device, dtype)
    here, there = download(DRAWS[draw]("cpu", dtype)), download(DRAWS[draw](device, dtype))
    np.testing.assert_allclose(there, here, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("device", DEVICES)
def test_integers_in_integer_dtypes(device):
    for dtype in (pyburn.int64, pyburn.int8, pyburn.uint8):
        values = download(pyburn.randint(0, 5, (200,), dtype=dtype, device=device))
        assert set(values.tolist()) == {0, 1, 2, 3, 4}
    assert set(download(pyburn.randint(4, None, (200,), device=device)).tolist()) == {0, 1, 2, 3}
    assert set(download(pyburn.randint(4, (200,), device=device)).tolist()) == {0, 1, 2, 3}
    ones = pyburn.ones(200, device=device)
    assert set(download(pyburn.randint_like(ones, 3)).tolist()) == {0, 1, 2}
    like = pyburn.randint_like(ones, -2, 0, dtype=pyburn.int64)
    assert like.dtype is pyburn.int64 and set(download(like).tolist()) == {-2, -1}


@pytest.mark.parametrize("device", WITH_FLOAT64)
def test_like(device):
    x = pyburn.ones(20, dtype=pyburn.float64, device=device)
    for draw in (pyburn.rand_like, pyburn.randn_like):
        y = draw(x)
        assert y.dtype is x.dtype and y.device == x.device and len(set(download(y).tolist())) == 20
        assert draw(x, dtype=pyburn.float32, requires_grad=True).requires_grad


@pytest.mark.parametrize("device", DEVICES)
def test_orders(device):
    g = seeded()
    orders = [download(pyburn.randperm(600, device=device, generator=g)) for _ in range(2)]
    assert all(sorted(order.tolist()) == list(range(600)) for order in orders) and (orders[0] != orders[1]).any()
    assert download(pyburn.randperm(0, device=device)).size == 0


@pytest.mark.parametrize("device", DEVICES)
def test_multinomial(device):
    likely = pyburn.tensor([[0.0, 1.0, 3.0], [2.0, 0.0, 2.0]]).to(device)
    drawn = download(pyburn.multinomial(likely, 4000, True, generator=seeded()))
    shares = np.stack([np.bincount(row, minlength=3) / 4000 for row in drawn])
    np.testing.assert_allclose(shares, [[0, 0.25, 0.75], [0.5, 0, 0.5]], atol=0.03)
    few = download(pyburn.multinomial(likely, 2, generator=seeded()))
    assert {tuple(sorted(row)) for row in few.tolist()} == {(1, 2), (0, 2)}
    assert pyburn.multinomial(pyburn.tensor([0.0, 1.0]).to(device), 1).tolist() == [1]


def test_equal_for_any_number_of_threads():
    def draws():
        pyburn.manual_seed(5)
        return [download(t) for t in (pyburn.rand(300_000), pyburn.randn(300_000), pyburn.dropout(pyburn.ones(300_000), 0.3))]

    before = pyburn.get_num_threads()
    try:
        pyburn.set_num_threads(1)
        one = draws()
        pyburn.set_num_threads(4)
        for a, b in zip(one, draws()):
            np.testing.assert_array_equal(a, b)
    finally:
        pyburn.set_num_threads(before)


@pytest.mark.parametrize("device", DEVICES)
def test_distributions(device):
    n = 20_000
    uniform = download(pyburn.zeros(n, device=device).uniform_(-1, 3, generator=seeded()))
    assert uniform.min() >= -1 and uniform.max() < 3 and abs(uniform.mean() - 1) < 0.05
    normal = download(pyburn.randn(n, device=device, generator=seeded()))
    assert abs(normal.mean()) < 0.03 and abs(normal.std() - 1) < 0.03
    waits = download(pyburn.zeros(n, device=device).exponential_(2.0, generator=seeded()))
    assert waits.min() >= 0 and abs(waits.mean() - 0.5) < 0.02 and abs(waits.std() - 0.5) < 0.02
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
        (lambda d: pyburn.randint(3, 3, (2,), device=d), "low must be less"),
        (lambda d: pyburn.zeros(2, device=d).bernoulli_(1.5), "probability"),
        (lambda d: pyburn.zeros(2, device=d).normal_(0, -1), "deviation"),
        (lambda d: pyburn.zeros(2, device=d).uniform_(2, 1), "from <= to"),
        (lambda d: pyburn.zeros(2, device=d).exponential_(0.0), "rate"),
        (lambda d: pyburn.multinomial(pyburn.ones(3, device=d), 4), "without replacement"),
        (lambda d: pyburn.multinomial(pyburn.ones(3, dtype=pyburn.int64, device=d), 1), "floating"),
        (lambda d: pyburn.randperm(-1, device=d), "at least 0"),
    ],
)
@pytest.mark.parametrize("device", DEVICES)
def test_errors(device, draw, words):
    with pytest.raises(pyburn.PyburnError, match=words):
        draw(device)


@pytest.mark.parametrize("device", WITH_FLOAT64)
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


@pytest.mark.parametrize("device", DEVICES)
def test_further_distributions(device):
    n = 20_000
    x = pyburn.zeros(n, device=device)
    trials = download(x.clone().geometric_(0.25, generator=seeded()))
    assert trials.min() == 1 and (trials == np.round(trials)).all() and abs(trials.mean() - 4) < 0.1
    logs = np.log(download(x.clone().log_normal_(0.5, 0.25, generator=seeded())))
    assert abs(logs.mean() - 0.5) < 0.02 and abs(logs.std() - 0.25) < 0.02
    middle = np.quantile(download(x.clone().cauchy_(2.0, 0.5, generator=seeded())), [0.25, 0.5, 0.75])
    np.testing.assert_allclose(middle, [1.5, 2, 2.5], atol=0.06)
    assert set(download(x.clone().random_(3, generator=seeded())).tolist()) == {0, 1, 2}
    assert set(download(x.clone().random_(-1, 2, generator=seeded())).tolist()) == {-1, 0, 1}
    whole = download(pyburn.zeros(n, dtype=pyburn.int8, device=device).random_(generator=seeded()))
    assert whole.min() == 0 and whole.max() == 127


@pytest.mark.parametrize("device", DEVICES)
def test_counts(device):
    means = pyburn.tensor([0.0, 0.5, 3.0, 40.0]).to(device)
    drawn = download(pyburn.poisson(means.expand(4000, 4), seeded()))
    np.testing.assert_allclose(drawn.mean(0), [0, 0.5, 3, 40], atol=0.3)
    np.testing.assert_allclose(drawn.var(0), [0, 0.5, 3, 40], rtol=0.1)
    assert (drawn == np.round(drawn)).all()
    counts, chances = pyburn.tensor([0.0, 4.0, 10.0]).to(device), pyburn.tensor([0.5, 0.25, 1.0]).to(device)
    drawn = download(pyburn.binomial(counts.expand(4000, 3), chances, seeded()))
    np.testing.assert_allclose(drawn.mean(0), [0, 1, 10], atol=0.05)
    np.testing.assert_allclose(drawn.var(0), [0, 0.75, 0], atol=0.05)


@pytest.mark.parametrize("device", DEVICES)
def test_rrelu(device):
    x = pyburn.tensor([-2.0, -1.0, 0.0, 3.0]).to(device).requires_grad_()
    np.testing.assert_allclose(download(pyburn.rrelu(x, 0.1, 0.3).detach()), [-0.4, -0.2, 0, 3], rtol=1e-6)
    many = pyburn.full((5000,), -1.0, device=device, requires_grad=True)
    y = pyburn.rrelu(many, 0.1, 0.3, training=True, generator=seeded())
    slopes = -download(y.detach())
    assert slopes.min() >= 0.1 and slopes.max() < 0.3 and abs(slopes.mean() - 0.2) < 0.01
    y.sum().backward()
    np.testing.assert_allclose(download(many.grad), slopes, rtol=1e-6)
    plain = many.detach().clone()
    assert pyburn.nn.functional.rrelu(plain, inplace=True) is plain and abs(float(plain[0]) + (1 / 8 + 1 / 3) / 2) < 1e-6


@pytest.mark.parametrize("device", DEVICES)
def test_gumbel_softmax(device):
    pyburn.manual_seed(3)
    logits = pyburn.log(pyburn.tensor([[0.1, 0.6, 0.3]])).expand(6000, 3).to(device).requires_grad_()
    soft = pyburn.gumbel_softmax(logits, tau=0.5)
    np.testing.assert_allclose(download(soft.detach()).sum(1), 1, rtol=1e-5)
    hard = pyburn.gumbel_softmax(logits, hard=True)
    drawn = download(hard.detach())
    assert set(np.unique(np.round(drawn, 5))) == {0, 1}
    np.testing.assert_allclose(drawn.mean(0), [0.1, 0.6, 0.3], atol=0.03)
    hard[:, 0].sum().backward()
    assert (download(logits.grad)[:, 0] > 0).any()
    along = pyburn.gumbel_softmax(pyburn.zeros(4, 5, device=device), hard=True, dim=0)
    np.testing.assert_allclose(download(along).sum(0), 1, rtol=1e-6)


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda x: x.geometric_(1.5), "between 0 and 1"),
        (lambda x: x.cauchy_(0, -1), "sigma"),
        (lambda x: x.log_normal_(0, -1), "std"),
        (lambda x: x.random_(3, 3), "from must be less"),
        (lambda x: pyburn.rrelu(x, 0.5, 0.25), "lower"),
        (lambda x: pyburn.poisson(x - 1), "at least 0"),
        (lambda x: pyburn.binomial(x - 1, x), "at least 0"),
        (lambda x: pyburn.binomial(x, x + 2), "between 0 and 1"),
        (lambda x: pyburn.gumbel_softmax(x.long()), "floating"),
    ],
)
def test_errors_of_further_draws(draw, words):
    with pytest.raises(pyburn.PyburnError, match=words):
        draw(pyburn.zeros(3))
