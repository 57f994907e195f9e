"""What the tests of files share: golden files, tensors of every dtype, arrays of numpy byte by byte."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pyburn

FOLDER = Path(__file__).resolve().parents[1] / "golden" / "io"
EXPECTED: dict[str, Any] = json.loads((FOLDER / "expected.json").read_text())["expected"]
DTYPES = ["float64", "float32", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]


def every_dtype() -> dict[str, pyburn.Tensor]:
    tensors = {name: pyburn.arange(6).cast(getattr(pyburn, name)).view(2, 3) for name in DTYPES}
    return tensors | {"scalar": pyburn.full((), 2.5), "empty": pyburn.zeros(0, 3), "transposed": pyburn.arange(6.0).view(2, 3).T}


def same(a: pyburn.Tensor, b: pyburn.Tensor) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and a.ne(b).sum().item() == 0


def npy(header: str, data: bytes = b"", version: bytes = b"\1\0") -> bytes:
    return b"\x93NUMPY" + version + struct.pack("<H", len(header)) + header.encode("latin1") + data
