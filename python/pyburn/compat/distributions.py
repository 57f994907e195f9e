"""torch.distributions: those of pyburn. Names that are not there can be imported, and raise when they are called."""

from __future__ import annotations

import sys
from typing import Any

from .. import distributions as _distributions
from ..distributions import *  # noqa: F403
from .absent import absent

__all__ = _distributions.__all__
__path__: list[str] = []
_ABSENT_FILES = ("biject_to", "constraint_registry", "constraints", "register_kl", "transform_to", "utils")


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'torch.distributions' has no attribute {name!r}")
    if name[0].islower() and name not in _ABSENT_FILES:  # PyTorch has a file per distribution: torch.distributions.von_mises.VonMises
        return sys.modules[__name__]
    return absent(f"torch.distributions.{name}")
