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
from . import copying, methods, queries, shape_in_place, shared_memory, storage
from .creation import (
    as_tensor,
    asarray,
    empty_permuted,
    empty_strided,
    from_dlpack,
    from_numpy,
    frombuffer,
    is_tensor,
    numel,
    rand,
    random_tensor,
    scalar_tensor,
    tensor,
)
from .distribution import Distribution
from .methods import nonzero
from .number_info import finfo, iinfo
from .printing import get_printoptions, printoptions, set_printoptions
from .products import einsum, tensordot
from .queries import (
    broadcast_shapes,
    can_cast,
    conj,
    is_complex,
    is_floating_point,
    is_nonzero,
    is_same_size,
    is_signed,
    isreal,
    real,
    result_type,
)
from .unique import unique, unique_consecutive

__all__ = [
    "Distribution",
    "Size",
    "Tensor",
    "as_tensor",
    "asarray",
    "broadcast_shapes",
    "can_cast",
    "conj",
    "einsum",
    "empty_permuted",
    "empty_strided",
    "finfo",
    "from_dlpack",
    "from_numpy",
    "frombuffer",
    "get_printoptions",
    "iinfo",
    "is_complex",
    "is_floating_point",
    "is_nonzero",
    "is_same_size",
    "is_signed",
    "is_tensor",
    "isreal",
    "nonzero",
    "numel",
    "printoptions",
    "rand",
    "random_tensor",
    "real",
    "result_type",
    "scalar_tensor",
    "set_printoptions",
    "tensor",
    "unique",
    "unique_consecutive",
    "tensordot",
]


class _CallableModule(ModuleType):
    """A callable module: PyTorch users call pyburn.tensor(...), Burn users import from pyburn.tensor."""

    __call__ = staticmethod(tensor)


sys.modules[__name__].__class__ = _CallableModule
methods.install()
copying.install()
queries.install()
storage.install()
shape_in_place.install()
shared_memory.install()
