"""Transfer of batches from worker processes: objects are pickled, large tensors and arrays are sent as raw memory, on Linux as shared
memory.
"""

from __future__ import annotations

import io
import itertools
import mmap
import os
import pickle
from multiprocessing import reduction
from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import Tensor
from ..tensor.creation import from_numpy

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_LARGE = 1 << 16  # bytes
_SHARED = hasattr(os, "memfd_create") and hasattr(reduction, "send_handle")
_LIKE_NUMPY = {"float32", "float64", "float16", "uint8", "int8", "int16", "int32", "int64", "bool"}


class _Pickler(reduction.ForkingPickler):
    def reducer_override(self, value: Any) -> Any:
        if type(value) is not Tensor or value.nbytes < _LARGE or value.requires_grad or not value.is_contiguous():
            return NotImplemented
        if value.device != _core.Device("cpu") or value.dtype.name not in _LIKE_NUMPY:
            return NotImplemented
        return from_numpy, (value.numpy(),)


def send(connection: Connection, value: Any) -> None:
    """Sends a picklable object. If pickling fails, nothing is sent."""
    file, buffers = io.BytesIO(), []  # type: ignore[var-annotated]

    def keep(buffer: pickle.PickleBuffer) -> bool:
        """Whether the buffer stays in the pickle: small and non-contiguous ones do."""
        try:
            raw = buffer.raw()
        except BufferError:
            return True
        if raw.nbytes < _LARGE:
            return True
        buffers.append(raw)
        return False

    _Pickler(file, 5, True, keep).dump(value)
    shared = bool(buffers) and _SHARED
    connection.send(([raw.nbytes for raw in buffers], shared))
    connection.send_bytes(file.getbuffer())
    if shared:
        _send_shared(connection, buffers)
    else:
        for raw in buffers:
            connection.send_bytes(raw)


def receive(connection: Connection) -> Any:
    """Receives an object from the other end."""
    sizes, shared = connection.recv()
    content = connection.recv_bytes()
    return pickle.loads(content, buffers=_receive_shared(connection, sizes) if shared else _receive_copies(connection, sizes))


def _receive_copies(connection: Connection, sizes: list[int]) -> list[Any]:
    buffers = []
    for size in sizes:
        memory = _core.empty(size, dtype=_core.uint8, device="cpu").numpy()
        connection.recv_bytes_into(memory)
        buffers.append(memory)
    return buffers


# Anonymous shared memory is freed when the last process unmaps it, even if that process crashes.


def _send_shared(connection: Connection, buffers: list[memoryview]) -> None:
    starts, total = _places([raw.nbytes for raw in buffers])
    file = os.memfd_create("pyburn-batch")
    try:
        os.ftruncate(file, total)
        with _mapped(file, total) as memory:
            for start, raw in zip(starts, buffers):
                memory[start : start + raw.nbytes] = raw
        reduction.send_handle(connection, file, None)  # type: ignore[arg-type]
    finally:
        os.close(file)


def _receive_shared(connection: Connection, sizes: list[int]) -> list[Any]:
    starts, total = _places(sizes)
    file = reduction.recv_handle(connection)
    try:
        memory = memoryview(_mapped(file, total))
    finally:
        os.close(file)
    return [memory[start : start + size] for start, size in zip(starts, sizes)]


def _mapped(file: int, size: int) -> mmap.mmap:
    return mmap.mmap(file, size, mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0))


def _places(sizes: list[int]) -> tuple[list[int], int]:
    """Returns the start offsets of buffers, aligned to 64 bytes, and the total size."""
    ends = list(itertools.accumulate(-(-size // 64) * 64 for size in sizes))
    return [0, *ends[:-1]], ends[-1]
