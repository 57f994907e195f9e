"""torch.FloatTensor and its relatives: classes that create tensors of a dtype."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import DType, Tensor
from ..tensor.creation import tensor


class TensorType(type):
    """Metaclass: `FloatTensor([1, 2])` creates a tensor of that dtype, and `isinstance(x, FloatTensor)` checks it."""

    of: DType

    def __call__(cls, *data: Any) -> Tensor:
        if len(data) != 1 or isinstance(data[0], int):
            return _core.empty(*(data or (0,)), dtype=cls.of)
        if isinstance(data[0], _core.Size):
            return _core.empty(*data[0], dtype=cls.of)
        return data[0].to(cls.of) if isinstance(data[0], Tensor) else tensor(data[0], dtype=cls.of)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype == cls.of


_DTYPES = {"Float": "float32", "Double": "float64", "Half": "float16", "BFloat16": "bfloat16", "Long": "int64", "Int": "int32"}
_DTYPES |= {"Short": "int16", "Char": "int8", "Byte": "uint8", "Bool": "bool"}
TYPES: dict[str, Any] = {
    f"{name}Tensor": TensorType(
        f"{name}Tensor", (), {"__module__": "torch", "__doc__": f"A tensor of {dtype}.", "of": getattr(_core, dtype)}
    )
    for name, dtype in _DTYPES.items()
}


def dtype_of(kind: Any) -> Any:
    """Returns the dtype that a type, its name ("torch.FloatTensor") or a dtype means."""
    kind = TYPES.get(kind.rpartition(".")[2], kind) if isinstance(kind, str) else kind
    kind = getattr(kind, "of", kind)
    if not isinstance(kind, DType):
        raise TypeError(f"expected a dtype or a type of tensor: got {kind!r}")
    return kind


def type_of_tensor(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """Tensor.type: the name of the tensor's type, or the tensor converted to a type."""
    if dtype is None:
        return f"torch.{next(name for name, kind in TYPES.items() if kind.of == self.dtype)}"
    return self.to(dtype_of(dtype))
