"""Zip files and deflated data, also hostile ones."""

from __future__ import annotations

import io
import struct
import sys
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest

import pyburn
from pyburn.io import open_tensors

sys.path.insert(0, str(Path(__file__).resolve().parent))
from tensor_files import npy


@pytest.mark.parametrize("level", range(10))
def test_deflated_data(level: int) -> None:
    """What zlib packs at any level, of any kind of data, comes out again."""
    rng = np.random.default_rng(level)
    arrays = {
        "empty": np.zeros(0, "u1"),
        "one": np.ones(1, "u1"),
        "zeros": np.zeros(70000, "u1"),
        "noise": rng.integers(0, 256, 70000).astype("u1"),
        "few": rng.integers(0, 3, 40000).astype("u1"),
        "far": np.tile(rng.integers(0, 256, 30000).astype("u1"), 3),
        "text": np.frombuffer(Path(__file__).read_bytes(), "u1"),
    }
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as file:
        for name, array in arrays.items():
            one = io.BytesIO()
            np.save(one, array)
            file.writestr(f"{name}.npy", one.getvalue())
    loaded = pyburn.io.load_npz(io.BytesIO(memory.getvalue()))
    assert all(np.array_equal(loaded[name].numpy(), array) for name, array in arrays.items())


def test_a_zip_that_promises_too_much() -> None:
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("x.npy", npy("{'descr': '|u1', 'fortran_order': False, 'shape': (9,), }", b"123456789"))
    data = bytearray(memory.getvalue())
    at = data.index(b"PK\1\2")
    data[at + 24 : at + 28] = struct.pack("<I", 1 << 30)
    with pytest.raises(pyburn.FormatError, match="data is too short"):
        pyburn.io.load_npz(io.BytesIO(data))
    assert zlib.crc32(b"") == 0


def zip_of(entries: list[tuple[str, bytes]], *, in64: bool = False, flags: int = 0, method: int = 0, comment: bytes = b"") -> bytes:
    """By hand, so that every number can be wrong; `in64` puts sizes and offsets where those over 4 GB go."""
    data, directory = b"", b""
    for name, content in entries:
        offset, size, crc = len(data), len(content), zlib.crc32(content)
        encoded, short = name.encode(), 0xFFFFFFFF if in64 else size
        data += struct.pack("<IHHHIIIIHH", 0x04034B50, 20, flags, method, 0, crc, short, short, len(encoded), 0) + encoded + content
        extra = struct.pack("<HHQQQ", 1, 24, size, size, offset) if in64 else b""
        where = 0xFFFFFFFF if in64 else offset
        directory += struct.pack(
            "<IHHHHIIIIHHHHHII", 0x02014B50, 45, 45, flags, method, 0, crc, short, short, len(encoded), len(extra), 0, 0, 0, 0, where
        )
        directory += encoded + extra
    end = b""
    if in64:
        end = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, len(entries), len(entries), len(directory), len(data))
        end += struct.pack("<IIQI", 0x07064B50, 0, len(data) + len(directory), 1)
        return (
            data
            + directory
            + end
            + struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, len(comment))
            + comment
        )
    return (
        data
        + directory
        + struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, len(entries), len(entries), len(directory), len(data), len(comment))
        + comment
    )


ONE = npy("{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }", b"abc")


def test_zip_files() -> None:
    for data in (zip_of([("x.npy", ONE)]), zip_of([("x.npy", ONE)], in64=True), zip_of([("x.npy", ONE)], comment=b"PK\5\6 and more")):
        assert pyburn.io.load_npz(io.BytesIO(data))["x"].tolist() == [97, 98, 99]
    memory = io.BytesIO()
    pyburn.io.save_npz(memory, **{f"x{i}": pyburn.tensor([i % 100], dtype=pyburn.uint8) for i in range(66000)})
    with zipfile.ZipFile(memory) as file:  # more entries than the plain format can count
        assert len(file.namelist()) == 66000 and file.read("x65999.npy")[-1] == 99
    assert len(open_tensors(memory.getvalue())) == 66000


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (zip_of([("x.npy", ONE), ("x.npy", ONE)]), "duplicate entry"),
        (zip_of([("x.npy", ONE)], flags=1), "encrypted"),
        (zip_of([("x.npy", ONE)], method=12), "compression method: got 12"),
        (zip_of([("x.npy", ONE)], method=8), "damaged"),
        (zip_of([("x.npy", ONE)]).replace(b"PK\1\2", b"PK\1\3"), "directory is damaged"),
        (zip_of([("x.npy", ONE)], in64=True).replace(b"PK\6\7", b"PK\6\0"), "directory is damaged"),
        (zip_of([("x.npy", ONE)], in64=True).replace(b"PK\6\6", b"PK\6\0"), "directory is damaged"),
        (zip_of([("x.npy", ONE)])[:-4] + b"\xff\xff\xff\0\0\0", "truncated|outside"),
        (b"PK\3\4" + b"\0" * 100, "truncated"),
        (zip_of([("x.npy", ONE)]).replace(b"x.npy", b"y.npy", 1), "two names"),
        (zip_of([("x.npy", ONE)]).replace(b"abc", b"abd"), "checksum"),
        (zip_of([("\xff.npy", ONE)]).replace("\xff".encode(), b"\xff\xff"), "UTF-8"),
    ],
)
def test_damaged_zip_files(data: bytes, reason: str) -> None:
    with pytest.raises(pyburn.FormatError, match=reason):
        pyburn.io.load_npz(io.BytesIO(data))


# --- bundles ------------------------------------------------------------------------------------------------------
