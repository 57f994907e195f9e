"""Optimisers: PyTorch's classes and more, one operation per step and group."""

from typing import TYPE_CHECKING

from .._on_demand import on_demand
from .descent import ASGD, SGD
from .lbfgs import LBFGS
from .matrices import Adafactor, Muon
from .moments import Adam, Adamax, AdamW, Adan, Lion, NAdam, RAdam
from .native import GradientClipping
from .optimizer import Optimizer
from .scaled import Adadelta, Adagrad, RMSprop, Rprop
from .sparse_adam import SparseAdam

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
    "SparseAdam",
    "lr_scheduler",
    "swa_utils",
]

__getattr__ = on_demand(__name__, "lr_scheduler", "swa_utils")
