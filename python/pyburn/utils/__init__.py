"""Utilities with PyTorch's names."""

from typing import TYPE_CHECKING

from .._on_demand import on_demand

if TYPE_CHECKING:
    from . import checkpoint as checkpoint
    from . import data as data
else:
    __getattr__, __dir__ = on_demand(__name__, "checkpoint", "data")
