"""Named data sets: loaded from `root`, the folder PYBURN_DATA or the cache, else downloaded and verified."""

from ..._on_demand import from_stub

__getattr__, __dir__, __all__ = from_stub(__name__, __file__)
