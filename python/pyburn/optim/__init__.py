"""Optimizers with PyTorch's names, and learning-rate schedulers."""

import sys
from types import ModuleType

from .._on_demand import from_stub

__getattr__, __dir__, __all__ = from_stub(__name__, __file__)

# PyTorch's import paths: `from pyburn.optim.adamw import AdamW`.
for _name in ("ASGD", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Muon", "NAdam", "RAdam", "RMSprop", "Rprop"):
    _home = ModuleType(f"{__name__}.{_name.lower()}", f"Where PyTorch has {_name}.")
    _home.__dict__.update(__getattr__=__getattr__, __all__=[_name])
    globals()[_name.lower()] = sys.modules[_home.__name__] = _home
