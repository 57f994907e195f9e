"""Random numbers of transforms.

A loader gives every sample its own random stream, derived from the seed of the epoch and the index of the sample in it. Everything that
draws from pyburn's default generator while the sample is loaded uses that stream, so the results do not depend on the number or kind of
workers. Outside of a loader, the default generator is that of the process, which `pyburn.manual_seed` seeds.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from .. import _core

if TYPE_CHECKING:
    import numpy as np

    from .._types import Generator

_BLOCK = 32  # each sample has 2**32 blocks of random numbers; the second half is for collating its batch


def draw_seed(generator: Generator | None = None) -> int:
    """Draws a 63-bit seed from a generator."""
    return int(_core.randint(0, 2**63 - 1, (), generator=generator, dtype=_core.int64))


def python_random() -> random.Random:
    """Returns a `random.Random` seeded from pyburn's default generator; in a loader, from the stream of the sample.

    >>> _ = pyburn.manual_seed(0)
    >>> a = python_random().random()
    >>> _ = pyburn.manual_seed(0)
    >>> a == python_random().random()
    True
    """
    return random.Random(draw_seed())


def numpy_random() -> np.random.Generator:
    """Returns a NumPy generator seeded from pyburn's default generator; in a loader, from the stream of the sample.

    >>> numpy_random().permutation(3).shape
    (3,)
    """
    import numpy as np

    return np.random.default_rng(draw_seed())


class SampleStream:
    """Context manager that makes the default generator of this thread the random stream selected last by `sample` or `batch`."""

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
        """Selects the stream of the sample at an index of the epoch."""
        self._generator.set_state((self._seed, (place & 0xFFFFFFFF) << _BLOCK))

    def batch(self, place: int) -> None:
        """Selects the stream for collating the batch whose first sample is at an index of the epoch."""
        self._generator.set_state((self._seed, (place & 0xFFFFFFFF) << _BLOCK | 1 << (_BLOCK - 1)))
