"""In-place methods that change the shape or the memory of a tensor."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable


def _become(self: Tensor, function: str, change: Callable[[Tensor], Tensor]) -> Tensor:
    """Replaces self by change(self), a view of its memory, including the autograd history."""
    if self.is_leaf and self.requires_grad:
        if _core._get_modes()[0]:
            raise _core.GradientError(f"[{function}] a leaf Variable that requires grad is being used in an in-place operation")
        self.data = change(self.data)
    else:
        self._swap(change(self))
    _core._increment_version(self)  # as after a write: tensors saved for the backward pass are outdated
    return self


def _in_place(name: str, example: str) -> Callable[..., Tensor]:
    plain = getattr(_core, name)

    def method(self: Tensor, *arguments: Any, **named: Any) -> Tensor:
        return _become(self, method.__name__, lambda x: plain(x, *arguments, **named))

    method.__name__ = method.__qualname__ = name + "_"
    method.__doc__ = f"The form of {name} that changes the tensor itself.\n\n>>> {example}"
    return method


def _sizes(size: tuple[Any, ...]) -> tuple[int, ...]:
    given = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
    wanted = tuple(int(n) for n in given)
    if any(n < 0 for n in wanted):
        raise _core.ShapeError(f"[resize_] expected extents of at least 0: got {wanted}")
    return wanted


def resize_(self: Tensor, *size: Any) -> Tensor:
    """Resizes the tensor in place, on the same memory or on larger memory if needed; new elements are 0.

    Raises:
        GradientError: The tensor requires a gradient.

    >>> pyburn.arange(6).resize_(2, 2)
    tensor([[0, 1],
            [2, 3]])
    """
    if self.requires_grad:
        raise _core.GradientError("[resize_] cannot resize variables that require grad")
    wanted = _sizes(size)
    if wanted == tuple(self.shape):
        return self
    strides = tuple(math.prod(wanted[i + 1 :]) for i in range(len(wanted)))
    try:
        view = _core.as_strided(self, wanted, strides)
    except _core.PyburnError:  # the memory is too small
        view = _core.zeros(wanted, dtype=self.dtype, device=self.device)
        if self.numel():
            view.view(-1)[: self.numel()] = self.reshape(-1)
    self._swap(view.detach())
    return self


def resize_as_(self: Tensor, the_template: Tensor) -> Tensor:
    """Resizes the tensor in place to the size of another one.

    >>> pyburn.arange(6).resize_as_(pyburn.zeros(2, 2)).shape
    pyburn.Size([2, 2])
    """
    return resize_(self, tuple(the_template.shape))


def set_(self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Tensor:
    """Makes the tensor share the memory, size and strides of a tensor or storage; without source it becomes empty.

    >>> x, y = pyburn.zeros(2), pyburn.ones(3)
    >>> x.set_(y)
    tensor([1., 1., 1.])
    >>> y[0] = 5
    >>> x
    tensor([5., 1., 1.])
    """
    if self.requires_grad and not self.is_leaf:
        raise _core.GradientError("[set_] cannot change the memory of a tensor that has a history")
    if source is None:
        source = _core.zeros((0,), dtype=self.dtype, device=self.device)
    if not isinstance(source, Tensor):  # a storage: all of it unless a size is given
        source = source.elements(self.dtype)
        if size is None:
            size = (source.numel() - storage_offset,)
    if source.dtype != self.dtype:
        raise _core.DTypeError(f"[set_] expected a source of {self.dtype}: got {source.dtype}")
    if size is not None:
        extents = (size,) if isinstance(size, int) else tuple(size)
        stride = tuple(_core.empty(extents, device="null").stride()) if stride is None else stride
        source = _core.as_strided(source.detach(), extents, stride, storage_offset)
    return _become(self, "set_", lambda _: source.detach())


def install() -> None:
    """Adds these methods to the Tensor class."""
    examples = {
        "squeeze": "pyburn.zeros(1, 2).squeeze_().shape",
        "unsqueeze": "pyburn.zeros(2).unsqueeze_(0).shape",
        "transpose": "pyburn.zeros(2, 3).transpose_(0, 1).shape",
        "t": "pyburn.zeros(2, 3).t_().shape",
        "swapaxes": "pyburn.zeros(2, 3).swapaxes_(0, 1).shape",
        "swapdims": "pyburn.zeros(2, 3).swapdims_(0, 1).shape",
        "as_strided": "pyburn.zeros(4).as_strided_((2, 2), (2, 1)).shape",
    }
    for name, example in examples.items():
        setattr(Tensor, name + "_", _in_place(name, example))
    for function in (resize_, resize_as_, set_):
        setattr(Tensor, function.__name__, function)
