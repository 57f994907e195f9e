"""Damaged and hostile files: every reader gives a result or FormatError, in bounded time and memory. The long run is the program itself."""

from __future__ import annotations

import gzip
import io
import pickle
import re
import sqlite3
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyburn
from pyburn import FormatError, chemistry
from pyburn.data import files

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fuzz"))

import damaged_files


@pytest.mark.parametrize("name", damaged_files.FORMATS)
def test_damaged_files(name: str) -> None:
    if name in ("png", "jpeg", "bmp"):
        pytest.importorskip("PIL")
    # A process of its own: it forks, and must not do so with all that other tests leave.
    program = [sys.executable, damaged_files.__file__, "--format", name, "--runs", "100"]
    ran = subprocess.run(program, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    read, refused, found = map(int, re.findall(r" (\d+)(?= |$)", ran.stdout.splitlines()[0]))
    assert read + refused == 100 and found == 0


def doubling(depth: int, key: str) -> Any:
    """A dict of two references to one dict, and so on: small in a pickle, 2**depth entries when unfolded."""
    value: Any = {"x": np.zeros(1)}
    for _ in range(depth):
        value = {key: value, key + "2": value}
    return value


def test_a_pickle_that_refers_to_its_parts_twice_is_not_unfolded() -> None:
    found = files.read_pickled_arrays(pickle.dumps(doubling(45, "a"), 2))
    assert found["a"] is found["a2"]


def test_the_tensors_of_a_checkpoint_that_unfolds_are_refused(tmp_path: Path) -> None:
    value: Any = {"x": pyburn.zeros(1)}
    for _ in range(40):
        value = {"a": value, "b": value}
    pyburn.save(value, tmp_path / "bomb.pt")
    assert pyburn.load(tmp_path / "bomb.pt")["a"] is not None  # objects are shared, as in the file
    with pytest.raises(FormatError, match="kUnfoldingFactor"):
        pyburn.io.open_tensors(tmp_path / "bomb.pt")


def test_a_gzip_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files.limits, "MOST_INFLATED", 1 << 20)
    assert len(files.read_lines(gzip.compress(b"\n" * (1 << 20)))) == 1 << 20
    with pytest.raises(FormatError, match="MOST_INFLATED"):
        files.read_lines(gzip.compress(b"\n" * ((1 << 20) + 1)))


def test_messages_may_quote_bytes_that_are_no_text() -> None:
    file = pyburn.io.safetensors.save({"weight": pyburn.ones(3)}).replace(b"weight", b"we\xffght")
    with pytest.raises(FormatError):
        pyburn.io.open_tensors(file)


def database(path: Path, *statements: str) -> Path:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return path


ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS row_id, x FROM n"


@pytest.mark.parametrize(
    "statements",
    [
        [f"CREATE VIEW train AS {ENDLESS}"],
        ["CREATE TABLE train (row_id INTEGER PRIMARY KEY, a GENERATED ALWAYS AS (hex(zeroblob(400000000))) VIRTUAL)"],
        ["CREATE VIRTUAL TABLE train USING fts5(row_id, a)"],
    ],
)
def test_sqlite_reads_tables_only(tmp_path: Path, statements: list[str]) -> None:
    try:
        path = database(tmp_path / "a.db", *statements)
    except sqlite3.OperationalError as error:
        pytest.skip(str(error))
    began = time.process_time()
    with pytest.raises(FormatError):
        files.SqliteDataset(path, "train")
    assert time.process_time() - began < 2


def test_a_query_of_sqlite_has_a_limit_of_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = "INSERT INTO train WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 100000) SELECT x, x FROM n"
    path = database(tmp_path / "a.db", "CREATE TABLE train (row_id, a)", rows)
    assert len(files.SqliteDataset(path, "train")) == 100000
    monkeypatch.setattr(files.limits, "SQLITE_SECONDS", 0.0)
    with pytest.raises(FormatError, match="interrupted"):
        files.SqliteDataset(path, "train")


@pytest.mark.parametrize("names", [[f"c{i}" for i in range(200_000)], ["x"] * 200_000, ["c" * 5_000_000]])
def test_wide_csv_headers_take_linear_time(names: list[str]) -> None:
    began = time.process_time()
    try:
        files.read_csv((",".join(names) + "\n").encode())
    except FormatError as error:
        assert len(str(error)) < 500
    assert time.process_time() - began < 5


def test_an_sdf_with_an_impossible_count() -> None:
    good = damaged_files.SDF3
    assert len(chemistry.read_sdf(good)[0]) == 2
    for counts in (b"999999 1", b"2 999999", b"-1 1", b"99999999999999999999 1", b"x 1", b"2"):
        with pytest.raises(FormatError):
            chemistry.read_sdf(good.replace(b"COUNTS 2 1 0 0 0", b"COUNTS " + counts))


def test_an_archive_with_an_impossible_offset(tmp_path: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("a.txt", "text")
    data = out.getvalue()
    at = data.index(b"PK\x05\x06")
    path = tmp_path / "a.zip"
    path.write_bytes(data[: at + 16] + b"\xff\xff\xff\x7f" + data[at + 20 :])
    from pyburn.data.unpack import unpack_members

    with pytest.raises(FormatError):
        unpack_members(path, tmp_path, {"a.txt": "b.txt"})
