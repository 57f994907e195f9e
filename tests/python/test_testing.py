"""pyburn.testing: comparisons and random tensors for tests."""

import numpy as np
import pytest

import pyburn
from pyburn.testing import assert_close, make_tensor


def test_close_values_pass():
    assert_close({"a": [pyburn.ones(2)], "b": 1.0}, {"a": [pyburn.ones(2) + 1e-7], "b": 1.0 + 1e-9})
    assert_close(np.ones(2), np.ones(2))
    assert_close(pyburn.tensor([float("nan")]), pyburn.tensor([float("nan")]), equal_nan=True)
    assert_close(pyburn.ones(2), pyburn.ones(2, dtype=pyburn.float64), check_dtype=False)
    assert_close(pyburn.ones(2), pyburn.zeros(2), rtol=0, atol=1)


@pytest.mark.parametrize(
    ("actual", "expected", "text"),
    [
        (
            pyburn.ones(2),
            pyburn.tensor([1.0, 2.0]),
            r"Mismatched elements: 1 / 2 \(50.0%\)\nGreatest absolute difference: 1.0 at index \(1,\)",
        ),
        (pyburn.tensor([1, 2]), pyburn.tensor([1, 3]), "not equal"),
        (pyburn.ones(2), pyburn.ones(3), "'shape' do not match"),
        (pyburn.ones(2), pyburn.ones(2).double(), "'dtype' do not match"),
        (pyburn.tensor(1.0), pyburn.tensor(2.0), "Expected 2.0 but got 1.0"),
        (1, 2, "Expected 2 but got 1"),
        (True, False, "Booleans mismatch"),
        ([1, pyburn.ones(1)], [1, pyburn.zeros(1)], r"item \[1\]"),
        ([1], [1, 2], "length of the sequences mismatch: 1 != 2"),
        ({"a": 1}, {"b": 1}, "keys of the mappings do not match"),
    ],
)
def test_differences_are_explained(actual, expected, text):
    with pytest.raises(AssertionError, match=text):
        assert_close(actual, expected)


def test_wrong_calls():
    with pytest.raises(ValueError, match="no atol"):
        assert_close(1.0, 1.0, rtol=0.1)
    with pytest.raises(TypeError, match="No comparison pair"):
        assert_close(pyburn.ones(1), 1.0)
    with pytest.raises(AssertionError, match="mine: "):
        assert_close(1.0, 2.0, msg=lambda text: f"mine: {text}")
    with pytest.raises(AssertionError, match="stride"):
        assert_close(pyburn.ones(2, 2), pyburn.ones(2, 2).T, check_stride=True)


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16", "int64", "int8", "uint8", "bool"])
def test_random_tensors(name):
    dtype = getattr(pyburn, name)
    drawn = make_tensor(50, 4, dtype=dtype, device="cpu")
    low, high = (0, 2) if name == "bool" else (-9, 9)
    assert drawn.shape == (50, 4) and drawn.dtype is dtype and low <= drawn.min().item() and drawn.max().item() <= high
    assert not make_tensor((3, 4), dtype=dtype, device="cpu", noncontiguous=True).is_contiguous()
    assert bool((make_tensor((100,), dtype=dtype, device="cpu", low=0, high=2, exclude_zero=True) != 0).all())


def test_ranges_of_random_tensors():
    drawn = make_tensor((100,), dtype=pyburn.float32, device="cpu", low=2, high=3, requires_grad=True)
    assert drawn.requires_grad and drawn.min() >= 2 and drawn.max() <= 3
    assert bool(make_tensor((100,), dtype=pyburn.float64, device="cpu", low=-1e400, high=1e400).isfinite().all())
    for options, text in (
        ({"low": 3, "high": 2}, "less than"),
        ({"low": float("nan")}, "NaN"),
        ({"low": 300, "high": 400}, "only supports"),
    ):
        with pytest.raises(ValueError, match=text):
            make_tensor(2, dtype=pyburn.uint8, device="cpu", **options)
    with pytest.raises(ValueError, match="requires_grad"):
        make_tensor(2, dtype=pyburn.int64, device="cpu", requires_grad=True)
