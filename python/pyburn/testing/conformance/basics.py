"""Checks of a device beyond single operations: storage, views, random numbers, training, synchronization."""

from __future__ import annotations

from typing import Any

import numpy as np

import pyburn
from pyburn import _core, nn, optim

from .calls import assert_close, download, dtypes_of, upload


def check_round_trip(device: Any) -> None:
    """Checks that elements of every dtype survive a round trip, through any layout."""
    for name in sorted(dtypes_of(device)):
        array = np.arange(24).reshape(2, 3, 4) % 2 if name == "bool" else np.arange(24).reshape(2, 3, 4)
        array = array.astype("float32" if name == "bfloat16" else name)
        t = upload(array, name, device)
        assert_close(download(t), array, name)
        assert_close(download(t.permute(2, 0, 1)[1:, :, ::2]), array.transpose(2, 0, 1)[1:, :, ::2], name)
        assert_close(download(upload(array[:0], name, device)), array[:0], name)


def check_views(device: Any) -> None:
    """Checks that views share memory: writes through one are visible in the others."""
    x = upload(np.zeros((3, 4), np.float32), "float32", device)
    expected = np.zeros((3, 4), np.float32)
    column = x[:, 1]
    column += 1
    expected[:, 1] += 1
    x.T[2:, 0] = 5
    expected.T[2:, 0] = 5
    x[1:] *= x[:2]  # overlaps
    expected[1:] = expected[1:] * expected[:2]
    x[0].copy_(x[2] + 3)
    expected[0] = expected[2] + 3
    assert_close(download(x), expected, "float32")
    assert_close(download(column), expected[:, 1], "float32")
    assert x._version == column._version > 0


def check_random(device: Any) -> None:
    """Checks that a seed gives the same numbers on every device."""

    def draws(on: Any) -> list[np.ndarray]:
        g = pyburn.Generator().manual_seed(11)
        made = [
            pyburn.rand(3, 7, device=on, generator=g),
            pyburn.randn(5, device=on, generator=g),
            pyburn.randint(-3, 9, (4,), device=on, generator=g),
            pyburn.randperm(9, device=on, generator=g),
        ]
        return [download(t) for t in made]

    for actual, expected in zip(draws(device), draws("cpu"), strict=True):
        assert_close(actual, expected, actual.dtype.name)


def check_training(device: Any) -> None:
    """Checks that a small network learns the same weights as on the CPU."""

    def weights(on: Any) -> list[np.ndarray]:
        pyburn.manual_seed(5)
        model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.LayerNorm(8), nn.Linear(8, 3)).to(on)
        optimizer = optim.Adam(model.parameters(), lr=0.01)
        x, y = pyburn.randn(10, 6).to(on), pyburn.arange(10).remainder(3).to(on)
        for _ in range(5):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
        return [download(p.detach()) for p in model.parameters()]

    for actual, expected in zip(weights(device), weights("cpu"), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=2e-3, atol=2e-3)


def check_synchronize(device: Any) -> None:
    """Checks synchronize() and memory()."""
    place = _core.Device(device)
    x = upload(np.zeros(1000, np.float32), "float32", device)
    place.synchronize()
    figures = place.memory()
    assert set(figures) == {"in_use", "reserved", "peak"} and all(n >= 0 for n in figures.values()), figures
    del x


BASICS = {
    "round_trip": check_round_trip,
    "views": check_views,
    "random": check_random,
    "training": check_training,
    "synchronize": check_synchronize,
}
