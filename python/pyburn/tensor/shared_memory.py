"""Tensors in shared memory."""

from __future__ import annotations

import os
from typing import Any

from .. import _core
from .._core import Tensor


def share_memory_(self: Tensor) -> Tensor:
    """Moves the elements, and with them all tensors on the same storage, to shared memory.

    Processes forked later see writes, and so do those that receive the tensor through `multiprocessing`: as an argument of a process, or
    through a queue or a pipe. The memory is freed when the last process that uses it ends.

    Raises:
        DeviceError: The tensor is not on the CPU.

    >>> x = pyburn.zeros(2).share_memory_()
    >>> x.is_shared()
    True
    """
    _core._share_memory(self)
    _pass_to_processes(type(self))
    return self


def is_shared(self: Tensor) -> bool:
    """Returns whether the elements are in shared memory.

    >>> pyburn.zeros(2).is_shared()
    False
    """
    return _core._shared_descriptor(self) >= 0


def _pass_to_processes(cls: type[Tensor]) -> None:
    """Registers the reducers with `multiprocessing`. Not done on import, which has no side effects outside of pyburn."""
    from multiprocessing.reduction import ForkingPickler

    for each in (Tensor, cls):
        if each.__reduce_ex__ is Tensor.__reduce_ex__:  # a Parameter is passed as a Tensor
            ForkingPickler.register(each, _reduce_for_process)


def _reduce_for_process(tensor: Tensor) -> Any:
    """Passes the file descriptor of shared memory to the other process; other tensors are copied."""
    descriptor = _core._shared_descriptor(tensor)
    if descriptor < 0:
        return tensor.__reduce_ex__(4)
    if tensor.requires_grad and not tensor.is_leaf:
        raise _core.GradientError("a tensor with a history cannot be sent to another process; use detach() first")
    from multiprocessing import reduction

    layout = (tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.storage_offset())
    return _rebuild, (type(tensor), reduction.DupFd(descriptor), layout, tensor.requires_grad), tensor.__dict__ or None


def _rebuild(cls: type[Tensor], handle: Any, layout: tuple[Any, ...], requires_grad: bool) -> Tensor:
    _pass_to_processes(cls)  # a received tensor can be passed on
    descriptor = handle.detach()
    try:
        made = _core._on_shared_memory(descriptor, *layout)
    finally:
        os.close(descriptor)
    if cls is not Tensor:
        made = Tensor.__new__(cls, made)
    if requires_grad:
        _core._set_requires_grad(made, True)
    return made


def install() -> None:
    """Adds these methods to the Tensor class."""
    for function in (share_memory_, is_shared):
        setattr(Tensor, function.__name__, function)
