"""Parameter: a tensor that modules register and optimisers change."""

from __future__ import annotations

import copy
from typing import Any

from .. import _core
from .._core import Tensor


class Parameter(Tensor):
    """A tensor that a module registers when it is set as an attribute.

    >>> import pyburn
    >>> pyburn.nn.Parameter(pyburn.zeros(2)).requires_grad
    True
    """

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        return _core._make_parameter(cls, _core.zeros(0) if data is None else data, requires_grad)

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) in memo:
            return memo[id(self)]
        made = _core._make_parameter(type(self), self.detach().clone(), self.requires_grad)
        memo[id(self)] = made
        if self.grad is not None:
            made.grad = copy.deepcopy(self.grad, memo)
        made.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return made

    def __reduce_ex__(self, protocol: Any) -> tuple:
        return _rebuild, (type(self), self.detach(), self.requires_grad), self.__dict__ or None


def _rebuild(cls: type[Parameter], data: Tensor, requires_grad: bool) -> Parameter:
    return _core._make_parameter(cls, data, requires_grad)


_core._set_parameter_class(Parameter)
