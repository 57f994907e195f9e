"""Where random transforms draw from.

A loader gives every sample a stream of random numbers of its own, found by the seed of the epoch and the sample's place in it. Whatever
draws from pyburn's default generator while the sample is loaded draws from that stream: neither the workers nor their number or kind
matter. Outside a loader the default generator is the process's, which `pyburn.manual_seed` starts over.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from .. import _core

if TYPE_CHECKING:
    import numpy as np

    from .._types import Generator

_BLOCK = 32  # each sample may draw 2**32 blocks of numbers, the second half of them when its batch is put together


def draw_seed(generator: Generator | None = None) -> int:
    """A number of 63 bits from a generator, to seed another one with."""
    return int(_core.randint(0, 2**63 - 1, (), generator=generator, dtype=_core.int64))


def python_random() -> random.Random:
    """A source of Python's random numbers, seeded by pyburn's default generator: in a loader, by that of the sample.

    >>> _ = pyburn.manual_seed(0)
    >>> a = python_random().random()
    >>> _ = pyburn.manual_seed(0)
    >>> a == python_random().random()
    True
    """
    return random.Random(draw_seed())


def numpy_random() -> np.random.Generator:
    """A source of numpy's random numbers, seeded by pyburn's default generator: in a loader, by that of the sample.

    >>> numpy_random().permutation(3).shape
    (3,)
    """
    import numpy as np

    return np.random.default_rng(draw_seed())


class SampleStream:
    """While it is entered, this thread's default generator is the stream of the sample that `sample` or `batch` named last."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._generator = _core.Generator()
        self._former: Any = None

    def __enter__(self) -> SampleStream:
        self._former = _core._use_generator(self._generator)
        return self

    def __exit__(self, *error: object) -> None:
        _core._use_generator(self._former)

    def sample(self, place: int) -> None:
        """The stream of the sample at a place of the epoch."""
        self._generator.set_state((self._seed, (place & 0xFFFFFFFF) << _BLOCK))

    def batch(self, place: int) -> None:
        """The stream for putting together the batch whose first sample is at a place of the epoch."""
        self._generator.set_state((self._seed, (place & 0xFFFFFFFF) << _BLOCK | 1 << (_BLOCK - 1)))
