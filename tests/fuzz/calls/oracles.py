"""Calls whose right answer Python's own integers and lists give: positions, lengths and bounds near the largest integers."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import accumulate
from typing import Any

import pyburn

LARGEST = 2**63 - 1
POSITIONS = [0, 1, 2, 3, 5, 8, -1, -2, -8, -9, 2**31, 2**62, LARGEST - 1, LARGEST, -(2**62), -LARGEST, -(2**63)]
BOUNDS = [0, 1, 10, -10, 2**31, 2**40, 2**53 + 1, 2**62, 2**62 + 5, LARGEST - 1, LARGEST, -(2**62), -(2**63)]
SIZES = [0, 1, 2, 5, 2**62, LARGEST - 1, LARGEST]
EIGHT, FIVE = list(range(8)), list(range(5))


class WrongAnswerError(Exception):
    """The call gave another answer than Python's."""


def expect(name: str, *arguments: Any) -> None:
    """Runs one of ORACLES on the library and on Python's lists, and compares what came out."""
    actual, expected = ORACLES[name]
    answer = expected(*arguments)
    try:
        result = actual(*arguments)
    except (ValueError, IndexError, RuntimeError, OverflowError) as error:
        if answer is not None:
            raise WrongAnswerError(f"{name}{arguments} is {answer}: got {type(error).__name__}: {error}") from error
        return
    if answer is None or not (answer(result) if callable(answer) else result == answer):
        raise WrongAnswerError(f"{name}{arguments}: expected {answer}, got {result}")


def _narrow(start: int, length: int) -> list[int] | None:
    first = start + 8 if start < 0 else start
    return EIGHT[first : first + length] if length >= 0 and first >= 0 and first + length <= 8 else None


def _triangle(diagonal: int, upper: bool) -> list[list[int]]:
    return [[4 * r + c if (c - r >= diagonal if upper else c - r <= diagonal) else 0 for c in range(4)] for r in range(3)]


def _split(*sizes: int) -> list[list[int]] | None:
    if min(sizes) < 0 or sum(sizes) != 5:
        return None
    return [FIVE[end - n : end] for n, end in zip(sizes, accumulate(sizes), strict=True)]


def _as_strided(size: int, stride: int, offset: int) -> list[int] | None:
    places = [offset + stride * i for i in range(size)] if 0 <= size <= 8 else None
    if places is None or stride < 0 or offset < 0 or any(p >= 8 for p in places):
        return None
    return [EIGHT[p] for p in places]


def _randint(low: int, high: int) -> Callable[[list[int]], bool] | None:
    if low >= high:
        return None
    wide = high - low > 2**40  # then the low bits differ, too
    return lambda drawn: all(low <= x < high for x in drawn) and not (wide and len({x % 1024 for x in drawn}) == 1)


def _eight() -> pyburn.Tensor:
    return pyburn.arange(8)


ORACLES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "slice": (lambda a, b, step: _eight()[a:b:step].tolist(), lambda a, b, step: EIGHT[a:b:step] if step > 0 else None),
    "narrow": (lambda start, length: _eight().narrow(0, start, length).tolist(), _narrow),
    "triu": (lambda d: pyburn.arange(12).reshape(3, 4).triu(d).tolist(), lambda d: _triangle(d, True)),
    "tril": (lambda d: pyburn.arange(12).reshape(3, 4).tril(d).tolist(), lambda d: _triangle(d, False)),
    "split": (lambda *sizes: [x.tolist() for x in pyburn.split(pyburn.arange(5), list(sizes))], _split),
    "roll": (lambda n: _eight().roll(n).tolist(), lambda n: [EIGHT[(i - n) % 8] for i in range(8)]),
    "select": (lambda i: _eight()[i].item(), lambda i: EIGHT[i] if -8 <= i < 8 else None),
    "as_strided": (lambda n, stride, offset: _eight().as_strided((n,), (stride,), offset).tolist(), _as_strided),
    "randint": (lambda low, high: pyburn.randint(low, high, (64,)).tolist(), _randint),
    "matrix_power": (lambda n: pyburn.eye(2).matrix_power(n).tolist(), lambda n: [[1.0, 0.0], [0.0, 1.0]]),
}  # fmt: skip
TAKES = {"slice": 3, "split": 3, "as_strided": 3, "narrow": 2, "randint": 2}  # arguments; the others take one


def text_of(rng: random.Random) -> str:
    name = rng.choice(list(ORACLES))
    values = {"randint": BOUNDS, "split": SIZES}.get(name, POSITIONS)
    arguments = [rng.choice(values) for _ in range(TAKES.get(name, 1))]
    if name == "split" and rng.random() < 0.5:  # sizes with the right sum, modulo 2**64
        arguments[-1] = (5 - sum(arguments[:-1]) + 2**63) % 2**64 - 2**63
    return f"expect({name!r}, {', '.join(map(str, arguments))})"
