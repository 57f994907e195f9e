"""The IDX format of MNIST: a magic number, the shape, the elements."""

from __future__ import annotations

import math
import os
import struct

import numpy as np

from ...io import atomic_write
from .source import DEFLATE_RATIO, ByteReader, File, gunzip, is_gzip, read_bytes

_DTYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def read_idx(file: File) -> np.ndarray:
    r"""Reads the array of an IDX file, which may be gzip-compressed.

    Args:
        file: A path, bytes, or an object with a method `read`.

    Returns:
        The array.

    Raises:
        FormatError: The file is damaged.

    >>> read_idx(b"\x00\x00\x08\x01\x00\x00\x00\x03abc")
    array([97, 98, 99], dtype=uint8)
    """
    data = read_bytes(file)
    packed = is_gzip(data)
    reader = ByteReader(gunzip(data, "idx", 4 + 4 * 255) if packed else data, "idx")
    zero, code, rank = reader.unpack(">HBB", "the magic number")
    if zero != 0 or code not in _DTYPES:
        raise reader.fail(f"not an idx file: it begins with {bytes(reader.data[:4])!r}")
    if rank == 0 or rank > 32:
        raise reader.fail(f"expected 1 to 32 axes: got {rank}")
    shape = reader.unpack(f">{rank}I", "the extents")
    if 0 in shape and math.prod(n for n in shape if n) >= 2**48:
        raise reader.fail(f"the shape {shape} is too large, though nothing is in it")
    dtype = np.dtype(_DTYPES[code])
    size = math.prod(shape) * dtype.itemsize
    if packed:
        if size > DEFLATE_RATIO * len(data):
            raise reader.fail(f"{size} bytes are claimed by the shape {shape}, more than {len(data)} bytes of gzip can hold")
        data = gunzip(data, "idx", reader.at + size)
    if len(data) - reader.at != size:
        found = len(data) - reader.at
        raise reader.fail(
            f"the shape {shape} of {dtype.name} wants {size} bytes: got {'at least ' if packed and found > size else ''}{found}"
        )
    return np.frombuffer(data, dtype, offset=reader.at).reshape(shape).astype(dtype.newbyteorder("="))


def write_idx(file: str | os.PathLike[str], array: np.ndarray) -> None:
    """Writes an array as IDX.

    Args:
        file: The file to write.
        array: The array.

    Raises:
        ValueError: The dtype or shape is not supported.

    >>> pyburn.data.files.write_idx("numbers.idx", np.arange(6, dtype=np.uint8).reshape(2, 3))
    >>> pyburn.data.files.read_idx("numbers.idx").shape
    (2, 3)
    """
    codes = {np.dtype(text).newbyteorder("="): code for code, text in _DTYPES.items()}
    if array.dtype not in codes or not 0 < array.ndim <= 32 or max(array.shape) >= 2**32:
        raise ValueError(f"[idx] an array of {array.dtype} with {array.ndim} axes cannot be written")
    head = struct.pack(f">HBB{array.ndim}I", 0, codes[array.dtype], array.ndim, *array.shape)
    atomic_write(os.fspath(file), head + array.astype(array.dtype.newbyteorder(">")).tobytes())
