"""Pruning: parameters multiplied by binary masks.

`name` becomes the product of the parameter `name_orig` and the buffer `name_mask`, computed before each call.
"""

from ..._on_demand import from_stub

__getattr__, __dir__, __all__ = from_stub(__name__, __file__)
