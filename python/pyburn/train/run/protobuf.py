"""Protocol buffers by field number, without generated classes: what TensorBoard's event files need."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

_MOST_FIELDS = 200_000  # per message, when reading


def pack(fields: Mapping[int, Any]) -> bytes:
    """Encodes a message.

    Args:
        fields: The values by field number. The type of a value decides its encoding: int and bool are varints, float is a double,
            np.float32 a float, str and bytes are strings, a dict is a message, an array is a packed repeated field, and a list is a
            repeated field. None is omitted.

    >>> pyburn.train.run.protobuf.pack({1: "loss", 2: 300}).hex()
    '0a046c6f737310ac02'
    """
    return b"".join(
        _field(number, value) for number, values in fields.items() for value in (values if isinstance(values, list) else [values])
    )


def _field(number: int, value: Any) -> bytes:
    if value is None:
        return b""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    if isinstance(value, np.float32):
        return _varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, float):
        return _varint(number << 3 | 1) + struct.pack("<d", value)
    data = pack(value) if isinstance(value, Mapping) else value.encode() if isinstance(value, str) else bytes(value)
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(number: int) -> bytes:
    number &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def unpack(data: bytes) -> dict[int, list[Any]]:
    """Decodes the fields of a message: lists of int, float and bytes by field number.

    Raises:
        ValueError: The message is damaged, or has too many fields.

    >>> pyburn.train.run.protobuf.unpack(bytes.fromhex("0a046c6f737310ac02"))
    {1: [b'loss'], 2: [300]}
    """
    found: dict[int, list[Any]] = {}
    at = count = 0
    while at < len(data):
        key, at = _read_varint(data, at)
        value: Any
        if key & 7 == 0:
            value, at = _read_varint(data, at)
        elif key & 7 in (1, 5):
            form = "<d" if key & 7 == 1 else "<f"
            end = at + struct.calcsize(form)
            if end > len(data):
                raise ValueError("a number is truncated")
            (value,), at = struct.unpack_from(form, data, at), end
        elif key & 7 == 2:
            length, at = _read_varint(data, at)
            value, at = data[at : at + length], at + length
            if at > len(data):
                raise ValueError("a field is truncated")
        else:
            raise ValueError(f"unknown wire type {key & 7}")
        found.setdefault(key >> 3, []).append(value)
        count += 1
        if count > _MOST_FIELDS:
            raise ValueError("too many fields")
    return found


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
    raise ValueError("a varint is truncated")
