"""The default random generator: that of the process, or that of the sample that a data loader is computing."""

from __future__ import annotations

from ._core import Generator, _use_generator, default_generator


def _current() -> Generator:
    own = _use_generator(None)  # of this thread, if it has one
    if own is None:
        return default_generator
    _use_generator(own)
    return own


def manual_seed(seed: int) -> Generator:
    """Seeds the default generator; the same numbers follow on every device.

    Raises:
        ValueError: The seed exceeds 64 bits.

    >>> pyburn.manual_seed(0).initial_seed()
    0
    """
    number = int(seed)
    if not -(2**63) <= number < 2**64:
        raise ValueError(f"[manual_seed] expected a seed of 64 bits: got {seed}")
    return _current().manual_seed(number % 2**64)


def seed() -> int:
    """Seeds the default generator with a random seed and returns the seed.

    >>> pyburn.seed() == pyburn.initial_seed()
    True
    """
    return _current().seed()


def initial_seed() -> int:
    """Returns the seed of the default generator.

    >>> _ = pyburn.manual_seed(7)
    >>> pyburn.initial_seed()
    7
    """
    return _current().initial_seed()


def get_rng_state() -> tuple[int, int]:
    """Returns the state of the default generator (seed and position), for set_rng_state.

    >>> state = pyburn.get_rng_state()
    >>> a = pyburn.rand(3)
    >>> pyburn.set_rng_state(state)
    >>> pyburn.equal(pyburn.rand(3), a)
    True
    """
    return _current().get_state()


def set_rng_state(new_state: tuple[int, int]) -> None:
    """Restores a state of the default generator that get_rng_state returned.

    >>> state = pyburn.get_rng_state()
    >>> first = pyburn.rand(2)
    >>> pyburn.set_rng_state(state)
    >>> pyburn.equal(first, pyburn.rand(2))
    True
    """
    _current().set_state(new_state)


__all__ = ["Generator", "default_generator", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]
