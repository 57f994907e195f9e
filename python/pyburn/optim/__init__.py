"""Optimizers: PyTorch's classes and more. A step is one operation per parameter group."""

import sys
from types import ModuleType
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
else:
    __getattr__, __dir__ = on_demand(__name__, "lr_scheduler", "swa_utils")

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

# PyTorch's import paths: `from pyburn.optim.adamw import AdamW`.
for _optimiser in (ASGD, SGD, Adadelta, Adagrad, Adam, AdamW, Adamax, NAdam, RAdam, RMSprop, Rprop, Adafactor, Muon):
    _name = _optimiser.__name__.lower()
    _home = ModuleType(f"{__name__}.{_name}", f"Where PyTorch has {_optimiser.__name__}.")
    _home.__dict__.update({_optimiser.__name__: _optimiser, "Optimizer": Optimizer})
    globals()[_name] = sys.modules[_home.__name__] = _home
