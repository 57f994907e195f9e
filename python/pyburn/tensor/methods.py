"""Tensor methods written in Python: conversions, variants of operations, sharing memory with numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import Tensor
from .._html import tensor_html
from . import creation
from .distinct_elements import unique, unique_consecutive

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from .._types import DType, DTypeLike, Number

_LEGACY_NAMES = {
    "float64": "Double", "float32": "Float", "float16": "Half", "bfloat16": "BFloat16", "int8": "Char", "int16": "Short", "int32": "Int",
    "int64": "Long", "uint8": "Byte", "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64", "bool": "Bool",
}  # fmt: skip


def to(
    self: Tensor,
    *args: Any,
    dtype: Any = None,
    device: Any = None,
    copy: bool = False,
    non_blocking: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Converts the tensor to another dtype or device, or to those of another tensor; returns itself if nothing changes.

    x.to(dtype), x.to(device), x.to(device, dtype), x.to(other). Differentiable, also between devices.

    >>> pyburn.tensor([1, 2]).to(pyburn.float32)
    tensor([1., 2.])
    """
    for position, value in enumerate(args):
        if isinstance(value, bool):  # non_blocking and copy can be positional
            copy = copy or (value and position == len(args) - 1 and sum(isinstance(a, bool) for a in args) == 2)
        elif isinstance(value, Tensor):
            dtype, device = value.dtype, value.device
        elif isinstance(value, (str, _core.Device)) or hasattr(value, "value"):
            device = value
        elif value is not None:
            dtype = value
    if len(args) > 4:
        raise TypeError(f"[to] expected at most 4 positional arguments: got {len(args)}")
    moved = _core._to(self, dtype, device, copy)
    return moved if memory_format is None else _core.contiguous(moved, memory_format=memory_format)  # type: ignore[call-arg]


def type_(self: Tensor, dtype: DTypeLike | str | None = None) -> Any:
    """Converts the tensor to another dtype; without one, returns the name of its type.

    >>> pyburn.ones(2).type(pyburn.int32)
    tensor([1, 1], dtype=pyburn.int32)
    """
    if dtype is None:
        return f"pyburn.{_LEGACY_NAMES[self.dtype.name]}Tensor"
    return _core._to(self, dtype, None, False)


def new(self: Tensor, *args: Any) -> Tensor:
    """Creates a tensor with this dtype and device, from a size or from the values of a sequence or tensor.

    >>> pyburn.ones(2, dtype=pyburn.float64).new([1, 2])
    tensor([1., 2.], dtype=pyburn.float64)
    """
    return Tensor(*args).to(device=self.device, dtype=self.dtype)


def cpu(self: Tensor) -> Tensor:
    """Moves the tensor to the CPU; returns itself if it is there.

    >>> pyburn.ones(2).cpu().device
    device('autodiff(ndarray)')
    """
    return _core._to(self, None, "ndarray", False)


def _caster(name: str, dtype: DType) -> Any:
    def cast(self: Tensor, memory_format: Any = None) -> Tensor:
        made = _core._to(self, dtype, None, False)
        return made if memory_format is None else _core.contiguous(made, memory_format=memory_format)  # type: ignore[call-arg]

    cast.__name__ = cast.__qualname__ = name
    cast.__doc__ = f"The tensor as {dtype.name}; itself when it is that already.\n\n>>> pyburn.tensor([0, 1]).{name}()"
    return cast


def type_as(self: Tensor, other: Tensor) -> Tensor:
    """Casts the tensor to the dtype of other.

    >>> pyburn.ones(2).type_as(pyburn.arange(2))
    tensor([1, 1])
    """
    return _core._to(self, other.dtype, None, False)


def _like(self: Tensor, options: dict[str, Any]) -> dict[str, Any]:
    return {"dtype": self.dtype, "device": self.device, **{name: value for name, value in options.items() if value is not None}}


def _size(size: tuple[Any, ...], options: dict[str, Any]) -> Any:
    if not size and "size" in options:
        return options.pop("size")
    return size[0] if len(size) == 1 else size


def new_zeros(self: Tensor, *size: Any, **options: Any) -> Tensor:
    """Creates a tensor of zeros with this dtype and device by default; dtype, device and requires_grad can be given.

    >>> pyburn.ones(2, dtype=pyburn.int64).new_zeros(3)
    tensor([0, 0, 0])
    """
    return _core.zeros(_size(size, options), **_like(self, options))


def new_ones(self: Tensor, *size: Any, **options: Any) -> Tensor:
    """Creates a tensor of ones with this dtype and device by default.

    >>> pyburn.zeros(2).new_ones(3)
    tensor([1., 1., 1.])
    """
    return _core.ones(_size(size, options), **_like(self, options))


def new_empty(self: Tensor, *size: Any, **options: Any) -> Tensor:
    """Creates a tensor with unspecified values, and with this dtype and device by default.

    >>> pyburn.zeros(2).new_empty(3).shape
    pyburn.Size([3])
    """
    return _core.empty(_size(size, options), **_like(self, options))


def new_full(self: Tensor, size: Sequence[int], fill_value: Number, **options: Any) -> Tensor:
    """Creates a tensor filled with fill_value, with this dtype and device by default.

    >>> pyburn.zeros(2).new_full((2,), 7)
    tensor([7., 7.])
    """
    return _core.full(size, fill_value, **_like(self, options))


def new_tensor(self: Tensor, data: Any, **options: Any) -> Tensor:
    """Creates a tensor from data, with this dtype and device by default.

    >>> pyburn.ones(2, dtype=pyburn.float64).new_tensor([1, 2])
    tensor([1., 2.], dtype=pyburn.float64)
    """
    return creation.tensor(data, **_like(self, options))


def new_empty_strided(self: Tensor, size: Sequence[int], stride: Sequence[int], **options: Any) -> Tensor:
    """Creates a tensor with the given size and strides and unspecified values, with this dtype and device by default.

    >>> pyburn.zeros(2).new_empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    return creation.empty_strided(size, stride, **_like(self, options))


def tolist(self: Tensor) -> Any:
    """Returns the elements as nested lists of Python numbers; a 0-d tensor gives a number.

    >>> pyburn.tensor([[1, 2], [3, 4]]).tolist()
    [[1, 2], [3, 4]]
    """
    return _core._tolist(self)


def numpy(self: Tensor, *, force: bool = False) -> np.ndarray[Any, Any]:
    """Returns a numpy array that shares the memory of the tensor.

    On a device that queues operations on the CPU, such as fusion(ndarray), the array is a copy.

    Args:
        force: Detaches the tensor and copies it to the CPU if needed. Without it, the tensor must be on the CPU and not require a
            gradient.

    Raises:
        RuntimeError: The tensor requires a gradient.
        TypeError: The dtype is bfloat16, which numpy does not have.

    >>> pyburn.ones(3).numpy()
    array([1., 1., 1.], dtype=float32)
    """
    if force:
        return numpy(self.detach().cpu())
    if self.requires_grad:
        raise RuntimeError("can't call numpy() on a Tensor that requires grad; use tensor.detach().numpy()")
    if self.dtype is _core.bfloat16:
        raise TypeError("numpy has no bfloat16; use tensor.float().numpy()")
    shared = _core._shares_host_memory(self)
    if not shared and self.device.type != "cpu":
        raise TypeError(f"can't convert a tensor on {self.device} to numpy; use tensor.cpu() to copy it to host memory first")
    import numpy as np

    if shared:
        return np.asarray(memoryview(self))  # type: ignore[arg-type]
    return np.frombuffer(bytearray(self._download()), dtype=self.dtype.name).reshape(self.shape)


def __array__(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
    array = numpy(self)
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ValueError(f"a copy is needed to convert {array.dtype} to {dtype}")
        return array.astype(dtype)
    return array.copy() if copy else array


def __dlpack__(self: Tensor, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None) -> Any:
    if not self.requires_grad and not _core._shares_host_memory(self) and (array := _exporting_array(self)) is not None:
        given = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
        return array.__dlpack__(**{name: value for name, value in given.items() if value is not None})
    if stream is not None:
        raise BufferError("[dlpack] memory of the CPU has no stream: pass None")
    if dl_device is not None and tuple(dl_device) != (1, 0):
        raise BufferError(f"[dlpack] only memory of the CPU is exported: got device {tuple(dl_device)}")
    return _core._to_dlpack(self, max_version is not None and max_version[0] >= 1, bool(copy))


def __dlpack_device__(self: Tensor) -> tuple[int, int]:
    if _core._shares_host_memory(self) or self.device.type == "cpu":
        return (1, 0)
    if (array := _exporting_array(self)) is not None:
        return array.__dlpack_device__()
    raise BufferError(f"a tensor on {self.device} is not exported; use tensor.cpu()")


def _exporting_array(tensor: Tensor) -> Any:
    """Returns the array of the library behind a Python backend if it supports DLPack, such as GPU memory."""
    array = _core._library_array(tensor)
    return array if hasattr(array, "__dlpack__") else None


def __format__(self: Tensor, format_spec: str) -> str:
    if self.ndim == 0 and type(self) is Tensor:
        return format(self.item(), format_spec)
    return object.__format__(self, format_spec)


def __reversed__(self: Tensor) -> Tensor:
    if self.ndim == 0:
        return self
    return self.flip(0)


def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: bool = False) -> Any:
    """Returns the indices of the nonzero elements, one row each; as_tuple=True returns one tensor per dimension.

    Args:
        input: The tensor.
        out: A tensor that receives the result.
        as_tuple: Whether to return one tensor per dimension.

    Raises:
        RuntimeError: out is given with as_tuple=True.

    >>> pyburn.tensor([[0, 3], [4, 0]]).nonzero(as_tuple=True)
    (tensor([0, 1]), tensor([1, 0]))
    """
    if as_tuple:
        if out is not None:
            raise RuntimeError("[nonzero] out= is one tensor: as_tuple=True gives several")
        return _core.where(input)
    return _core.nonzero(input) if out is None else _core.nonzero(input, out=out)


def polygamma(self: Tensor, n: int) -> Tensor:
    """Computes the n-th derivative of digamma.

    >>> pyburn.tensor([1.0]).polygamma(1)
    tensor([1.6449])
    """
    return _core.polygamma(n, self)


def polygamma_(self: Tensor, n: int) -> Tensor:
    """In-place version of polygamma.

    >>> pyburn.tensor([1.0]).polygamma_(1)
    tensor([1.6449])
    """
    return self.copy_(_core.polygamma(n, self))


def where(self: Tensor, condition: Tensor, other: Tensor | Number) -> Tensor:
    """Returns the elements where condition is True, and those of other elsewhere.

    >>> pyburn.tensor([1, 2]).where(pyburn.tensor([True, False]), 9)
    tensor([1, 9])
    """
    return _core.where(condition, self, other)


def lu(self: Tensor, pivot: bool = True, get_infos: bool = False) -> Any:
    """Computes LU factors and pivots, as linalg.lu_factor; with get_infos also the info of linalg.lu_factor_ex.

    Args:
        pivot: Whether rows are exchanged; False is not supported.
        get_infos: Whether to return the info as well.

    Returns:
        A tuple of the compact factors, the pivots and, with get_infos, the info.

    Raises:
        UnsupportedOp: pivot is False.

    >>> len(pyburn.eye(2).lu())
    2
    """
    found = tuple(_core.linalg_lu_factor_ex(self, pivot=pivot))
    return found if get_infos else found[:2]


def install() -> None:
    """Adds the methods to the Tensor class."""
    setattr(Tensor, "_repr_html_", tensor_html)  # noqa: B010
    setattr(Tensor, "__rdiv__", Tensor.__rtruediv__)  # noqa: B010  (an older name)
    for function in (
        to, cpu, type_as, nonzero, new, new_zeros, new_ones, new_empty, new_full, new_empty_strided, new_tensor, tolist, numpy,
        __array__, __dlpack__, __dlpack_device__, __format__, __reversed__, unique,
        unique_consecutive, lu, polygamma, polygamma_, where,
    ):  # fmt: skip
        setattr(Tensor, function.__name__, function)
    dtypes = {"float": "float32", "double": "float64", "half": "float16", "int": "int32", "long": "int64", "short": "int16", "char": "int8",
              "byte": "uint8", "bfloat16": "bfloat16", "bool": "bool"}  # fmt: skip
    for name, dtype in dtypes.items():
        setattr(Tensor, name, _caster(name, getattr(_core, dtype)))
    # __array_priority__: the operators of numpy arrays defer to Tensor.
    others = {"type": type_, "random": staticmethod(creation.random_tensor), "__array_priority__": 1000}
    for name, value in others.items():
        setattr(Tensor, name, value)
