"""The methods of Module that move and cast its tensors."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import CaptureError, Device, DeviceError, DType, Tensor, bfloat16, empty_like, float16, float32, float64
from .._device import check_keeps_data

# The type of `self` below; Any, so that type checkers accept all attributes.
_Bound: Any = object


class MoveMethods(_Bound):
    """Methods copied into Module by install(); `self` is a Module."""

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        """Replaces the contents of parameters, gradients and buffers, recursively; parameters keep their identity."""
        if recurse:
            for child in self.children():
                child._apply(fn)
        self._pb_transform(fn)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Moves or casts parameters and buffers in place: to(device), to(dtype), to(device, dtype), to(tensor) or to(memory_format=...).

        Only floating-point tensors are cast. Returns self.

        Raises:
            TypeError: The arguments are invalid, or the dtype is not a floating-point one.

        >>> pyburn.nn.Linear(2, 3).to(pyburn.float64).weight.dtype
        pyburn.float64
        """
        device, dtype = kwargs.pop("device", None), kwargs.pop("dtype", None)
        kwargs.pop("non_blocking", None)
        order = kwargs.pop("memory_format", None)
        if "copy" in kwargs:
            raise RuntimeError(".to() does not accept copy argument")
        if kwargs:
            raise TypeError(f"to() got an unexpected keyword argument: {next(iter(kwargs))!r}")
        if any(isinstance(value, bool) for value in args[: 1 if args and isinstance(args[0], (DType, Tensor)) else 2]):
            raise TypeError(f"to() takes a device, a dtype or a tensor: got {args}")
        for value in args[:2]:
            if isinstance(value, Tensor):
                device, dtype = value.device, value.dtype
            elif isinstance(value, DType):
                dtype = value
            elif value is not None:
                device = value
        if dtype is not None and not dtype.is_floating_point:
            raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}")

        rank = {"channels_last": 4, "channels_last_3d": 5}.get(order.name) if order is not None else None

        def convert(t: Tensor) -> Tensor:
            if device is not None:
                t = _moved(t, device)
            t = t.to(memory_format=order) if t.ndim == rank else t
            return t.to(dtype) if dtype is not None and t.is_floating_point() else t

        return self._apply(convert)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Any:
        """Moves parameters and buffers to a device without copying their values.

        >>> pyburn.nn.Linear(2, 3).to_empty(device="cpu").weight.shape
        pyburn.Size([3, 2])
        """
        return self._apply(lambda t: empty_like(t, device=device), recurse)

    def type(self, dst_type: Any) -> Any:
        """Casts all parameters and buffers, including integer ones, to a dtype.

        >>> pyburn.nn.BatchNorm2d(2).type(pyburn.float16).num_batches_tracked.dtype
        pyburn.float16
        """
        return self._apply(lambda t: t.to(dst_type))

    def float(self) -> Any:
        """Casts floating-point parameters and buffers to float32.

        >>> pyburn.nn.Linear(2, 3).float().weight.dtype
        pyburn.float32
        """
        return self.to(float32)

    def double(self) -> Any:
        """Casts floating-point parameters and buffers to float64.

        >>> pyburn.nn.Linear(2, 3).double().weight.dtype
        pyburn.float64
        """
        return self.to(float64)

    def half(self) -> Any:
        """Casts floating-point parameters and buffers to float16.

        >>> pyburn.nn.Linear(2, 3).half().weight.dtype
        pyburn.float16
        """
        return self.to(float16)

    def bfloat16(self) -> Any:
        """Casts floating-point parameters and buffers to bfloat16.

        >>> pyburn.nn.Linear(2, 3).bfloat16().weight.dtype
        pyburn.bfloat16
        """
        return self.to(bfloat16)

    def cpu(self) -> Any:
        """Moves parameters and buffers to the CPU.

        >>> pyburn.nn.Linear(2, 3).cpu().weight.device.type
        'cpu'
        """
        return self.to("cpu")

    def share_memory(self) -> Any:
        """Moves parameters and buffers to shared memory; see `Tensor.share_memory_`.

        >>> pyburn.nn.Linear(2, 3).share_memory().weight.is_shared()
        True
        """
        for tensor in (*self.parameters(), *self.buffers()):
            tensor.share_memory_()
        return self

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Does nothing; accepted for compatibility with PyTorch.

        Operations are fused by devices that support it, and `pyburn.inference.compile` converts a model to a graph.

        >>> pyburn.nn.Linear(2, 3).compile()
        """

    @property
    def backend(self) -> Any:
        """The device of the parameters, or None if there are none. Setting it moves the module.

        If the value does not name a device, it is stored as a plain attribute with a warning, so that models may use the name for something
        else.
        """
        if "backend" in self.__dict__:
            return self.__dict__["backend"]
        for tensor in itertools.chain(self.parameters(), self.buffers()):
            return tensor.device
        return None

    @backend.setter
    def backend(self, device: Any) -> None:
        try:
            place = Device(device)
        except (TypeError, DeviceError) as error:
            if isinstance(error, DeviceError) and (not isinstance(device, str) or _core._begins_as_device(device)):
                raise
            warnings.warn(f"{self._get_name()}.backend = {device!r} names no device and is kept as an attribute", stacklevel=2)
            self.__dict__["backend"] = device
            return
        self.__dict__.pop("backend", None)
        check_keeps_data(self, place)
        self.to(device=place)


def _moved(tensor: Tensor, device: Any) -> Tensor:
    try:
        return tensor.to(device)
    except CaptureError as error:
        if not tensor.is_meta:
            raise
        raise NotImplementedError(
            "Cannot copy out of meta tensor; no data! Please use pyburn.nn.Module.to_empty() instead of pyburn.nn.Module.to() when moving "
            "module from meta to a different device."
        ) from error
