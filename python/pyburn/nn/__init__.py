"""Neural network modules: layers from C++, and classes of your own that subclass `Module`."""

from . import _layers, functional
from ._layers import *  # noqa: F403
from .install import install
from .lazy import LazyModuleMixin
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

install()

from . import activation, init, loss, pool, utils  # noqa: E402
from .loss import AdaptiveLogSoftmaxWithLoss, TripletMarginWithDistanceLoss  # noqa: E402
from .parameter_containers import ParameterDict, ParameterList  # noqa: E402

__all__ = [
    *_layers.__all__,
    "AdaptiveLogSoftmaxWithLoss",
    "Buffer",
    "LazyModuleMixin",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "TripletMarginWithDistanceLoss",
    "UninitializedBuffer",
    "UninitializedParameter",
    "activation",
    "functional",
    "init",
    "loss",
    "pool",
    "utils",
]
