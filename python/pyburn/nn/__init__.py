"""Neural network modules: layers from C++, and classes of your own that subclass `Module`."""

from . import _layers, activation, functional, loss, module_methods, pool
from ._layers import *  # noqa: F403
from .loss import TripletMarginWithDistanceLoss
from .parameter import Parameter

module_methods.install()

__all__ = [*_layers.__all__, "Parameter", "TripletMarginWithDistanceLoss", "functional"]
