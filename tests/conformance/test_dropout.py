"""Dropout: the mask comes from a seed, the same on every device, and again in the gradient."""

from __future__ import annotations

import numpy as np
import pytest
from harness import DEVICES

import pyburn
from pyburn.testing.conformance.calls import download

FLOATS = [pyburn.float64, pyburn.float32, pyburn.float16, pyburn.bfloat16]
WHOLE = [pyburn.dropout, pyburn.alpha_dropout]
CHANNELS = {pyburn.dropout1d: 1, pyburn.dropout2d: 2, pyburn.dropout3d: 3, pyburn.feature_alpha_dropout: 2}

on_every_device = pytest.mark.parametrize("device", DEVICES)


@on_every_device
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_seeded_dropout(device, dtype):
    x = pyburn.arange(1, 61, dtype=dtype, device=device).reshape(6, 10).T
    y = download(pyburn.seeded_dropout(x, 0.4, 2.0, 1.0, -3.0, 11, 5))
    kept = y != -3
    assert 15 < kept.sum() < 57
    np.testing.assert_array_equal(y[kept], (2 * download(x) + 1)[kept])
    here = download(pyburn.seeded_dropout(pyburn.ones(10, 6), 0.4, 1.0, 0.0, 0.0, 11, 5))
    np.testing.assert_array_equal(here == 1, kept)


@on_every_device
@pytest.mark.parametrize("dropout", WHOLE, ids=lambda f: f.__name__)
def test_gradient_uses_the_mask(device, dropout):
    pyburn.manual_seed(3)
    x = pyburn.ones(400, device=device, requires_grad=True)
    y = dropout(x, 0.25, True)
    values = download(y.detach())
    dropped = values == values.min()
    assert abs(dropped.mean() - 0.25) < 0.08
    (g,) = pyburn.autograd.grad(y.sum(), [x], create_graph=True)
    slopes = download(g.detach())
    assert (slopes[dropped] == 0).all() and len(set(slopes[~dropped].tolist())) == 1
    if dropout is pyburn.dropout:
        np.testing.assert_allclose(values, slopes)
        np.testing.assert_allclose(slopes[~dropped], 4 / 3, rtol=1e-6)


def test_alpha_dropout_keeps_mean_and_variance():
    pyburn.manual_seed(3)
    y = download(pyburn.alpha_dropout(pyburn.randn(100_000), 0.3, True))
    assert abs(y.mean()) < 0.02 and abs(y.std() - 1) < 0.02


@on_every_device
@pytest.mark.parametrize(("dropout", "spatial"), CHANNELS.items(), ids=lambda f: getattr(f, "__name__", ""))
def test_channels_are_dropped_whole(device, dropout, spatial):
    pyburn.manual_seed(3)
    x = pyburn.ones(8, 9, *[3] * spatial, device=device)
    y = download(dropout(x, 0.5, True)).reshape(72, -1)
    assert (y == y[:, :1]).all()
    assert len(set(y[:, 0].tolist())) == 2
    assert 16 < (y[:, 0] == y.max()).sum() < 56


@on_every_device
@pytest.mark.parametrize("dropout", [*WHOLE, *CHANNELS], ids=lambda f: f.__name__)
def test_without_effect(device, dropout):
    x = pyburn.ones(2, 3, *[2] * CHANNELS.get(dropout, 1), device=device)
    assert dropout(x, 0.5, False) is x
    np.testing.assert_array_equal(download(dropout(x, 0.0, True)), download(x))
    pyburn.manual_seed(1)
    first = download(dropout(x, 0.5, True))
    pyburn.manual_seed(1)
    assert dropout(x, 0.5, True, True) is x
    np.testing.assert_array_equal(download(x), first)


@on_every_device
def test_all_and_nothing(device):
    assert download(pyburn.dropout(pyburn.ones(5, device=device), 1.0)).tolist() == [0] * 5
    assert pyburn.dropout(pyburn.ones(0, 3, device=device)).shape == (0, 3)
    assert pyburn.dropout(pyburn.ones((), device=device)).shape == ()


@on_every_device
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda d: pyburn.dropout(pyburn.ones(2, device=d), 1.5), "probability"),
        (lambda d: pyburn.dropout(pyburn.ones(2, dtype=pyburn.int64, device=d)), "floating"),
        (lambda d: pyburn.dropout2d(pyburn.ones(2, device=d)), "Expected 3D or 4D input"),
        (lambda d: pyburn.feature_alpha_dropout(pyburn.ones(2, device=d), 0.5, True), "at least 2"),
    ],
)
def test_errors(device, call, words):
    with pytest.raises(pyburn.PyburnError, match=words):
        call(device)
