"""torch.FloatTensor and its relatives: names of dtypes that make tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import script_names
from .._core import DType, Tensor
from ..script_names import TensorType

TYPES: dict[str, Any] = {name: kind for name, kind in vars(script_names).items() if isinstance(kind, TensorType)}


def dtype_of(kind: Any) -> Any:
    """The dtype that a type, its name ("torch.FloatTensor") or a dtype means."""
    if isinstance(kind, str):
        kind = TYPES.get(kind.rpartition(".")[2], kind)
    if isinstance(kind, TensorType):
        return kind.of
    if not isinstance(kind, DType):
        raise TypeError(f"expected a dtype or a type of tensor: got {kind!r}")
    return kind


def type_of_tensor(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Tensor.type that knows the types: without an argument it gives the name of one."""

    def type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
        if dtype is None:
            return f"torch.{next(name for name, kind in TYPES.items() if kind.of == self.dtype)}"
        return self.to(dtype_of(dtype))

    type.__doc__ = plain.__doc__
    return type
