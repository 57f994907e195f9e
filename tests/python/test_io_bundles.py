"""Bundles of pyburn, also hostile ones."""

from __future__ import annotations

import io
import json
import struct
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest

import pyburn
from pyburn.io import Bundle

sys.path.insert(0, str(Path(__file__).resolve().parent))
from tensor_files import every_dtype, same


def test_bundles(tmp_path: Path) -> None:
    path = tmp_path / "model.pyburn"
    config = {"hidden": 3, "nested": {"a": [1, 2.5, None, "text"]}}
    Bundle.save(path, every_dtype(), config=config, metadata={"note": "naïve"}, sections={"graph": b"\0\1\2", "empty": b""})
    for mmap in (False, True):
        bundle = Bundle(path, mmap=mmap)
        assert bundle.config == config and bundle.metadata == {"note": "naïve"} and bundle.sections == {"graph": b"\0\1\2", "empty": b""}
        assert all(same(bundle.tensors[name].load(), t) for name, t in every_dtype().items())
    memory = io.BytesIO()
    Bundle.save(memory, {})
    assert Bundle(memory.getvalue()).config is None and not Bundle(memory.getvalue()).tensors

    data = path.read_bytes()
    for cut in (0, 5, 40, len(data) - 1):
        with pytest.raises(pyburn.FormatError, match="truncated|not a pyburn file"):
            Bundle(data[:cut])
    with pytest.raises(pyburn.FormatError, match="version"):
        Bundle(data[:8] + b"\2" + data[9:])
    with pytest.raises(pyburn.FormatError, match="table of contents' is damaged"):
        Bundle(data.replace(b'"hidden"', b'"hid en"'))
    at = data.index(struct.pack("<3f", 0, 1, 2))
    damaged = Bundle(data[:at] + b"\1" + data[at + 1 :])
    with pytest.raises(pyburn.FormatError, match="'float32' is damaged"):
        damaged.tensors["float32"].load()
    assert Bundle(data[:at] + b"\1" + data[at + 1 :], verify=False).tensors["float32"].load().shape == (2, 3)


def bundle_with(table: Any, data: bytes = b"\0" * 64) -> bytes:
    text = json.dumps(table).encode()
    head = b"PYBURN\r\n" + struct.pack("<II", 1, 0)
    return head + data + text + struct.pack("<QQII", 16 + len(data), len(text), zlib.crc32(text), 1) + b"PYBURN\r\n"


def row(**changes: Any) -> dict[str, Any]:
    return {"name": "x", "dtype": "float32", "shape": [4], "offset": 64, "bytes": 16, "crc32": zlib.crc32(b"\0" * 16), **changes}


def test_hostile_bundles() -> None:
    table: dict[str, Any] = {"config": None, "metadata": {}, "tensors": [row()], "sections": []}
    assert Bundle(bundle_with(table)).tensors["x"].load().tolist() == [0] * 4
    for change, reason in (
        ({"tensors": [row(offset=80)]}, "outside the file"),
        ({"tensors": [row(offset=2**64 - 8)]}, "outside the file"),
        ({"tensors": [row(offset=0)]}, "outside the file"),
        ({"tensors": [row(bytes=15)]}, "has the wrong size"),
        ({"tensors": [row(shape=[5])]}, "has the wrong size"),
        ({"tensors": [row(shape=[2**62, 8])]}, "too large"),
        ({"tensors": [row(shape=[-4])]}, "expected a size"),
        ({"tensors": [row(shape=3)]}, "list of sizes"),
        ({"tensors": [row(dtype="float31")]}, "unsupported"),
        ({"tensors": [row(dtype=3)]}, "must be a string"),
        ({"tensors": [row(offset="a")]}, "integer"),
        ({"tensors": [row(), row()]}, "duplicate tensor name"),
        ({"tensors": [3]}, "has no entry"),
        ({"metadata": []}, "not an object"),
        ({"metadata": {"a": 1}}, "not a string"),
        ({"sections": [{"name": "a", "offset": 60, "bytes": 100, "crc32": 0}]}, "outside the file"),
    ):
        with pytest.raises(pyburn.FormatError, match=reason):
            Bundle(bundle_with({**table, **change}))
    with pytest.raises(pyburn.FormatError, match="has no entry 'config'"):
        Bundle(bundle_with({}))
    with pytest.raises(pyburn.FormatError, match="'a' is damaged"):
        Bundle(bundle_with({**table, "sections": [{"name": "a", "offset": 64, "bytes": 3, "crc32": 0}]}))


# --- models -------------------------------------------------------------------------------------------------------
