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

from .._core import Size, Tensor
from . import copying, methods
from .creation import as_tensor, from_dlpack, from_numpy, is_tensor, numel, rand, random_tensor, tensor
from .distribution import Distribution
from .methods import nonzero
from .number_info import finfo, iinfo
from .printing import get_printoptions, printoptions, set_printoptions
from .products import einsum, tensordot
from .unique import unique, unique_consecutive

__all__ = [
    "Distribution",
    "Size",
    "Tensor",
    "as_tensor",
    "einsum",
    "finfo",
    "from_dlpack",
    "from_numpy",
    "get_printoptions",
    "iinfo",
    "is_tensor",
    "nonzero",
    "numel",
    "printoptions",
    "rand",
    "random_tensor",
    "set_printoptions",
    "tensor",
    "unique",
    "unique_consecutive",
    "tensordot",
]


class _CallableModule(ModuleType):
    """PyTorch users call pyburn.tensor(...), Burn users import from pyburn.tensor: both are right."""

    __call__ = staticmethod(tensor)


sys.modules[__name__].__class__ = _CallableModule
methods.install()
copying.install()
