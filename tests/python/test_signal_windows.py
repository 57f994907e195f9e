"""Windows, as PyTorch gives them: a symmetric one of five elements is a period of four and its first element again."""

from __future__ import annotations

import numpy as np
import pytest

import pyburn
from pyburn.signal import windows

VALUES = [
    ("bartlett", {}, [0, 0.5, 1]),
    ("blackman", {}, [0, 0.34, 1]),
    ("cosine", {}, [0.309017, 0.809017, 1]),
    ("exponential", {"tau": 2.0}, [0.367879, 0.606531, 1]),
    ("gaussian", {"std": 1.5}, [0.411112, 0.800737, 1]),
    ("general_cosine", {"a": [0.4, 0.5, 0.1]}, [0, 0.3, 1]),
    ("general_hamming", {"alpha": 0.5}, [0, 0.5, 1]),
    ("hamming", {}, [0.08, 0.54, 1]),
    ("hann", {}, [0, 0.5, 1]),
    ("kaiser", {"beta": 6.0}, [0.014873, 0.482955, 1]),
    ("nuttall", {}, [0.000363, 0.226982, 1]),
]


@pytest.mark.parametrize(("name", "options", "half"), VALUES)
def test_values(name, options, half):
    window = getattr(windows, name)
    whole = [*half, *half[-2::-1]]
    np.testing.assert_allclose(window(5, **options).numpy(), whole, atol=1e-6)
    np.testing.assert_allclose(window(4, sym=False, **options).numpy(), whole[:4], atol=1e-6)
    assert window(0, **options).shape == (0,) and window(1, **options).tolist() == [1]
    made = window(3, dtype=pyburn.float64, requires_grad=True, **options)
    assert made.dtype is pyburn.float64 and made.requires_grad
    with pytest.raises(ValueError, match="at least 0"):
        window(-1, **options)
    with pytest.raises(ValueError, match="floating"):
        window(3, dtype=pyburn.int64, **options)


def test_every_window_is_tested():
    assert sorted(name for name, _, _ in VALUES) == sorted(windows.__all__)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("exponential", {"tau": 0}, "tau"),
        ("exponential", {"center": 2.0}, "middle"),
        ("gaussian", {"std": 0}, "std"),
        ("kaiser", {"beta": -1}, "beta"),
        ("general_cosine", {"a": []}, "coefficients"),
    ],
)
def test_errors(name, options, words):
    with pytest.raises(ValueError, match=words):
        getattr(windows, name)(5, **options)
