"""copy, deepcopy and pickle support for tensors."""

from __future__ import annotations

import copy
from typing import Any

from .. import _core
from .._core import Tensor


def _rebuild(cls: type[Tensor], data: bytes, shape: tuple[int, ...], dtype: Any, device: str, requires_grad: bool) -> Tensor:
    made = _core._from_bytes(data, shape, dtype, device)
    if cls is not Tensor:
        made = Tensor.__new__(cls, made)
    if requires_grad:
        _core._set_requires_grad(made, True)
    return made


def __reduce_ex__(self: Tensor, protocol: Any) -> tuple[Any, ...]:
    """Pickles the elements in row-major order; tensors that share memory do not share it after unpickling."""
    arguments = (type(self), self.detach()._download(), tuple(self.shape), self.dtype, _core._typed_device_name(self), self.requires_grad)
    return _rebuild, arguments, self.__dict__ or None


def __copy__(self: Tensor) -> Tensor:
    """Returns another tensor on the same memory."""
    made = Tensor.__new__(type(self), self.detach())
    if self.requires_grad:
        _core._set_requires_grad(made, True)
    made.__dict__.update(self.__dict__)
    return made


def __deepcopy__(self: Tensor, memo: dict[int, Any]) -> Tensor:
    if id(self) in memo:
        return memo[id(self)]
    if not self.is_leaf:
        raise _core.GradientError(
            "only tensors created explicitly by the user (graph leaves) support deepcopy: this one has a history; use detach() first"
        )
    made = self.detach().clone()
    if type(self) is not Tensor:
        made = Tensor.__new__(type(self), made)
    if self.requires_grad:
        _core._set_requires_grad(made, True)
    memo[id(self)] = made
    if self.grad is not None:
        made.grad = copy.deepcopy(self.grad, memo)
    made.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return made


def install() -> None:
    """Adds the copy methods to the Tensor class."""
    for function in (__reduce_ex__, __copy__, __deepcopy__):
        setattr(Tensor, function.__name__, function)
