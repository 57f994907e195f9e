"""Batches on their way from a worker process: what they are made of is pickled, large tensors and arrays follow as they lie in memory."""

from __future__ import annotations

import io
import pickle
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import Tensor
from ..tensor.creation import from_numpy

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_LARGE = 1 << 16  # bytes
_LIKE_NUMPY = {"float32", "float64", "float16", "uint8", "int8", "int16", "int32", "int64", "bool"}


class _Pickler(ForkingPickler):
    def reducer_override(self, value: Any) -> Any:
        if type(value) is not Tensor or value.nbytes < _LARGE or value.requires_grad or not value.is_contiguous():
            return NotImplemented
        if value.device != _core.Device("cpu") or value.dtype.name not in _LIKE_NUMPY:
            return NotImplemented
        return from_numpy, (value.numpy(),)


def send(connection: Connection, value: Any) -> None:
    """Sends anything that can be pickled; nothing is sent of what cannot."""
    file, buffers = io.BytesIO(), []  # type: ignore[var-annotated]

    def keep(buffer: pickle.PickleBuffer) -> bool:
        """Whether the buffer stays in the pickle: small ones do, and those that do not lie in one piece."""
        try:
            raw = buffer.raw()
        except BufferError:
            return True
        if raw.nbytes < _LARGE:
            return True
        buffers.append(raw)
        return False

    _Pickler(file, 5, True, keep).dump(value)
    connection.send([raw.nbytes for raw in buffers])
    connection.send_bytes(file.getbuffer())
    for raw in buffers:
        connection.send_bytes(raw)


def receive(connection: Connection) -> Any:
    """What the other end has sent. Large tensors lie in memory of pyburn, which is used again."""
    sizes = connection.recv()
    content = connection.recv_bytes()
    buffers = []
    for size in sizes:
        memory = _core.empty(size, dtype=_core.uint8, device="cpu").numpy()
        connection.recv_bytes_into(memory)
        buffers.append(memory)
    return pickle.loads(content, buffers=buffers)
