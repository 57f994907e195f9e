"""File readers. Functions return NumPy arrays and Python values; data sets return items by index."""

from ..._on_demand import from_stub

__getattr__, __dir__, __all__ = from_stub(__name__, __file__)
