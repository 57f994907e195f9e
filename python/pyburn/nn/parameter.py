"""Parameter and Buffer: tensors that modules register; and their uninitialized variants."""

from __future__ import annotations

import copy
from typing import Any

from .. import _core
from .._core import Tensor


class Parameter(Tensor):
    """A tensor that is registered as a parameter when it is assigned to an attribute of a module.

    Args:
        data: The tensor, whose memory is shared; None for an empty one.
        requires_grad: Whether to compute gradients.

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
        made.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return made

    def __reduce_ex__(self, protocol: Any) -> tuple:
        return _rebuild, (type(self), self.detach(), self.requires_grad), self.__dict__ or None


def _rebuild(cls: type[Parameter], data: Tensor, requires_grad: bool) -> Parameter:
    return _core._make_parameter(cls, data, requires_grad)


class _BufferMeta(type(Tensor)):  # type: ignore[misc]
    def __instancecheck__(cls, instance: Any) -> bool:
        if cls is not Buffer:
            return super().__instancecheck__(instance)
        return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that is registered as a buffer when it is assigned to an attribute of a module.

    Args:
        data: The tensor, whose memory is shared; None for an empty one.
        persistent: Whether the buffer is part of the state dict.

    >>> module = pyburn.nn.Module()
    >>> module.mean = pyburn.nn.Buffer(pyburn.zeros(2), persistent=False)
    >>> [name for name, _ in module.named_buffers()]
    ['mean']
    """

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        made: Any = (_core.zeros(0) if data is None else data).detach().requires_grad_(data is not None and data.requires_grad)
        made.persistent = persistent
        made._is_buffer = True
        return made


_UNKNOWN = (
    "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` when trying "
    "to load an uninitialized parameter into an initialized one. Call `forward` to initialize the parameters before accessing "
    "their attributes."
)


class UninitializedTensorMixin:
    """Mixin of tensors without a shape, until materialize() sets one."""

    cls_to_become: type = Tensor

    def materialize(self: Any, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Becomes a tensor of zeros of the given shape, on the given or current device and dtype."""
        plain = self.data
        empty = _core.empty(
            *_core.Size((shape,) if isinstance(shape, int) else shape),
            device=plain.device if device is None else device,
            dtype=plain.dtype if dtype is None else dtype,
        )
        self.__class__ = self.cls_to_become
        self.data = empty

    @property
    def shape(self) -> Any:
        raise RuntimeError(_UNKNOWN)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape is set later, by the first call of a lazy module.

    >>> weight = pyburn.nn.UninitializedParameter()
    >>> weight.materialize((2, 3))
    >>> weight.shape
    pyburn.Size([2, 3])
    """

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        return _core._make_parameter(cls, _core.empty(0, device=device, dtype=dtype), requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> tuple:
        return type(self), (self.requires_grad, str(self.data.device), self.data.dtype), self.__dict__ or None


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape is set later, by the first call of a lazy module."""

    persistent: bool

    def __new__(cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True) -> Any:
        made: Any = Tensor.__new__(cls, _core.empty(0, device=device, dtype=dtype))
        made.persistent = persistent
        made._is_buffer = True
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(False, self.data.device, self.data.dtype, self.persistent)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> tuple:
        return type(self), (False, str(self.data.device), self.data.dtype, self.persistent)


def is_lazy(param: Any) -> bool:
    """Returns whether a parameter or buffer has no shape yet."""
    return isinstance(param, UninitializedTensorMixin)
