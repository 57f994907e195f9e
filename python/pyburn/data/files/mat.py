"""MAT files of version 5, as MATLAB writes them with `-v6` and `-v7`: numeric arrays, text, cells, structs."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from .source import DEFLATE_RATIO, ByteReader, File, FormatError, read_bytes

_STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_TEXT = {16: "utf-8", 17: "utf-16", 18: "utf-32"}
_MATRIX, _COMPRESSED = 14, 15
_CELL, _STRUCT, _OBJECT, _CHAR, _SPARSE = 1, 2, 3, 4, 5
_NUMERIC = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}
_UNREAD = {3: "an object", 16: "a function handle", 17: "an opaque object", 18: "an object"}
_DEEPEST = 32


class SparseColumns(NamedTuple):
    """A CSC matrix, as stored by MATLAB: column j has `values[pointers[j]:pointers[j + 1]]` in the rows `rows[...]`.

    >>> pyburn.data.files.SparseColumns((2, 1), np.array([5.0]), np.array([1]), np.array([0, 1])).shape
    (2, 1)
    """

    shape: tuple[int, int]
    values: np.ndarray
    rows: np.ndarray
    pointers: np.ndarray


def read_mat(file: File, names: Iterable[str] | None = None) -> dict[str, Any]:
    """Reads the variables of a MAT file.

    Numeric arrays keep MATLAB's dimensions (a vector is a matrix with one row or column). Text is a str, or a list of str for a character
    matrix; a cell is an object array, a struct a dict or an array of dicts, a sparse matrix SparseColumns.

    Args:
        file: A path, bytes or an open binary file.
        names: The names of the variables to convert; None for all.

    Returns:
        The variables by name.

    Raises:
        FormatError: The file is damaged or of another version.
        KeyError: There is no such variable.

    >>> pyburn.data.files.read_mat("recording.mat")["data"].shape  # doctest: +SKIP
    (1000, 28)
    """
    data = read_bytes(file)
    wanted = None if names is None else set(names)
    reader = ByteReader(data, "mat")
    if data[:8] == b"\x89HDF\r\n\x1a\n" or data[:19] == b"MATLAB 7.3 MAT-file":
        raise reader.fail("the file has version 7.3, which is HDF5: save it with '-v7', or read it with h5py")
    reader.take(124, "the header")
    version, mark = reader.unpack("<H2s", "the header")
    if mark not in (b"IM", b"MI"):
        raise reader.fail("not a MAT file of version 5: the mark of its byte order is missing (version 4 is not read)")
    order = "<" if mark == b"IM" else ">"
    if version not in (0x0100, 0x0001):
        raise reader.fail(f"the file has version 0x{version:04x}: expected 0x0100")
    found: dict[str, Any] = {}
    while reader.left >= 8:
        kind, size = reader.unpack(order + "II")
        body = reader.take(size, "a variable")
        if kind == _COMPRESSED:
            kind, body = _inflated(body, order)
        elif reader.left:
            reader.take(min(-size % 8, reader.left))
        if kind != _MATRIX:
            raise reader.fail(f"a variable has the type {kind}: expected a matrix")
        name, value = _Matrix(body, order, 0).read(wanted)
        if value is not _SKIPPED:
            found[name] = value
    if wanted is not None and wanted - found.keys():
        raise KeyError(f"[mat] the file has no {sorted(wanted - found.keys())}")
    return found


_SKIPPED = object()


def _inflated(body: memoryview, order: str) -> tuple[int, memoryview]:
    machine = zlib.decompressobj()
    try:
        head = machine.decompress(body, 8)
        if len(head) < 8:
            raise FormatError("[mat] a compressed variable is too short")
        kind, size = (int.from_bytes(head[i : i + 4], "little" if order == "<" else "big") for i in (0, 4))
        if size > DEFLATE_RATIO * len(body):
            raise FormatError(f"[mat] a variable claims {size} bytes in {len(body)} compressed ones")
        data = machine.decompress(machine.unconsumed_tail, size) if size else b""
    except zlib.error as error:
        raise FormatError(f"[mat] a compressed variable is damaged: {error}") from None
    if len(data) < size:
        raise FormatError(f"[mat] a compressed variable has {len(data)} of {size} bytes")
    return kind, memoryview(data)


class _Matrix:
    """A matrix and, through its cells and fields, nested ones."""

    def __init__(self, body: memoryview, order: str, depth: int) -> None:
        if depth > _DEEPEST:
            raise FormatError("[mat] cells and structs are nested too deeply")
        self.reader, self.order, self.depth = ByteReader(body, "mat"), order, depth

    def element(self) -> tuple[int, memoryview]:
        """Returns the type and bytes of the next element; small elements are stored inside the tag."""
        (word,) = self.reader.unpack(self.order + "I", "a tag")
        if word >> 16:
            kind, size = word & 0xFFFF, word >> 16
            body = self.reader.take(4, "a small part")
            if size > 4:
                raise self.reader.fail(f"a small part claims {size} bytes")
            return kind, body[:size]
        (size,) = self.reader.unpack(self.order + "I", "a tag")
        body = self.reader.take(size, "a part")
        self.reader.take(min(-size % 8, self.reader.left))
        return word, body

    def numbers(self, what: str) -> np.ndarray:
        kind, body = self.element()
        if kind not in _STORED:
            raise self.reader.fail(f"{what} are stored as type {kind}")
        dtype = np.dtype(self.order + _STORED[kind])
        if len(body) % dtype.itemsize:
            raise self.reader.fail(f"{what} have {len(body)} bytes, no multiple of {dtype.itemsize}")
        return np.frombuffer(body, dtype)

    def read(self, wanted: set[str] | None = None) -> tuple[str, Any]:
        flags = self.numbers("flags")
        if len(flags) != 2 or flags.dtype.kind != "u":
            raise self.reader.fail("a matrix does not begin with its flags")
        kind, bits = int(flags[0]) & 0xFF, int(flags[0]) >> 8
        if kind in _UNREAD and kind != _OBJECT:
            # These have no dimensions; the next element is their name.
            name = self.text(self.element(), "a name")
            if wanted is not None and name not in wanted:
                return name, _SKIPPED
            raise self.reader.fail(f"{name!r} is {_UNREAD[kind]}, which is not read; choose others with names=[...]")
        shape = tuple(int(n) for n in self.numbers("extents"))
        name = self.text(self.element(), "a name")
        if wanted is not None and name not in wanted:
            return name, _SKIPPED
        # An empty array may have any other dimensions, but NumPy rejects those whose product is too large.
        if not 2 <= len(shape) <= 32 or min(shape) < 0 or math.prod(n for n in shape if n) >= 2**48:
            raise self.reader.fail(f"{name!r} has the shape {shape}")
        count = math.prod(shape)
        if kind in _NUMERIC:
            return name, self.array(name, shape, count, kind, bits)
        if kind == _CHAR:
            return name, self.characters(name, shape, count)
        if kind == _CELL:
            return name, _filled(shape, [self.inner() for _ in range(self.counted(name, count))])
        if kind in (_STRUCT, _OBJECT):
            if kind == _OBJECT:
                self.element()  # the class name
            return name, self.struct(name, shape, count)
        if kind == _SPARSE:
            return name, self.sparse(name, shape, bits)
        raise self.reader.fail(f"{name!r} has the unknown class {kind}")

    def counted(self, name: str, count: int) -> int:
        """Returns the number of nested matrices, after checking that the file can hold them, before memory is allocated."""
        if count * 8 > self.reader.left:
            raise self.reader.fail(f"{name!r} claims {count} parts in {self.reader.left} bytes")
        return count

    def array(self, name: str, shape: tuple[int, ...], count: int, kind: int, bits: int) -> np.ndarray:
        dtype = np.dtype(_NUMERIC[kind])
        parts = [self.numbers(f"the numbers of {name!r}")]
        if bits & 8:  # complex
            parts.append(self.numbers(f"the imaginary numbers of {name!r}"))
        if any(len(part) != count for part in parts):
            raise self.reader.fail(f"{name!r} has the shape {shape} but {len(parts[0])} numbers")
        real = parts[0].astype(dtype)
        if len(parts) == 2:
            real = real + 1j * parts[1].astype(dtype)
        elif bits & 2:
            real = real.astype(bool)
        return real.reshape(shape, order="F")

    def text(self, element: tuple[int, memoryview], what: str) -> str:
        kind, body = element
        if kind in _TEXT:
            codec = _TEXT[kind] + ("" if kind == 16 else "-le" if self.order == "<" else "-be")
            return bytes(body).decode(codec, "replace")
        if kind in (1, 2):
            return bytes(body).decode("latin-1")
        if kind == 4:
            return bytes(body).decode("utf-16-le" if self.order == "<" else "utf-16-be", "replace")
        raise self.reader.fail(f"{what} is stored as type {kind}")

    def characters(self, name: str, shape: tuple[int, ...], count: int) -> Any:
        text = self.text(self.element(), f"the text of {name!r}")
        if len(text) != count:
            if shape[0] == 1:  # UTF-8 and UTF-16 text may have fewer characters than code units
                return text
            raise self.reader.fail(f"{name!r} has the shape {shape} but {len(text)} characters")
        if count == 0:
            return ""
        if shape[0] == 1 and len(shape) == 2:
            return text
        rows = np.array(list(text)).reshape(shape, order="F").reshape(shape[0], -1)
        return ["".join(row) for row in rows]

    def inner(self) -> Any:
        kind, body = self.element()
        if kind != _MATRIX:
            raise self.reader.fail(f"a cell or field has the type {kind}: expected a matrix")
        if not body:  # MATLAB's encoding of []
            return np.zeros((0, 0))
        return _Matrix(body, self.order, self.depth + 1).read()[1]

    def struct(self, name: str, shape: tuple[int, ...], count: int) -> Any:
        width = self.numbers("the length of field names")
        kind, body = self.element()
        if len(width) != 1 or not 0 < int(width[0]) <= 4096 or kind not in (1, 2) or len(body) % int(width[0]):
            raise self.reader.fail(f"the field names of {name!r} are damaged")
        step = int(width[0])
        fields = [bytes(body[i : i + step]).split(b"\0")[0].decode("latin-1") for i in range(0, len(body), step)]
        if not fields:
            return _filled(shape, [{} for _ in range(self.counted(name, count))]) if count != 1 else {}
        self.counted(name, count * len(fields))
        items = [{field: self.inner() for field in fields} for _ in range(count)]
        return items[0] if count == 1 else _filled(shape, items)

    def sparse(self, name: str, shape: tuple[int, ...], bits: int) -> SparseColumns:
        rows, pointers = self.numbers("rows"), self.numbers("pointers")
        values = self.numbers("values").astype(np.float64)
        if bits & 8:
            imaginary = self.numbers("imaginary values").astype(np.float64)
            if len(imaginary) != len(values):
                raise self.reader.fail(f"the parts of the sparse matrix {name!r} do not match")
            values = values + 1j * imaginary
        rows, pointers = rows.astype(np.int64), pointers.astype(np.int64)
        if len(shape) != 2 or len(pointers) != shape[1] + 1 or (np.diff(pointers) < 0).any() or pointers[0] != 0:
            raise self.reader.fail(f"the parts of the sparse matrix {name!r} do not match")
        count = int(pointers[-1])
        if count > min(len(rows), len(values)) or (count and (rows[:count].min() < 0 or rows[:count].max() >= shape[0])):
            raise self.reader.fail(f"the parts of the sparse matrix {name!r} do not match")
        kept = values[:count].astype(bool) if bits & 2 else values[:count]
        return SparseColumns((shape[0], shape[1]), kept, rows[:count], pointers)


def _filled(shape: tuple[int, ...], items: list[Any]) -> np.ndarray:
    array = np.empty(len(items), object)
    for i, item in enumerate(items):  # one by one: otherwise NumPy would convert nested arrays
        array[i] = item
    return array.reshape(shape, order="F")
