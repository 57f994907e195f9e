"""Learning-rate schedulers: PyTorch's classes, and schedules as functions of the step, as in Burn."""

from ..._on_demand import from_stub
from .base import EPOCH_DEPRECATION_WARNING as EPOCH_DEPRECATION_WARNING

__getattr__, __dir__, __all__ = from_stub(__name__, __file__)
