"""Graph neural network layers, with the names of PyTorch Geometric."""

from ..._on_demand import from_stub

__getattr__, __dir__, __all__ = from_stub(__name__, __file__)
