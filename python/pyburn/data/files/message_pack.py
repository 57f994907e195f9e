"""A MessagePack decoder, for the rows that Burn writes to SQLite."""

from __future__ import annotations

import struct
from typing import Any

from .source import ByteReader, FormatError

_NUMBERS = {0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q", 0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q"}
_SIZES = {0xD9: ">B", 0xDA: ">H", 0xDB: ">I", 0xC4: ">B", 0xC5: ">H", 0xC6: ">I", 0xDC: ">H", 0xDD: ">I", 0xDE: ">H", 0xDF: ">I"}


def unpack_message(data: bytes) -> Any:
    """Decodes MessagePack: numbers, text, bytes, lists, dicts, None.

    Args:
        data: The encoded value.

    Returns:
        The value.

    Raises:
        FormatError: The bytes are damaged.

    >>> pyburn.data.files.unpack_message(bytes([0x93, 1, 2, 0xA1, 0x61]))
    [1, 2, 'a']
    """
    reader = ByteReader(data, "message pack")
    try:
        value = _value(reader, 0)
    except (struct.error, UnicodeDecodeError, TypeError) as error:
        raise FormatError(f"[message pack] the bytes are damaged at {reader.at}: {error}") from None
    if reader.left:
        raise reader.fail(f"{reader.left} bytes follow the value")
    return value


def _value(reader: ByteReader, depth: int) -> Any:
    if depth > 64:
        raise reader.fail("lists and maps are nested too deeply")
    code = reader.take(1)[0]
    if code <= 0x7F:
        return code
    if code >= 0xE0:
        return code - 256
    if code <= 0x8F:
        return _map(reader, code & 15, depth)
    if code <= 0x9F:
        return _list(reader, code & 15, depth)
    if code <= 0xBF:
        return bytes(reader.take(code & 31)).decode()
    if code in (0xC0, 0xC2, 0xC3):
        return {0xC0: None, 0xC2: False, 0xC3: True}[code]
    if code in _NUMBERS:
        return reader.unpack(_NUMBERS[code])[0]
    if code in _SIZES:
        size = reader.unpack(_SIZES[code])[0]
        if code in (0xDC, 0xDD):
            return _list(reader, size, depth)
        if code in (0xDE, 0xDF):
            return _map(reader, size, depth)
        body = bytes(reader.take(size))
        return body if code <= 0xC6 else body.decode()
    raise reader.fail(f"the code 0x{code:02x} is not known")


def _list(reader: ByteReader, count: int, depth: int) -> list[Any]:
    if count > reader.left:
        raise reader.fail(f"a list claims {count} items in {reader.left} bytes")
    return [_value(reader, depth + 1) for _ in range(count)]


def _map(reader: ByteReader, count: int, depth: int) -> dict[Any, Any]:
    if 2 * count > reader.left:
        raise reader.fail(f"a map claims {count} items in {reader.left} bytes")
    return {_value(reader, depth + 1): _value(reader, depth + 1) for _ in range(count)}
