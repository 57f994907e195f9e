"""Neural network modules: layers from C++, and classes of your own that subclass `Module`."""

from .._core._nn import BatchNorm2d, Conv2d, Flatten, Identity, Linear, Module, ReLU, Sequential
from . import functional, module_methods
from .parameter import Parameter

module_methods.install()

__all__ = ["BatchNorm2d", "Conv2d", "Flatten", "Identity", "Linear", "Module", "Parameter", "ReLU", "Sequential", "functional"]
