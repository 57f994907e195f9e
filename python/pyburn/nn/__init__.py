"""Neural network modules: layers from C++, and classes of your own that subclass `Module`."""

from . import _layers, functional, module_methods
from ._layers import *  # noqa: F403
from .parameter import Parameter

module_methods.install()

__all__ = [*_layers.__all__, "Parameter", "functional"]  # noqa: PLE0604, the names of C++
