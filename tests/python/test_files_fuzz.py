"""Damaged files: a reader gives a result or FormatError, quickly, and takes no more memory than the file is worth."""

from __future__ import annotations

import gzip
import io
import pickle
import random
import sqlite3
import struct
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyburn import FormatError, chemistry, eeg
from pyburn.data import files

sys.path.insert(0, str(Path(__file__).resolve().parent))

from edf_files import edf_bytes

MOST_MEMORY = 16 << 20
MOST_SECONDS = 2.0
INTERESTING = [
    b"\x00",
    b"\xff",
    b"\x7f",
    b"\xff\xff",
    b"\xff\xff\xff\xff",
    b"\xff\xff\xff\x7f",
    b"\x00\x00\x00\x80",
    bytes(8),
    b"-1",
    b"9" * 8,
    b"nan ",
]


def damaged(data: bytes, rng: random.Random) -> bytes:
    """The data with a few bytes changed, put in, left out or doubled."""
    made = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 4])):
        at = rng.randrange(len(made) + 1)
        kind = rng.randrange(6)
        if kind == 0 and at < len(made):
            made[at] = rng.randrange(256)
        elif kind == 1:
            piece = rng.choice(INTERESTING)
            made[at : at + len(piece)] = piece
        elif kind == 2:
            made[at:at] = rng.choice(INTERESTING)
        elif kind == 3:
            del made[at : at + rng.choice([1, 2, 8, 64])]
        elif kind == 4:
            made[at:at] = made[at : at + rng.choice([4, 32, 128])]
        elif rng.random() < 0.3:
            del made[at:]
    return bytes(made)


def recording(data: bytes) -> None:
    opened = eeg.read_edf(data, allow_truncated=True)
    for i in range(len(opened.signals)):
        for segment in range(min(3, len(opened.segments))):
            opened.signal(i, segment=segment)


def mat_bytes(compressed: bool) -> bytes:
    scipy_io = pytest.importorskip("scipy.io")
    out = io.BytesIO()
    cell = np.empty((1, 2), object)
    cell[:] = [[np.eye(2), "word"]]
    content = {"a": np.arange(6.0).reshape(2, 3), "c": cell, "s": {"x": "text", "y": np.ones(3, np.int8)}, "z": np.array([1 + 2j])}
    scipy_io.savemat(out, content, do_compression=compressed)
    return out.getvalue()


def wav_data() -> bytes:
    head = struct.pack("<HHIIHH", 1, 2, 8000, 48000, 6, 24)
    body = bytes(range(120))
    return b"RIFF\x9c\0\0\0WAVEfmt \x10\0\0\0" + head + b"data" + struct.pack("<I", len(body)) + body


def pickled() -> bytes:
    sparse = pytest.importorskip("scipy.sparse")
    return pickle.dumps([sparse.csr_matrix(np.eye(4)), {"a": np.arange(5), 3: [1, 2, (3, "x")]}], 2)


def database(path: Path) -> bytes:
    connection = sqlite3.connect(path)
    out = io.BytesIO()
    np.save(out, np.eye(3))
    connection.execute("CREATE TABLE train (row_id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, a BLOB, b TEXT)")
    connection.executemany("INSERT INTO train (a, b) VALUES (?, ?)", [(out.getvalue(), "x"), (b"y", None)])
    connection.commit()
    connection.close()
    return path.read_bytes()


def annotated() -> bytes:
    notes = [b"+0\x14\x14\x00+0.5\x150.25\x14eyes\x14\x00", b"+7\x14\x14\x00"]
    return edf_bytes([("a", np.arange(20), 10), ("b", np.arange(8), 4)], 2, annotations=notes, kind="EDF+D")


SDF = b"""x
 program

  3  2  0  0  0  0  0  0  0  0999 V2000
    0.0000    1.0000   -0.5000 C   0  0  0  0  0  0  0  0  0  0  0  0
    1.5000    0.0000    0.0000 C   0  0  0  0  0  0  0  0  0  0  0  0
    2.5000    0.0000    0.0000 O   0  5  0  0  0  0  0  0  0  0  0  0
  1  2  2  0
  2  3  1  0
M  CHG  1   3  -1
M  END
> <y>
1

$$$$
"""
SMILES = b"C[C@@H](N)C(=O)Oc1ccc2[nH]c3c(C#N)cccc3c2c1.[Na+].[13CH3]/C=C\\[O-]"

CASES: dict[str, tuple[Callable[[], bytes], Callable[[bytes], Any], int]] = {
    "idx": (lambda: struct.pack(">HBB2I", 0, 12, 2, 3, 4) + bytes(48), files.read_idx, 2000),
    "idx.gz": (lambda: gzip.compress(struct.pack(">HBB2I", 0, 8, 2, 30, 40) + bytes(1200)), files.read_idx, 2000),
    "wav": (wav_data, files.read_wav, 2000),
    "edf": (annotated, recording, 2000),
    "bdf": (lambda: edf_bytes([("a", np.arange(20), 10), ("Status", np.arange(20), 10)], 2, bdf=True), recording, 2000),
    "mat": (lambda: mat_bytes(False), files.read_mat, 2000),
    "mat, compressed": (lambda: mat_bytes(True), files.read_mat, 2000),
    "pickle": (pickled, files.read_pickled_arrays, 2000),
    "message pack": (
        lambda: b"\x93\xa5hello\xcb\x3f\xf8\0\0\0\0\0\0\x82\xa1a\xcd\x01\x02\xa1b\xdc\x00\x02\x01\xc0",
        files.unpack_message,
        2000,
    ),
    "sdf": (lambda: SDF, chemistry.read_sdf, 2000),
    "smiles": (lambda: SMILES, lambda data: chemistry.molecule_from_smiles(data.decode("latin-1")), 2000),
    "graph text": (lambda: b"2\n3 1\n0 1 1\n2 2 0 2\n0 1 1\n1 0\n1 0\n", files.read_graph_text, 2000),
    "csv": (lambda: b'a,b,"c d"\n1,2.5,x\n3,,"y ""z"""\n', files.read_csv, 2000),
}


@pytest.mark.parametrize("name", CASES)
def test_damaged_files_raise_format_errors_and_nothing_else(name: str) -> None:
    make, read, count = CASES[name]
    data = make()
    read(data)
    rng = random.Random(name)
    refused = 0
    for number in range(count):
        broken = damaged(data, rng)
        watched = number % 5 == 0  # watching every allocation takes long
        if watched:
            tracemalloc.start()
        began = time.process_time()
        try:
            read(broken)
        except FormatError:
            refused += 1
        except Exception as error:
            raise AssertionError(f"{name}, case {number}: {type(error).__name__}: {error}\n{broken!r}") from error
        finally:
            taken = tracemalloc.get_traced_memory()[1] if watched else 0
            tracemalloc.stop()
        assert taken < MOST_MEMORY, f"{name}, case {number}: {broken!r}"
        assert time.process_time() - began < MOST_SECONDS, f"{name}, case {number}: {broken!r}"
    assert 0 < refused < count


def test_damaged_databases(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    data = database(path)
    rng = random.Random(0)
    for number in range(300):
        path.write_bytes(damaged(data, rng))
        try:
            rows = files.SqliteDataset(path, "train")
            for i in range(min(len(rows), 3)):
                rows[i]
        except FormatError:
            pass
        except Exception as error:
            raise AssertionError(f"case {number}: {type(error).__name__}: {error}") from error
