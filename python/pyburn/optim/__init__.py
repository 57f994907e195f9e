"""Optimisers: PyTorch's classes and more, one operation per step and group."""

from typing import TYPE_CHECKING, Any

from .._on_demand import on_demand
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

_parts = on_demand(__name__, "lr_scheduler", "swa_utils")


def __getattr__(name: str) -> Any:
    if name == "SparseAdam":
        raise AttributeError("pyburn.optim has no SparseAdam: gradients are dense, and Adam takes them")
    return _parts(name)
