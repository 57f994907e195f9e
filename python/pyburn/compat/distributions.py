"""torch.distributions: those of pyburn. Names that are not there can be imported, and raise when they are called."""

from __future__ import annotations

import sys

from .. import distributions as _distributions
from ..distributions import *  # noqa: F403
from .absent import absent_names

__all__ = _distributions.__all__
__path__: list[str] = []
_ABSENT_FILES = ("biject_to", "constraint_registry", "constraints", "register_kl", "transform_to", "utils")

# PyTorch has a file per distribution: torch.distributions.von_mises.VonMises.
__getattr__ = absent_names(
    "torch.distributions", lambda name: sys.modules[__name__] if name[0].islower() and name not in _ABSENT_FILES else None
)
