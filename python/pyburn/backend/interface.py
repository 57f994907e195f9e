"""The base class of backends written in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar, overload

import numpy as np

from .. import _core
from .registration import stack

Array = Any  # an array of the backend's library
Method = TypeVar("Method", bound=Callable[..., Any])


@overload
def kernel(op: Method) -> Method: ...
@overload
def kernel(op: str) -> Callable[[Method], Method]: ...
def kernel(op: Any) -> Any:
    """Marks a method of a `Backend` as the kernel of an operation.

    ``@kernel`` marks the kernel of the operation with the name of the method, ``@kernel("sum")`` the kernel of ``sum``.

    Args:
        op: The method, or the name of the operation.

    Returns:
        The method, or a decorator that returns it.

    >>> class Mine(Backend):
    ...     name = "mine"
    ...
    ...     @kernel("exp")
    ...     def exponential(self, x):
    ...         return np.exp(x)
    >>> pyburn.zeros(2, device=Mine().device).exp()
    tensor([1., 1.], device='mine')
    """
    if callable(op):
        return kernel(op.__name__)(op)

    def mark(method: Method) -> Method:
        method._kernel_of = op  # type: ignore[attr-defined]
        return method

    return mark


@dataclass(frozen=True)
class Capabilities:
    """The properties of a backend; read once, when its device is created.

    Attributes:
        dtypes: The dtypes that the backend can store; None for all.
        host_memory: Whether host_view() works: tensors share memory with NumPy and DLPack.
        asynchronous: Whether kernels may return, and fail, before they complete. download() then raises their errors.
        channels_last: Whether convolutions are faster on channels-last tensors.

    >>> Capabilities(dtypes=[pyburn.float32, pyburn.int64]).host_memory
    False
    """

    dtypes: Iterable[_core.DType] | None = None  # the dtypes that it can store; None for all
    host_memory: bool = False  # host_view() works: tensors share memory with numpy and DLPack
    asynchronous: bool = False  # kernels may return, and fail, before they complete: errors are raised in download()
    channels_last: bool = False  # convolutions are faster on channels-last tensors


class Backend:
    """Base class of backends in Python: a name and kernels.

    A kernel receives the tensors as arrays (None for an omitted optional one), then the attributes of the operation as keyword
    arguments, and returns the result, or a tuple if the operation has several. pyburn has checked shapes and dtypes, and promoted and
    broadcast the inputs; kernels never receive views. Kernels must not write to their arguments. Attributes are numbers, tuples, strings
    and ``pyburn.DType``; ``pyburn._core._op_table()`` lists the operations.

    The elements of a tensor are stored in a buffer: a flat array with one entry per element. The methods below keep buffers as numpy
    arrays. A library with its own arrays overrides allocate, as_strided, upload and download, and write if ``array[...] = value`` does
    not work. They may be called on any thread, with the GIL held.

    ``pyburn.testing.conformance.run("name")`` tests a backend.

    >>> class Doubling(Backend):
    ...     name = "doubling"
    ...
    ...     @kernel
    ...     def abs(self, x):
    ...         return 2 * np.abs(x)
    >>> pyburn.tensor([-1.0, 3.0], device=Doubling().device).abs()
    tensor([2., 6.], device='doubling')
    """

    name: str
    capabilities = Capabilities()
    _kernels: ClassVar[dict[str, Callable[..., Any]]] = {}

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        own = {m._kernel_of: m for c in reversed(cls.__mro__) for m in vars(c).values() if hasattr(m, "_kernel_of")}
        cls._kernels = own
        unknown = own.keys() - {row["name"] for row in _core._op_table() if row["row"]}
        if unknown:
            raise ValueError(f"[kernel] no operation has this name: got {', '.join(sorted(unknown))}")

    @property
    def device(self) -> _core.Device:
        """Returns the device of this backend, with autodiff. Backend and device then live until the process ends."""
        if not hasattr(self, "_device"):
            self._device = stack("autodiff", self)
        return self._device

    # --- running operations ---

    def supports(self, op: str, dtype: _core.DType) -> bool | None:
        """Returns whether op can run here with inputs of this dtype. Called once; if False, op is decomposed.

        None means that it depends on the call: supports_call is called each time.

        Args:
            op: The name of the operation.
            dtype: The dtype of its key input.
        """
        return op in self._kernels

    def supports_call(self, op: str, inputs: list[tuple[tuple[int, ...], _core.DType] | None], attributes: dict[str, Any]) -> bool:
        """Returns whether this call can run here. Called only if supports() returned None.

        Args:
            op: The name of the operation.
            inputs: The shape and dtype of each input; None for an omitted optional one.
            attributes: The attributes of the operation.
        """
        return True

    def run(self, op: str, inputs: list[Array], attributes: dict[str, Any], outputs: int) -> tuple[Array, ...]:
        """Calls the kernel of op.

        Args:
            op: The name of the operation.
            inputs: The input arrays; None for an omitted optional one.
            attributes: The attributes of the operation, passed as keyword arguments.
            outputs: The number of results.

        Returns:
            The results, as a tuple of arrays.

        Raises:
            ValueError: The kernel returns the wrong number of results.
        """
        results = self._kernels[op](self, *inputs, **attributes)
        if not isinstance(results, tuple):
            results = (results,)
        if len(results) != outputs or any(result is None for result in results):
            got = "None" if len(results) == outputs else len(results)
            raise ValueError(f"[{op}] the kernel of {self.name} must return {outputs} results: got {got}")
        return results

    def synchronize(self) -> None:
        """Waits until all pending work of the library is complete."""

    def memory(self) -> dict[str, int] | None:
        """Returns the bytes in_use, reserved and peak as counted by the library. None: pyburn counts the bytes of live tensors."""
        return None

    # --- storage ---

    def allocate(self, dtype: _core.DType, elements: int) -> Array:
        """Allocates a buffer.

        Args:
            dtype: The dtype of the elements.
            elements: The number of elements.

        Returns:
            A flat array. Its contents may be arbitrary.
        """
        return np.zeros(elements, storage_dtype(dtype))

    def as_strided(self, buffer: Array, dtype: _core.DType, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Array:
        """Returns the view of a buffer that a tensor refers to, without a copy.

        Args:
            buffer: The buffer.
            dtype: The dtype of the tensor.
            shape: The shape of the tensor.
            strides: The strides of the tensor, in elements.
            offset: The index of its first element in the buffer.
        """
        if 0 in shape:
            return np.empty(shape, buffer.dtype)
        step = buffer.itemsize
        return np.ndarray(shape, buffer.dtype, buffer, offset * step, tuple(s * step for s in strides))

    def read(self, buffer: Array, dtype: _core.DType, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Array:
        """Returns a tensor as the array that kernels receive. numpy has no bfloat16: kernels receive float32.

        Args:
            buffer: The buffer.
            dtype: The dtype of the tensor.
            shape: The shape of the tensor.
            strides: The strides of the tensor, in elements.
            offset: The index of its first element in the buffer.
        """
        array = self.as_strided(buffer, dtype, shape, strides, offset)
        return widen_bfloat16(array) if dtype is _core.bfloat16 and array.dtype == np.uint16 else array

    def write(self, buffer: Array, dtype: _core.DType, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, value: Array) -> None:
        """Writes the result of a kernel to the memory of a tensor.

        A wider dtype of the same kind is rounded; floats are not cast to integers.

        Args:
            buffer: The buffer.
            dtype: The dtype of the tensor.
            shape: The shape of the tensor.
            strides: The strides of the tensor, in elements.
            offset: The index of its first element in the buffer.
            value: The result of the kernel.

        Raises:
            ValueError: The kernel returned an array of the wrong shape.
        """
        target = self.as_strided(buffer, dtype, shape, strides, offset)
        if np.shape(value) != target.shape:
            raise ValueError(f"the kernel of {self.name} gave an array of the wrong shape: got {np.shape(value)} for {target.shape}")
        value = round_to_bfloat16(value) if dtype is _core.bfloat16 and target.dtype == np.uint16 else value
        np.copyto(target, value, casting="same_kind")

    def adopt(self, array: Array, dtype: _core.DType, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array | None:
        """Returns the result of a kernel if it can become the buffer of a new tensor, which saves a copy; else None.

        It must have this dtype, shape and strides and be unshared: neither an input nor an array that the backend keeps.

        Args:
            array: The result of the kernel.
            dtype: The dtype of the tensor.
            shape: The shape of the tensor.
            strides: The strides of the tensor, in elements.
        """
        return None

    def describe(self, array: Array) -> tuple[tuple[int, ...], Any]:
        """Returns the shape and dtype of an array, for operations whose output size depends on the data (nonzero).

        Args:
            array: The result of a kernel.
        """
        return tuple(array.shape), array.dtype

    # --- transfer ---

    def upload(self, data: memoryview, dtype: _core.DType) -> Array:
        """Returns a buffer with a copy of the given elements.

        Args:
            data: The elements; this memory is freed afterwards.
            dtype: Their dtype.
        """
        return np.frombuffer(data, storage_dtype(dtype)).copy()

    def download(self, array: Array, dtype: _core.DType) -> Any:
        """Returns the elements of an array in row-major order, as an object with the buffer protocol.

        Args:
            array: An array returned by read().
            dtype: The dtype of the tensor.
        """
        if dtype is _core.bfloat16:
            array = round_to_bfloat16(array)
        return np.ascontiguousarray(array, storage_dtype(dtype))

    def host_view(self, buffer: Array, dtype: _core.DType) -> Any:
        """Returns the memory of a buffer as an object with the buffer protocol; called if capabilities.host_memory is True.

        Args:
            buffer: The buffer.
            dtype: The dtype of its elements.
        """
        return buffer

    def share(self, exporter: Any) -> Array | None:
        """Returns an array on the memory of an object that exports DLPack, or None if the library cannot share it.

        Args:
            exporter: An object with the method ``__dlpack__``.
        """
        return None

    def strides(self, array: Array) -> tuple[int, ...]:
        """Returns the strides of an array, in elements.

        Args:
            array: An array returned by share().
        """
        return tuple(s // array.itemsize for s in array.strides)


def storage_dtype(dtype: _core.DType) -> np.dtype:
    """Returns the numpy dtype of a buffer: bfloat16 is stored as uint16."""
    return np.dtype(np.uint16 if dtype is _core.bfloat16 else dtype.name)


def compute_dtype(dtype: _core.DType) -> np.dtype:
    """Returns the numpy dtype in which kernels compute."""
    return np.dtype(np.float32 if dtype is _core.bfloat16 else dtype.name)


def widen_bfloat16(bits: np.ndarray) -> np.ndarray:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def round_to_bfloat16(value: Any) -> np.ndarray:
    """Rounds to the nearest bfloat16, ties to even, and returns its bits."""
    bits = np.array(value, np.float32, copy=True).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    quiet = (bits >> 16) | 0x40
    return np.where(np.isnan(value), quiet, rounded).astype(np.uint16)
