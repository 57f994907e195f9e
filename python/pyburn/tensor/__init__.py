"""Tensors: making them, looking at them, moving them. The module is also the function: ``pyburn.tensor([1, 2])``.

>>> import pyburn
>>> pyburn.tensor([[1, 2], [3, 4]]).shape
pyburn.Size([2, 2])
>>> from pyburn.tensor import Distribution, Tensor
>>> Tensor.random((2, 3), Distribution.Normal(0, 1)).shape
pyburn.Size([2, 3])
"""

import sys
from types import ModuleType

from .._on_demand import from_stub
from . import copying, creation, methods, queries, shape_in_place, shared_memory, storage

__getattr__, __dir__, __all__ = from_stub(__name__, __file__)


class _CallableModule(ModuleType):
    """A callable module: PyTorch users call pyburn.tensor(...), Burn users import from pyburn.tensor."""

    __call__ = staticmethod(creation.tensor)


sys.modules[__name__].__class__ = _CallableModule
methods.install()
copying.install()
queries.install()
storage.install()
shape_in_place.install()
shared_memory.install()
