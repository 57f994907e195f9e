"""Finds leaks: what a program leaves behind per iteration, exactly.

A program is a function of one argument: whether to use the feature under test. Each version runs N times to fill caches, and N times more.
After a garbage collection, the bytes of tensors on the CPU must be the same, and the blocks of Python's allocator and of malloc must not
grow with the number of iterations.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

import pyburn

Program = Callable[[bool], object]
N = 256  # elements: 1 KB of tensor, and each of them is seen


def leaf() -> pyburn.Tensor:
    return pyburn.ones(N, requires_grad=True)


def fails(*args: object) -> None:
    raise ArithmeticError("on purpose")


class Memory(NamedTuple):
    tensors: int  # bytes
    blocks: int  # of Python's allocator
    heap: int  # bytes of malloc; 0 where it cannot be asked


class _MallInfo(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_size_t)
        for name in ["arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"]
    ]


def _heap_in_use() -> int:
    try:
        mallinfo = ctypes.CDLL(None).mallinfo2
    except AttributeError:  # not glibc
        return 0
    mallinfo.restype = _MallInfo
    info = mallinfo()
    return info.uordblks + info.hblkhd


def in_use(pause: float = 0.0) -> Memory:
    for _ in range(3):  # what the first collection finalises may release more
        gc.collect()
        sys._clear_type_cache()  # classes that come and go fill it over a thousand iterations
    time.sleep(pause)  # a collection may end threads, whose join() returns before they have told the allocator what they freed
    return Memory(pyburn.device("cpu").memory()["in_use"], sys.getallocatedblocks(), _heap_in_use())


def growth(program: Program, feature: bool, count: int, pause: float = 0.0) -> tuple[Memory, int]:
    """What `2 * count` iterations leave behind, and their number, after as many that fill caches and pools."""
    for _ in range(2 * count):
        program(feature)
    before = in_use(pause)
    for _ in range(2 * count):
        program(feature)
    after = in_use(pause)
    return Memory(*(a - b for a, b in zip(after, before))), 2 * count


def check(program: Program, count: int = 20, more: int = 10) -> None:
    """Fails where the program, with the feature or without it, leaves something behind in each iteration.

    Python, malloc and the core's pools fill caches of their own, which end at some size, and a thread that has just ended may still hold a
    batch: a second run, `more` times as long, tells them from leaks. A tensor takes 64 bytes at least.
    """
    for feature in (False, True):
        for factor, blocks, heap in ((1, 0, 0), (more, 64, 1 << 16)):
            left, iterations = growth(program, feature, factor * count)
            for pause in (0.1, 0.3):  # a leak comes again
                if left.tensors > 0:
                    left, iterations = growth(program, feature, factor * count, pause)
            what = f"{program.__name__}({feature}) leaves behind per iteration: " + ", ".join(
                f"{value / iterations:.1f} {name}" for name, value in left._asdict().items()
            )
            if left.tensors < 16 * iterations and left.blocks < iterations / 2 + blocks and left.heap < 64 * iterations + heap:
                break
        else:
            pytest.fail(what)


def table(programs: list[Program]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("program", programs, ids=lambda program: program.__name__)


@pytest.fixture(autouse=True, scope="module")
def only_what_is_new() -> Iterator[None]:
    """Keeps the objects of other tests out of the collections: there are millions in a run of the whole suite."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
