"""Creates tensors from numbers, lists, arrays, other tensors and random numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import Tensor
from .distribution import Distribution

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from .._types import DeviceLike, DTypeLike, Generator


def tensor(data: Any, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None, requires_grad: bool = False) -> Tensor:
    """Creates a tensor with a copy of data.

    Args:
        data: A number, nested sequences of numbers, an array, or a tensor.
        dtype: The dtype. By default floats give the default dtype, integers int64 and bools bool; arrays and tensors keep theirs.
        device: The device.
        requires_grad: Whether autograd records operations on the tensor.

    Returns:
        A tensor with a copy of the data.

    >>> pyburn.tensor([[1.0, 2.0], [3.0, 4.0]])
    tensor([[1., 2.],
            [3., 4.]])
    >>> pyburn.tensor([1, 2], dtype=pyburn.float64, requires_grad=True)
    tensor([1., 2.], dtype=pyburn.float64, requires_grad=True)
    """
    return _core._tensor(data, dtype, device, requires_grad)


def as_tensor(data: Any, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Tensor:
    """Converts data to a tensor, without a copy if possible: tensors are returned unchanged, numpy arrays share their memory.

    Args:
        data: A tensor, an array, a number or nested sequences of numbers.
        dtype: The dtype; by default that of the data.
        device: The device; by default that of the data.

    Returns:
        A tensor.

    >>> pyburn.as_tensor([1, 2, 3])
    tensor([1, 2, 3])
    """
    if not isinstance(data, Tensor) and hasattr(data, "__array_interface__") and _may_be_shared(data):
        data = from_numpy(data)
        if device is None:
            device = _core._default_device()
    if isinstance(data, Tensor):
        return _core._to(data, dtype, device, False)
    return _core._tensor(data, dtype, device, False)


def asarray(
    obj: Any, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None, copy: bool | None = None, requires_grad: bool = False
) -> Tensor:
    """Converts obj to a tensor.

    Args:
        obj: A tensor, an array, a DLPack capsule, a storage, a number or nested sequences of numbers.
        dtype: The dtype.
        device: The device.
        copy: True copies, False raises an error if a copy is needed, None copies if needed.
        requires_grad: Whether autograd records operations on the tensor.

    Returns:
        A tensor.

    >>> x = pyburn.ones(2)
    >>> pyburn.asarray(x) is x
    True
    """
    if type(obj).__name__ == "PyCapsule":
        obj = from_dlpack(obj)
    elif type(obj).__name__ == "UntypedStorage":  # UntypedStorage is defined in .storage, which imports this module
        obj = obj.elements(_core.uint8)
    if copy:
        made = tensor(obj, dtype=dtype, device=device)
    else:
        made = as_tensor(obj, dtype, device)
        if copy is False:
            source = obj if isinstance(obj, Tensor) else from_numpy(obj) if hasattr(obj, "__array_interface__") else None
            if source is None or source.data_ptr() != made.data_ptr():
                raise ValueError("[asarray] a copy is needed: got copy=False")
    if requires_grad and not made.requires_grad:
        made = made.detach() if made is obj else made
        _core._set_requires_grad(made, True)
    return made


def scalar_tensor(s: Any, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None, requires_grad: bool = False) -> Tensor:
    """Creates a 0-d tensor; by default of the default dtype.

    Args:
        s: The number.
        dtype: The dtype.
        device: The device.
        requires_grad: Whether autograd records operations on the tensor.

    Returns:
        A 0-d tensor.

    >>> pyburn.scalar_tensor(2)
    tensor(2.)
    """
    return _core.full((), s, dtype=dtype or _core.get_default_dtype(), device=device, requires_grad=requires_grad)


def empty_strided(
    size: Sequence[int],
    stride: Sequence[int],
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Creates a tensor with the given size and strides; its values are unspecified (here: zeros).

    Args:
        size: The shape.
        stride: The strides, in elements.
        dtype: The dtype.
        device: The device.
        requires_grad: Whether autograd records operations on the tensor.

    Returns:
        A tensor with these strides.

    >>> pyburn.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    elements = 0 if 0 in size else 1 + sum((n - 1) * s for n, s in zip(size, stride))
    made = _core.as_strided(_core.empty(elements, dtype=dtype, device=device), size, stride).detach()
    if requires_grad:
        _core._set_requires_grad(made, True)
    return made


def empty_permuted(size: Sequence[int], physical_layout: Sequence[int], **options: Any) -> Tensor:
    """Creates a tensor of the given size whose dimensions are laid out in memory in the given order; the last one is contiguous.

    Args:
        size: The shape.
        physical_layout: The dimensions in the order of memory, outermost first.
        **options: dtype, device and requires_grad, as for empty.

    Returns:
        A tensor.

    Raises:
        RuntimeError: physical_layout is not a permutation of the dimensions.

    >>> pyburn.empty_permuted((2, 3), (1, 0)).stride()
    (1, 2)
    """
    extents = tuple(_core.empty(size, device="meta").shape)  # raises for anything but a finite list of integers
    if len(physical_layout) != len(extents) or sorted(physical_layout) != list(range(len(extents))):
        raise _core.ArgumentError(f"[empty_permuted] expected each of {len(extents)} axes once: got {len(physical_layout)} axes")
    stride, step = [0] * len(extents), 1
    for axis in reversed(physical_layout):
        stride[axis] = step
        step *= max(extents[axis], 1)
    return empty_strided(extents, stride, **options)


def frombuffer(buffer: Any, *, dtype: DTypeLike, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """Creates a 1-d tensor on the memory of an object with the buffer protocol, starting at byte `offset`. Read-only buffers are
    copied.

    Args:
        buffer: An object with the buffer protocol.
        dtype: The dtype.
        count: The number of elements; -1 for all.
        offset: The first byte.
        requires_grad: Whether to record gradients.

    Returns:
        A 1-d tensor.

    Raises:
        ValueError: buffer has no buffer protocol, or offset and count do not fit into it.

    >>> pyburn.frombuffer(bytearray([1, 2, 3, 4]), dtype=pyburn.uint8, offset=1)
    tensor([2, 3, 4], dtype=pyburn.uint8)
    """
    import numpy as np

    try:
        size = memoryview(buffer).nbytes
    except TypeError as error:
        raise ValueError("[frombuffer] object does not implement Python buffer protocol") from error
    if size == 0 or count == 0:
        raise ValueError(f"[frombuffer] both buffer length ({size}) and count ({count}) must not be 0")
    if not 0 <= offset < size:
        raise ValueError(
            f"[frombuffer] offset ({offset} bytes) must be non-negative and no greater than buffer length ({size} bytes) minus 1"
        )
    name = dtype if isinstance(dtype, str) else dtype.name
    made = from_numpy(np.frombuffer(buffer, np.uint16 if name == "bfloat16" else name, count, offset))
    if name == "bfloat16":
        made = made.view(_core.bfloat16)
    if requires_grad:
        _core._set_requires_grad(made, True)
    return made


def _may_be_shared(array: Any) -> bool:
    flags = getattr(array, "flags", None)
    return bool(getattr(array, "ndim", 0)) and bool(flags and flags.writeable and flags.aligned) and all(s >= 0 for s in array.strides)


def from_numpy(ndarray: np.ndarray[Any, Any]) -> Tensor:
    """Creates a tensor that shares the memory of a numpy array.

    A read-only array is copied, with a warning. Negative strides are not supported, as in PyTorch.

    Args:
        ndarray: The array.

    Returns:
        A tensor with the shape and dtype of the array.

    Raises:
        TypeError: ndarray is not a numpy array.

    >>> import numpy
    >>> a = numpy.zeros(3)
    >>> t = pyburn.from_numpy(a)
    >>> a[0] = 5
    >>> t
    tensor([5., 0., 0.], dtype=pyburn.float64)
    """
    if not hasattr(ndarray, "__array_interface__") or not hasattr(ndarray, "strides"):
        raise TypeError(f"[from_numpy] expected np.ndarray: got {type(ndarray).__name__}")
    return _core._share(ndarray)


# DLPack device types other than the CPU, as PyTorch device types.
_DEVICES_OF_TORCH = {2: "cuda", 8: "mps", 10: "cuda", 14: "xpu"}


def from_dlpack(ext_tensor: Any, *, device: DeviceLike | None = None, copy: bool | None = None) -> Tensor:
    """Creates a tensor on the memory of a DLPack object of another library, or of a DLPack capsule.

    CPU memory becomes a tensor on the CPU, GPU memory a tensor on the torch backend.

    Args:
        ext_tensor: An object with `__dlpack__`, or a capsule.
        device: Another device: a backend in Python whose library can share the memory (torch, numpy) shares it, else the elements are
            copied.
        copy: False raises BufferError instead of copying, True always copies.

    Returns:
        A tensor.

    Raises:
        DeviceError: The type of device is not supported.

    >>> import numpy
    >>> pyburn.from_dlpack(numpy.arange(3))
    tensor([0, 1, 2])
    """
    kind, index = 1, 0
    if hasattr(ext_tensor, "__dlpack__"):
        kind, index = ext_tensor.__dlpack_device__() if hasattr(ext_tensor, "__dlpack_device__") else (1, 0)
        if kind != 1 and device is None:
            if kind not in _DEVICES_OF_TORCH:
                raise _core.DeviceError(f"[from_dlpack] expected memory of the CPU or of a GPU: got device type {int(kind)}")
            device = f"torch:{_DEVICES_OF_TORCH[kind]}:{index}"
    elif type(ext_tensor).__name__ != "PyCapsule":
        raise TypeError(f"[from_dlpack] expected an object with __dlpack__ or a capsule: got {type(ext_tensor).__name__}")
    shared = _core._share_on(ext_tensor, device) if device is not None and hasattr(ext_tensor, "__dlpack__") else None
    if shared is None and kind != 1:
        raise _core.DeviceError(f"[from_dlpack] {device} cannot share memory of a GPU: got device type {int(kind)}")
    if shared is None:
        shared = _core._from_dlpack(_capsule(ext_tensor))
        if device is not None and shared.device != device:
            if copy is False:
                raise BufferError(f"[from_dlpack] {device} cannot share the memory: the elements would have to be copied")
            return shared.to(device)
    return shared.clone() if copy else shared


def _capsule(exporter: Any) -> Any:
    if not hasattr(exporter, "__dlpack__"):
        return exporter
    try:
        return exporter.__dlpack__(max_version=(1, 0))
    except TypeError:  # a library that only supports DLPack version 0
        return exporter.__dlpack__()


def random_tensor(
    size: int | Sequence[int],
    distribution: Distribution = Distribution.Default,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """Samples a tensor from a distribution; also available as Tensor.random.

    Args:
        size: The size.
        distribution: The distribution.
        dtype: The dtype.
        device: The device.
        requires_grad: Whether autograd records operations on the tensor.
        generator: The random generator; by default the default one.

    Returns:
        A tensor of the given size.

    Raises:
        TypeError: distribution is not a Distribution.

    >>> pyburn.random_tensor((2, 3), pyburn.Distribution.Normal(0, 1)).shape
    pyburn.Size([2, 3])
    >>> pyburn.Tensor.random((4,), pyburn.Distribution.Bernoulli(1.0), dtype=pyburn.bool)
    tensor([True, True, True, True])
    """
    if not isinstance(distribution, Distribution):
        raise TypeError(f"[random_tensor] expected a Distribution: got {type(distribution).__name__}")
    drawn = distribution.draw(size, dtype=dtype, device=device, generator=generator)
    if requires_grad:
        _core._set_requires_grad(drawn, True)
    return drawn


def rand(*size: int | Sequence[int], distribution: Distribution | None = None, **options: Any) -> Tensor:
    """Samples from the uniform distribution on [0, 1), or from the given distribution.

    Keyword arguments: distribution, dtype, device, requires_grad, generator.

    Args:
        *size: The shape, as several ints or one sequence.
        distribution: A distribution; the uniform one by default.
        **options: dtype, device, requires_grad and generator.

    Returns:
        A tensor of the given shape.

    >>> pyburn.rand(2, 3).shape
    pyburn.Size([2, 3])
    >>> pyburn.rand(2, distribution=pyburn.Distribution.Uniform(5, 5))
    tensor([5., 5.])
    """
    if distribution is None:
        return _core.rand(*size, **options)
    return random_tensor(size[0] if len(size) == 1 else size, distribution, **options)  # type: ignore[arg-type]


def is_tensor(obj: Any) -> bool:
    """Returns whether obj is a tensor.

    Args:
        obj: Any object.

    >>> pyburn.is_tensor(pyburn.ones(2)), pyburn.is_tensor([1])
    (True, False)
    """
    return isinstance(obj, Tensor)


def numel(input: Tensor) -> int:
    """Returns the number of elements.

    Args:
        input: The tensor.

    Raises:
        TypeError: input is not a tensor.

    >>> pyburn.numel(pyburn.ones(2, 3))
    6
    """
    if not isinstance(input, Tensor):
        raise TypeError(f"[numel] argument 'input' must be a Tensor: got {type(input).__name__}")
    return input.numel()
