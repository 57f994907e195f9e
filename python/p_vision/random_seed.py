"""Seeds all random generators of a program."""

from __future__ import annotations

import random

import pyburn


def set_random_seed(seed: int) -> None:
    """Seeds the random generators of Python, NumPy and pyburn.

    Args:
        seed: The seed.

    >>> p_vision.set_random_seed(7)
    >>> first = pyburn.rand(2)
    >>> p_vision.set_random_seed(7)
    >>> bool((pyburn.rand(2) == first).all())
    True
    """
    import numpy

    random.seed(seed)
    numpy.random.seed(seed % 2**32)
    pyburn.manual_seed(seed)
