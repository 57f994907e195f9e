"""The transforms as functions, with the names of torchvision.transforms.functional."""

from ..._on_demand import from_stub

__getattr__, __dir__, __all__ = from_stub(__name__, __file__)
