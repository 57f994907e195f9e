"""Module utilities: gradient clipping, parametrizations, layer fusion, sequences of variable length."""

from ..._on_demand import from_stub
from .spectral_norm import remove_spectral_norm as remove_spectral_norm
from .spectral_norm import spectral_norm as spectral_norm
from .weight_norm import remove_weight_norm as remove_weight_norm
from .weight_norm import weight_norm as weight_norm

__getattr__, __dir__, __all__ = from_stub(__name__, __file__)
