"""Seeds all random generators of a program."""

from __future__ import annotations

import random

import pyburn


def set_random_seed(seed: int) -> None:
    """Seeds the random generators of Python, NumPy and pyburn."""
    import numpy

    random.seed(seed)
    numpy.random.seed(seed % 2**32)
    pyburn.manual_seed(seed)
