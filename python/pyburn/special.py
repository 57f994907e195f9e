"""Special functions, with the names of torch.special."""

from ._on_demand import from_stub as _from_stub

__getattr__, __dir__, __all__ = _from_stub(__name__, __file__)
