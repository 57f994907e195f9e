"""Data: data sets, data loaders, transforms, file readers and named data sets.

Submodules are imported on first use.
"""

from .._on_demand import from_stub

__getattr__, __dir__, __all__ = from_stub(__name__, __file__)
