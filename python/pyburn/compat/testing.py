"""torch.testing: comparisons for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyburn

from .. import _core

__all__ = ["assert_allclose", "assert_close"]

# rtol and atol of PyTorch, by dtype; other dtypes must be equal.
_TOLERANCES = {"float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7)}


def assert_close(
    actual: Any,
    expected: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_stride: bool = False,
    msg: Any = None,
    **options: Any,
) -> None:
    """Raises an AssertionError unless the values are close: tensors, numbers, and sequences and mappings of them."""
    if isinstance(expected, Mapping):
        _check(set(actual) == set(expected), f"The keys differ: {sorted(actual)} and {sorted(expected)}", msg)
        pairs: Any = [(actual[key], expected[key]) for key in expected]
    elif isinstance(expected, Sequence) and not isinstance(expected, str):
        _check(len(actual) == len(expected), f"The lengths differ: {len(actual)} and {len(expected)}", msg)
        pairs = list(zip(actual, expected, strict=True))
    else:
        _compare(pyburn.as_tensor(actual), pyburn.as_tensor(expected), rtol, atol, equal_nan, check_dtype, msg)
        return
    for one, other in pairs:
        assert_close(one, other, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=check_dtype, msg=msg)


assert_allclose = assert_close


def _compare(actual: Any, expected: Any, rtol: Any, atol: Any, equal_nan: bool, check_dtype: bool, msg: Any) -> None:
    _check(actual.shape == expected.shape, f"The shapes differ: {tuple(actual.shape)} and {tuple(expected.shape)}", msg)
    _check(not check_dtype or actual.dtype == expected.dtype, f"The dtypes differ: {actual.dtype} and {expected.dtype}", msg)
    common = _core.promote_types(actual.dtype, expected.dtype)
    actual, expected = actual.detach().to(common), expected.detach().to(common)
    names = [str(x.dtype).rpartition(".")[2] for x in (actual, expected)]
    usual = [max(_TOLERANCES.get(name, (0.0, 0.0))[i] for name in names) for i in range(2)]
    near = _core.isclose(actual, expected, usual[0] if rtol is None else rtol, usual[1] if atol is None else atol, equal_nan)
    if not bool(near.all()):
        gap = (actual.double() - expected.double()).abs().max().item()
        wrong = int((~near).sum())
        _check(False, f"Tensor-likes are not close: {wrong} of {actual.numel()} elements differ, by at most {gap}", msg)


def _check(condition: bool, text: str, msg: Any) -> None:
    if not condition:
        raise AssertionError(text if msg is None else msg(text) if callable(msg) else msg)
