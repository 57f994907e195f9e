"""Neural network modules: layers from C++, and classes of your own that subclass `Module`."""

from .._core._nn import BatchNorm2d, Conv2d, Flatten, Identity, Linear, Module, ModuleDict, ModuleList, ReLU, Sequential
from . import functional
from .install import install
from .lazy import LazyModuleMixin
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

install()

from . import init, utils  # noqa: E402
from .parameter_containers import ParameterDict, ParameterList  # noqa: E402

__all__ = [
    "BatchNorm2d",
    "Buffer",
    "Conv2d",
    "Flatten",
    "Identity",
    "LazyModuleMixin",
    "Linear",
    "Module",
    "ModuleDict",
    "ModuleList",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "ReLU",
    "Sequential",
    "UninitializedBuffer",
    "UninitializedParameter",
    "functional",
    "init",
    "utils",
]
