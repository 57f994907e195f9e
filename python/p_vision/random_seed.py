"""One seed for all random numbers of a program."""

from __future__ import annotations

import random

import pyburn


def set_random_seed(seed: int) -> None:
    """Seeds Python's, numpy's and pyburn's random numbers."""
    import numpy

    random.seed(seed)
    numpy.random.seed(seed % 2**32)
    pyburn.manual_seed(seed)
