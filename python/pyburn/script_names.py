"""Names of PyTorch that scripts use in passing: numbers, types of tensors as classes, Variable. Loaded when they are asked for."""

from __future__ import annotations

import math
from typing import Any

from . import _core
from ._core import DType, Tensor
from .tensor.creation import tensor

inf, nan, pi, e = math.inf, math.nan, math.pi, math.e
newaxis = None
spmm = _core.mm  # of dense matrices, as there are no sparse ones
dtype = DType


class TensorType(type):
    """`FloatTensor([1, 2])` makes a tensor of that dtype, and `isinstance(x, FloatTensor)` asks for it."""

    of: DType

    def __call__(cls, *data: Any) -> Tensor:
        if len(data) != 1 or isinstance(data[0], int):
            return _core.empty(*(data or (0,)), dtype=cls.of)
        if isinstance(data[0], _core.Size):
            return _core.empty(*data[0], dtype=cls.of)
        return data[0].to(cls.of) if isinstance(data[0], Tensor) else tensor(data[0], dtype=cls.of)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype == cls.of


def _typed(name: str, dtype: DType) -> Any:
    return TensorType(name, (), {"__module__": "pyburn", "__doc__": f"A tensor of {dtype}, as older scripts make it.", "of": dtype})


FloatTensor = _typed("FloatTensor", _core.float32)
DoubleTensor = _typed("DoubleTensor", _core.float64)
HalfTensor = _typed("HalfTensor", _core.float16)
BFloat16Tensor = _typed("BFloat16Tensor", _core.bfloat16)
LongTensor = _typed("LongTensor", _core.int64)
IntTensor = _typed("IntTensor", _core.int32)
ShortTensor = _typed("ShortTensor", _core.int16)
CharTensor = _typed("CharTensor", _core.int8)
ByteTensor = _typed("ByteTensor", _core.uint8)
BoolTensor = _typed("BoolTensor", _core.bool)


def typename(obj: Any) -> str:
    """The full name of what an object is.

    >>> pyburn.typename(pyburn.ones(1))
    'pyburn.FloatTensor'
    """
    return obj.type() if isinstance(obj, Tensor) else f"{type(obj).__module__}.{type(obj).__qualname__}"


def is_storage(obj: Any) -> bool:
    """Storages are not visible from Python, so nothing is one.

    >>> pyburn.is_storage(pyburn.ones(1))
    False
    """
    return False


_OTHERS = ("annotations", "math", "Any", "DType", "Tensor", "TensorType", "tensor")  # what the names above are made of
__all__ = [name for name in dir() if not name.startswith("_") and name not in _OTHERS]
