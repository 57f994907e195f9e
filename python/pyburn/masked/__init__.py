"""Masked reductions and normalizations: elements where the mask is False are ignored. The mask broadcasts."""

from .._on_demand import from_stub

__getattr__, __dir__, __all__ = from_stub(__name__, __file__)
