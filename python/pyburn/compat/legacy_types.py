"""torch.FloatTensor and its relatives: names of dtypes that make tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import DType, Tensor

_DTYPES = {
    "FloatTensor": _core.float32,
    "DoubleTensor": _core.float64,
    "HalfTensor": _core.float16,
    "BFloat16Tensor": _core.bfloat16,
    "ByteTensor": _core.uint8,
    "CharTensor": _core.int8,
    "ShortTensor": _core.int16,
    "IntTensor": _core.int32,
    "LongTensor": _core.int64,
    "BoolTensor": _core.bool,
}


class _TensorType(type):
    """The class of torch.FloatTensor: called, it makes a tensor; tensors of its dtype are its instances."""

    dtype: DType

    def __call__(cls, *args: Any, **kwargs: Any) -> Tensor:
        if len(args) == 1 and not isinstance(args[0], int):
            data = args[0]
            if isinstance(data, _core.Size):
                return _core.empty(*data, dtype=cls.dtype)
            return data.to(cls.dtype) if isinstance(data, Tensor) else _core._tensor(data, cls.dtype, None, False)
        return _core.empty(*(args or (0,)), dtype=cls.dtype)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype == cls.dtype

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


TYPES: dict[str, Any] = {name: _TensorType(name, (), {"dtype": dtype}) for name, dtype in _DTYPES.items()}


def dtype_of(kind: Any) -> Any:
    """The dtype that a type, its name ("torch.FloatTensor") or a dtype means."""
    if isinstance(kind, str):
        kind = TYPES.get(kind.rpartition(".")[2], kind)
    if isinstance(kind, _TensorType):
        return kind.dtype
    if not isinstance(kind, DType):
        raise TypeError(f"expected a dtype or a type of tensor: got {kind!r}")
    return kind


def type_of_tensor(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Tensor.type that knows the types: without an argument it gives the name of one."""

    def type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
        if dtype is None:
            return f"torch.{next(name for name, found in _DTYPES.items() if found == self.dtype)}"
        return self.to(dtype_of(dtype))

    type.__doc__ = plain.__doc__
    return type
