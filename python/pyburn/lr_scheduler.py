"""Learning-rate schedulers: the same as pyburn.optim.lr_scheduler."""

from .optim.lr_scheduler import *  # noqa: F403
from .optim.lr_scheduler import __all__ as __all__
