"""Optimisers: PyTorch's classes and more, one operation per step and group."""

from typing import TYPE_CHECKING

from .descent import ASGD, SGD
from .lbfgs import LBFGS
from .matrices import Adafactor, Muon
from .moments import Adam, Adamax, AdamW, Adan, Lion, NAdam, RAdam
from .native import GradientClipping
from .optimizer import Optimizer
from .scaled import Adadelta, Adagrad, RMSprop, Rprop

if TYPE_CHECKING:
    from . import lr_scheduler, swa_utils

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Adan",
    "GradientClipping",
    "Lion",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "lr_scheduler",
    "swa_utils",
]


def __getattr__(name: str) -> object:
    """Schedules and averages are loaded when they are asked for."""
    if name not in ("lr_scheduler", "swa_utils"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return importlib.import_module(f".{name}", __name__)
