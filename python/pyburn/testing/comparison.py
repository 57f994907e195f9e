"""Comparisons and random tensors for tests, as in torch.testing."""

from __future__ import annotations

import cmath
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .. import _core
from ..tensor import finfo, from_numpy, iinfo, tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]

# rtol and atol of PyTorch by dtype; other dtypes are compared exactly.
_TOLERANCES = {"float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7)}


class _Mismatch(Exception):
    """Two values differ; holds the error to raise, without the caller's message."""

    def __init__(self, text: str, place: tuple[Any, ...] = (), kind: type[Exception] = AssertionError) -> None:
        if place:
            text += "\n\nThe failure occurred for item " + "".join(str([part]) for part in place)
        super().__init__(text)
        self.kind = kind


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raises AssertionError unless the values are close.

    Args:
        actual: A tensor, a number, a numpy array, or a nested sequence or mapping of them.
        expected: The expected value.
        allow_subclasses: Whether the values may have different classes if one is a subclass of the other.
        rtol: The relative tolerance; by default it depends on the dtype.
        atol: The absolute tolerance; by default it depends on the dtype.
        equal_nan: Whether NaN equals NaN.
        check_device: Whether the devices must be the same.
        check_dtype: Whether the dtypes must be the same.
        check_layout: Accepted for compatibility: all tensors are strided.
        check_stride: Whether the strides must be the same.
        msg: The error message, or a function of the default message.

    Raises:
        AssertionError: The values differ.
        ValueError: Only one of rtol and atol is given.

    >>> pyburn.testing.assert_close(pyburn.tensor([0.1]) + 0.2, pyburn.tensor([0.3]))
    >>> pyburn.testing.assert_close(pyburn.tensor([1.0]), pyburn.tensor([1.5]))
    Traceback (most recent call last):
        ...
    AssertionError: Tensor-likes are not close!
    ...
    """
    if (rtol is None) != (atol is None):
        missing = "rtol" if rtol is None else "atol"
        raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.")
    try:
        for one, other, place in _pairs(actual, expected, (), allow_subclasses):
            _compare(one, other, place, rtol, atol, equal_nan, check_device, check_dtype, check_stride)
    except _Mismatch as mismatch:
        text = str(mismatch)
        if msg is not None and mismatch.kind is AssertionError:
            text = msg(text) if callable(msg) else msg
        raise mismatch.kind(text) from None


def assert_allclose(
    actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None, equal_nan: bool = True, msg: str = ""
) -> None:
    """Deprecated form of `assert_close`, which does not compare dtypes and devices.

    Args:
        actual: A tensor, or values that `pyburn.tensor` accepts.
        expected: The expected value.
        rtol: The relative tolerance; by default it depends on the dtype.
        atol: The absolute tolerance; by default it depends on the dtype.
        equal_nan: Whether NaN equals NaN.
        msg: The error message.

    Raises:
        AssertionError: The values differ.

    >>> warnings.simplefilter("ignore", FutureWarning)
    >>> pyburn.testing.assert_allclose(pyburn.ones(2), [1, 1])
    """
    warnings.warn("assert_allclose() is deprecated: use assert_close()", FutureWarning, stacklevel=2)
    one, other = (value if isinstance(value, _core.Tensor) else tensor(value) for value in (actual, expected))
    assert_close(one, other, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=False, check_dtype=False, msg=msg or None)


def _pairs(actual: Any, expected: Any, place: tuple[Any, ...], subclasses: bool) -> Iterator[tuple[Any, Any, tuple[Any, ...]]]:
    """Yields the corresponding leaves of two nested values."""
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if set(actual) != set(expected):
            raise _Mismatch(
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {_sorted(set(expected) - set(actual))}\n"
                f"Additional keys in the actual mapping: {_sorted(set(actual) - set(expected))}",
                place,
            )
        for key in _sorted(expected):
            yield from _pairs(actual[key], expected[key], (*place, key), subclasses)
    elif all(isinstance(value, Sequence) and not isinstance(value, (str, bytes)) for value in (actual, expected)):
        if len(actual) != len(expected):
            raise _Mismatch(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", place)
        for i, (one, other) in enumerate(zip(actual, expected, strict=True)):
            yield from _pairs(one, other, (*place, i), subclasses)
    else:
        related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
        if not (related if subclasses else type(actual) is type(expected)) and not (_is_number(actual) and _is_number(expected)):
            text = f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}."
            raise _Mismatch(text, place, TypeError)
        yield actual, expected, place


def _sorted(keys: Any) -> list[Any]:
    try:
        return sorted(keys)
    except TypeError:
        return list(keys)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, complex)) and not isinstance(value, bool)


def _compare(
    actual: Any,
    expected: Any,
    place: tuple[Any, ...],
    rtol: float | None,
    atol: float | None,
    equal_nan: bool,
    check_device: bool,
    check_dtype: bool,
    check_stride: bool,
) -> None:
    if isinstance(actual, bool) or actual is None:
        if actual is not expected:
            raise _Mismatch(f"{'None' if actual is None else 'Booleans'} mismatch: {actual} is not {expected}", place)
    elif _is_number(actual):
        _compare_numbers(actual, expected, place, rtol, atol, equal_nan, check_dtype)
    elif isinstance(actual, _core.Tensor) or hasattr(actual, "__array__"):
        one, other = (value if isinstance(value, _core.Tensor) else from_numpy(value) for value in (actual, expected))
        _compare_attributes(one, other, place, check_device, check_dtype, check_stride)
        if one.device.type != "meta" and other.device.type != "meta":  # meta tensors have no values
            _compare_tensors(one, other, place, rtol, atol, equal_nan)
    elif isinstance(actual, str):
        if actual != expected:
            raise _Mismatch(f"{actual} != {expected}", place)
    else:
        raise _Mismatch(f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.", place, TypeError)


def _compare_numbers(
    actual: Any, expected: Any, place: tuple[Any, ...], rtol: float | None, atol: float | None, equal_nan: bool, check_dtype: bool
) -> None:
    if check_dtype and type(actual) is not type(expected):
        raise _Mismatch(f"The (d)types do not match: {type(actual)} != {type(expected)}.", place)
    usual = (0.0, 0.0) if isinstance(actual, int) and isinstance(expected, int) else _TOLERANCES["float64"]
    relative, absolute = usual[0] if rtol is None else rtol, usual[1] if atol is None else atol
    if actual == expected or (equal_nan and cmath.isnan(actual) and cmath.isnan(expected)):
        return
    gap = abs(actual - expected)
    if cmath.isfinite(gap) and gap <= absolute + relative * abs(expected):
        return
    exact = relative == absolute == 0
    fraction = gap / abs(expected) if expected else math.inf
    lines = [f"Scalars are not {'equal' if exact else 'close'}!\n", f"Expected {expected} but got {actual}."]
    lines += [f"{name} difference: {size}{_allowed(limit, exact)}" for name, size, limit in _gaps(gap, fraction, absolute, relative)]
    raise _Mismatch("\n".join(lines), place)


def _gaps(gap: Any, fraction: Any, atol: float, rtol: float) -> list[tuple[str, Any, float]]:
    return [("Absolute", gap, atol), ("Relative", fraction, rtol)]


def _allowed(limit: float, exact: bool) -> str:
    return "" if exact else f" (up to {limit} allowed)"


def _compare_attributes(actual: Any, expected: Any, place: tuple[Any, ...], device: bool, dtype: bool, stride: bool) -> None:
    names = {"shape": True, "stride()": stride, "device": device, "dtype": dtype}
    for name, wanted in names.items():
        one, other = (tensor.stride() if name == "stride()" else getattr(tensor, name) for tensor in (actual, expected))
        if wanted and one != other:
            raise _Mismatch(f"The values for attribute '{name}' do not match: {one} != {other}.", place)


def _compare_tensors(actual: Any, expected: Any, place: tuple[Any, ...], rtol: float | None, atol: float | None, equal_nan: bool) -> None:
    usual = [max(_TOLERANCES.get(tensor.dtype.name, (0.0, 0.0))[i] for tensor in (actual, expected)) for i in range(2)]
    relative, absolute = usual[0] if rtol is None else rtol, usual[1] if atol is None else atol
    common = _core.promote_types(actual.dtype, expected.dtype)
    one, other = actual.detach().to(device=expected.device, dtype=common), expected.detach().to(common)
    near = _core.isclose(one, other, relative, absolute, equal_nan)
    if bool(near.all()):
        return
    if not common.is_floating_point:
        one, other = one.to(_core.int64), other.to(_core.int64)
    exact = relative == absolute == 0
    gaps = _core.where(near, 0, (one - other).abs())
    fractions = _core.where(near, 0, gaps / other.abs())
    if not near.ndim:
        lines = ["Scalars are not {}!\n", f"Expected {expected.item()} but got {actual.item()}."]
        found = [(name, size.item(), limit, "") for name, size, limit in _gaps(gaps, fractions, absolute, relative)]
    else:
        wrong, count = int((~near).sum()), near.numel()
        lines = ["Tensor-likes are not {}!\n", f"Mismatched elements: {wrong} / {count} ({wrong / count:.1%})"]
        found = []
        for name, sizes, limit in _gaps(gaps, fractions, absolute, relative):
            at = int(sizes.argmax())
            index = tuple(int(i) for i in _core.unravel_index(tensor(at), tuple(sizes.shape)))
            found.append((f"Greatest {name.lower()}", sizes.flatten()[at].item(), limit, f" at index {index}"))
    lines[0] = lines[0].format("equal" if exact else "close")
    lines += [f"{name} difference: {size}{where}{_allowed(limit, exact)}" for name, size, limit, where in found]
    raise _Mismatch("\n".join(lines), place)


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any = None,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Any:
    """Creates a tensor of random numbers from [low, high).

    Args:
        shape: The shape.
        dtype: The dtype.
        device: The device.
        low: The lower limit; by default -9, or 0 for unsigned dtypes.
        high: The upper limit, excluded; by default 10 for integers, else 9.
        requires_grad: Whether autograd records operations on the tensor.
        noncontiguous: Whether the tensor is not contiguous.
        exclude_zero: Whether to replace zeros.
        memory_format: The memory format.

    Returns:
        The tensor.

    Raises:
        ValueError: The options are inconsistent.

    >>> x = pyburn.testing.make_tensor(2, 3, dtype=pyburn.float32, low=0, high=1)
    >>> x.shape, bool((x < 1).all())
    (pyburn.Size([2, 3]), True)
    """
    extents = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], Sequence) else tuple(shape)
    if noncontiguous and memory_format is not None:
        raise ValueError("The parameters `noncontiguous` and `memory_format` are mutually exclusive")
    if requires_grad and not dtype.is_floating_point:
        raise ValueError(f"`requires_grad=True` is not supported for boolean and integral dtypes, but got {dtype}")
    first, last = _range(dtype, low, high)
    apart = noncontiguous and math.prod(extents) > 1
    if apart:  # every second element of a larger tensor
        extents = (*extents[:-1], 2 * extents[-1])
    if not dtype.is_floating_point:
        result = _core.randint(int(first), int(last), extents, dtype=dtype, device=device)
    else:  # the width of the range may overflow
        scale = 2 if last - first >= finfo(dtype).max else 1
        result = _core.empty(extents, dtype=dtype, device=device).uniform_(first / scale, last / scale).mul_(scale)
    if apart:
        result = result[..., 1::2]
    if exclude_zero:
        result[result == 0] = finfo(dtype).tiny if dtype.is_floating_point else 1
    return result.requires_grad_() if requires_grad else result


def _range(dtype: Any, low: float | None, high: float | None) -> tuple[float, float]:
    """Returns the lower and the excluded upper limit, clipped to the range of the dtype."""
    floating = dtype.is_floating_point
    least: float
    beyond: float
    if dtype == _core.bool:
        least, beyond, usual = 0, 2, (0, 2)
    elif floating:
        least, beyond, usual = finfo(dtype).min, finfo(dtype).max, (-9, 9)
    else:  # numbers are drawn as int64, so the limit cannot exceed its maximum
        least, beyond, usual = iinfo(dtype).min, min(iinfo(dtype).max + 1, 2**63 - 1), (-9, 10)
    first, last = usual[0] if low is None else low, usual[1] if high is None else high
    if math.isnan(first) or math.isnan(last):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={first} and high={last}")
    if first > last or (first == last and not floating):
        raise ValueError(f"`low` must be less than `high`, but got {first} >= {last}")
    if last < least or first >= beyond:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{first}, {last}), but {dtype} only supports [{least}, {beyond})"
        )
    first, last = (min(max(value, least), beyond) for value in (first, last))
    return (first, last) if floating else (math.ceil(first), math.ceil(last))
