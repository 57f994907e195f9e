"""File formats: safetensors, PyTorch, NumPy and .pyburn, and loading and saving of models."""

from .._on_demand import from_stub

__getattr__, __dir__, __all__ = from_stub(__name__, __file__)
