"""Saves and restores the state of the random number generators that training usually uses."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from .._random import get_rng_state, set_rng_state
from ..tensor import from_numpy


def random_state() -> dict[str, Any]:
    """Returns the state of pyburn's default generator, Python's `random` and NumPy's global generator, in a form that `pyburn.save` can
    write.

    >>> state = pyburn.train.random_state()
    >>> a = pyburn.rand(2)
    >>> pyburn.train.set_random_state(state)
    >>> pyburn.equal(pyburn.rand(2), a)
    True
    """
    version, words, gauss = random.getstate()
    kind, keys, place, has_gauss, cached = np.random.get_state(legacy=True)
    return {
        "pyburn": list(get_rng_state()),
        "python": {"version": version, "words": from_numpy(np.array(words, np.int64)), "gauss": gauss},
        "numpy": {
            "kind": str(kind),
            "keys": from_numpy(np.asarray(keys).astype(np.int64)),
            "place": int(place),
            "has_gauss": int(has_gauss),
            "cached": float(cached),
        },
    }


def set_random_state(state: dict[str, Any]) -> None:
    """Restores a state from `random_state`.

    Args:
        state: A state from `random_state`.

    >>> state = pyburn.train.random_state()
    >>> first = pyburn.rand(2)
    >>> pyburn.train.set_random_state(state)
    >>> pyburn.equal(first, pyburn.rand(2))
    True
    """
    seed, offset = state["pyburn"]
    set_rng_state((int(seed), int(offset)))
    python, numpy = state["python"], state["numpy"]
    random.setstate((int(python["version"]), tuple(python["words"].tolist()), python["gauss"]))
    keys = numpy["keys"].numpy().astype(np.uint32)
    np.random.set_state((numpy["kind"], keys, numpy["place"], numpy["has_gauss"], numpy["cached"]))
