"""WAV audio files: PCM with 8 to 32 bits, or floats."""

from __future__ import annotations

import os
import struct
from typing import Any

import numpy as np

from ...io import atomic_write
from .source import ByteReader, File, from_24_bits, read_bytes

_PCM, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE
_SUBFORMAT_TAIL = bytes.fromhex("000000001000800000aa00389b71")


def read_wav(file: File, normalize: bool = True, start: int = 0, frames: int = -1) -> tuple[np.ndarray, int]:
    """Reads a WAV file.

    Args:
        file: A path, bytes or an open binary file.
        normalize: Whether to convert to float32 in [-1, 1]; otherwise integers keep their width (24 bits as int32, 8 bits as uint8).
        start: The first frame.
        frames: The number of frames; -1 for all.

    Returns:
        The samples (channels, frames), and the sampling rate in Hz.

    Raises:
        FormatError: The file is damaged or its format is not supported.
        ValueError: start is out of range.

    >>> pyburn.data.files.write_wav("silence.wav", np.zeros((1, 800)), 8000, bits=16)
    >>> samples, rate = pyburn.data.files.read_wav("silence.wav")
    >>> samples.shape, rate
    ((1, 800), 8000)
    """
    reader = ByteReader(read_bytes(file), "wav")
    riff, _, wave = reader.unpack("<4sI4s", "the RIFF header")
    if riff != b"RIFF" or wave != b"WAVE":
        raise reader.fail("not a WAV file: it does not begin with RIFF....WAVE")
    layout: tuple[str, int, int] | None = None
    while reader.left >= 8:
        kind, size = reader.unpack("<4sI")
        if kind == b"fmt ":
            layout = _layout(ByteReader(reader.take(size, "the format"), "wav"))
        elif kind == b"data":
            if layout is None:
                raise reader.fail("the samples come before their format")
            # Streamed files claim 0 or 0xFFFFFFFF bytes: read to the end.
            body = reader.take(reader.left if size in (0, 0xFFFFFFFF) else size, "the samples")
            return _samples(reader, body, layout, normalize, start, frames)
        else:
            reader.take(size, f"the part {bytes(kind)!r}")
        if size % 2 and reader.left:
            reader.take(1)
    raise reader.fail("the file has no samples")


def _layout(part: ByteReader) -> tuple[str, int, int]:
    code, channels, rate, _, block, bits = part.unpack("<HHIIHH", "the format")
    if code == _EXTENSIBLE:
        _, valid, _, code = part.unpack("<HHIH", "the extensible format")
        if bytes(part.take(14, "the extensible format")) != _SUBFORMAT_TAIL or valid > bits:
            raise part.fail("the extensible format is not one of samples")
    kinds = {(_PCM, 8): "u1", (_PCM, 16): "<i2", (_PCM, 24): "i3", (_PCM, 32): "<i4", (_FLOAT, 32): "<f4", (_FLOAT, 64): "<f8"}
    if (code, bits) not in kinds:
        raise part.fail(f"samples of format {code} with {bits} bits are not supported: PCM of 8, 16, 24, 32 bits, floats of 32, 64")
    if channels == 0 or rate == 0 or block != channels * bits // 8:
        raise part.fail(f"{channels} channels of {bits} bits at {rate} Hz do not match frames of {block} bytes")
    return kinds[code, bits], channels, rate


def _samples(
    reader: ByteReader, body: memoryview, layout: tuple[str, int, int], normalize: bool, start: int, frames: int
) -> tuple[np.ndarray, int]:
    kind, channels, rate = layout
    width = int(kind[-1])
    count = len(body) // (width * channels)
    if start < 0 or start > count:
        raise ValueError(f"[wav] start must be between 0 and the number of frames, {count}: got {start}")
    stop = count if frames < 0 else min(count, start + frames)
    body = body[start * width * channels : stop * width * channels]
    if kind == "i3":
        values: np.ndarray = from_24_bits(body)
    else:
        values = np.frombuffer(body, kind).astype(np.dtype(kind).newbyteorder("="))
    values = np.ascontiguousarray(values.reshape(-1, channels).T)
    if normalize and kind == "u1":
        values = (values.astype(np.float32) - 128) / 128
    elif normalize:
        scale = {"<i2": 2.0**15, "i3": 2.0**23, "<i4": 2.0**31}.get(kind)
        values = values.astype(np.float32) if scale is None else (values / scale).astype(np.float32)
    return values, rate


def write_wav(file: str | os.PathLike[str], samples: Any, rate: int, bits: int | None = None) -> None:
    """Writes a WAV file.

    Args:
        file: The path.
        samples: The samples, (channels, frames) or (frames,). Floats that are written as PCM are clipped to [-1, 1].
        rate: The sampling rate in Hz.
        bits: The PCM width. None writes floats as floats, and integers in their own width.

    Raises:
        ValueError: The shape, rate or bits is not supported, or the file would exceed 4 GiB.

    >>> pyburn.data.files.write_wav("silence.wav", np.zeros((1, 800)), 8000, bits=16)
    """
    atomic_write(os.fspath(file), wav_bytes(samples, rate, bits))


def wav_bytes(samples: Any, rate: int, bits: int | None = None) -> bytes:
    """Returns the content of a WAV file; see `write_wav`."""
    values = np.asarray(samples)
    if values.ndim == 1:
        values = values[None]
    if values.ndim != 2 or not 0 < values.shape[0] < 2**16:
        raise ValueError(f"[wav] expected samples (channels, frames): got shape {values.shape}")
    if not 0 < rate < 2**32:
        raise ValueError(f"[wav] rate must be positive: got {rate}")
    values, code, bits = _encodable(values, bits)
    channels, width = values.shape[0], bits // 8
    interleaved = np.ascontiguousarray(values.T)
    if bits == 24:
        body = interleaved.astype("<i4").view(np.uint8).reshape(-1, 4)[:, :3].tobytes()
    else:
        body = interleaved.astype(interleaved.dtype.newbyteorder("<")).tobytes()
    if len(body) + 64 >= 2**32:
        raise ValueError(f"[wav] a file holds less than 4 GiB: got {len(body)} bytes")
    head = struct.pack("<HHIIHH", code, channels, rate, rate * channels * width, channels * width, bits)
    padding = b"\0" * (len(body) % 2)
    first = struct.pack("<4sI4s4sI", b"RIFF", 4 + 8 + len(head) + 8 + len(body) + len(padding), b"WAVE", b"fmt ", len(head)) + head
    return first + struct.pack("<4sI", b"data", len(body)) + body + padding


def _encodable(values: np.ndarray, bits: int | None) -> tuple[np.ndarray, int, int]:
    if bits not in (None, 8, 16, 24, 32):
        raise ValueError(f"[wav] bits must be 8, 16, 24 or 32: got {bits}")
    if values.dtype.kind == "f":
        if bits is None:
            return values.astype(np.float64 if values.dtype == np.float64 else np.float32), _FLOAT, 64 if values.dtype == np.float64 else 32
        top = 2.0 ** (bits - 1)
        whole = np.clip(np.rint(values.astype(np.float64) * top), -top, top - 1)
        return (whole + 128).astype(np.uint8) if bits == 8 else whole.astype(np.int16 if bits == 16 else np.int32), _PCM, bits
    own = {"uint8": 8, "int16": 16, "int32": 32}.get(values.dtype.name)
    if own is None or (bits is not None and bits != own and not (bits == 24 and own == 32)):
        raise ValueError(f"[wav] samples of {values.dtype} cannot be written with {bits or 'their'} bits")
    return values, _PCM, bits or own
