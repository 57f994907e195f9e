"""Sets in SQLite, as Burn keeps them: a table a split, whose `row_id` counts from 1. Rows are read when they are asked for."""

from __future__ import annotations

import io
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..._core import Tensor
from ..dataset import Dataset
from .message_pack import unpack_message
from .source import FormatError

_ARRAY = b"\x93NUMPY"
_ARRAYS = threading.Lock()  # numpy reads headers with ast, in which two threads of Python 3.11 disturb each other


def _quoted(name: str) -> str:
    if not name or "\0" in name:
        raise ValueError(f"[sqlite] {name!r} cannot be the name of a table or column")
    return '"' + name.replace('"', '""') + '"'


class SqliteDataset(Dataset[Any]):
    """The rows of one table of a database: dicts by name of column, in which arrays are arrays again.

    A table with the one column `item`, as Burn writes it, holds MessagePack; its rows are what that says.
    """

    def __init__(self, db_file: str | os.PathLike[str], split: str, transform: Callable[[Any], Any] | None = None) -> None:
        self.db_file, self.split, self.transform = Path(db_file), split, transform
        if not self.db_file.exists():
            raise FileNotFoundError(f"[sqlite] no file {self.db_file}")
        self._local = threading.local()
        info = self._query(f"PRAGMA table_info({_quoted(split)})")
        self.columns = [row[1] for row in info if row[1].lower() != "row_id"]
        if len(self.columns) == len(info):
            there = [row[0] for row in self._query("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")]
            known = f"the table {split!r} has no column row_id" if info else f"no table {split!r}: there are {', '.join(there) or 'none'}"
            raise FormatError(f"[sqlite] {self.db_file.name}: {known}")
        self._packed = [row[1].lower() for row in info] == ["row_id", "item"] and info[1][2].lower() == "blob"
        self._select = f"SELECT {', '.join(map(_quoted, self.columns))} FROM {_quoted(split)} WHERE row_id = ?"
        (count,) = self._query(f"SELECT coalesce(max(row_id), 0) FROM {_quoted(split)}")[0]
        if not isinstance(count, int) or count < 0:
            raise FormatError(f"[sqlite] the table {split!r} has the row_id {count!r}")
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> Any:
        at = range(len(self))[index]
        found = self._query(self._select, (at + 1,))
        if not found:
            raise FormatError(f"[sqlite] the table {self.split!r} has no row_id {at + 1}: its rows are not numbered without gaps")
        values = [_restored(value) for value in found[0]]
        if self._packed:
            item: Any = unpack_message(values[0]) if isinstance(values[0], bytes) else values[0]
        else:
            item = dict(zip(self.columns, values))
        return item if self.transform is None else self.transform(item)

    def _query(self, statement: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """Each thread has a connection of its own, for reading only."""
        connection = getattr(self._local, "connection", None)
        try:
            if connection is None:
                connection = sqlite3.connect(f"{self.db_file.absolute().as_uri()}?mode=ro", uri=True)
                self._local.connection = connection
            return connection.execute(statement, values).fetchall()
        except (sqlite3.Error, UnicodeDecodeError, OverflowError) as error:
            raise FormatError(f"[sqlite] {self.db_file.name}: {error}") from None

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_local"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _local=threading.local())


class SqliteDatasetWriter:
    """Writes dicts into a new database, a table a split. The file appears under its name when the writer is closed without error.

    >>> with SqliteDatasetWriter("digits.db") as writer:
    ...     number = writer.write("train", {"image": np.zeros((8, 8)), "label": 3})
    >>> SqliteDataset("digits.db", "train")[0]["label"]
    3
    """

    def __init__(self, db_file: str | os.PathLike[str], overwrite: bool = False) -> None:
        self.db_file = Path(db_file)
        if self.db_file.exists() and not overwrite:
            raise FileExistsError(f"[sqlite] {self.db_file} exists (overwrite=True replaces it)")
        self._unfinished = self.db_file.with_name(self.db_file.name + ".unfinished")
        self._unfinished.unlink(missing_ok=True)
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = sqlite3.connect(self._unfinished, check_same_thread=False)
        self._columns: dict[str, list[str]] = {}

    def write(self, split: str, item: Mapping[str, Any]) -> int:
        """Adds one item and gives its number. The first item of a split decides the names and types of its columns."""
        with self._lock:
            if self._connection is None:
                raise ValueError("[sqlite] the writer is closed")
            values = {name: _stored(name, value) for name, value in item.items()}
            if split not in self._columns:
                if not values or any(name.lower() == "row_id" for name in values):
                    raise ValueError(f"[sqlite] an item needs columns, none of them row_id: got {list(values)}")
                kinds = ", ".join(f"{_quoted(name)} {_kind(value)}" for name, value in values.items())
                self._connection.execute(f"CREATE TABLE {_quoted(split)} (row_id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, {kinds})")
                self._columns[split] = list(values)
            names = self._columns[split]
            if set(names) != set(values):
                raise ValueError(f"[sqlite] the items of {split!r} have the columns {names}: got {list(values)}")
            marks = ", ".join("?" * len(names))
            into = f"INSERT INTO {_quoted(split)} ({', '.join(map(_quoted, names))}) VALUES ({marks})"
            return int(self._connection.execute(into, [values[name] for name in names]).lastrowid or 0) - 1

    def write_all(self, split: str, items: Iterable[Mapping[str, Any]]) -> None:
        """Adds items one after another."""
        for item in items:
            self.write(split, item)

    def close(self) -> None:
        """Finishes the file and gives it its name."""
        if self._connection is not None:
            self._connection.commit()
            self._connection.close()
            self._connection = None
            os.replace(self._unfinished, self.db_file)

    def discard(self) -> None:
        """Throws away what was written."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
            self._unfinished.unlink(missing_ok=True)

    def __enter__(self) -> SqliteDatasetWriter:
        return self

    def __exit__(self, kind: Any, *rest: Any) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()


def _kind(value: Any) -> str:
    return {int: "INTEGER", float: "REAL", str: "TEXT", bytes: "BLOB"}.get(type(value), "")


def _stored(name: str, value: Any) -> Any:
    if isinstance(value, Tensor):
        value = value.detach().cpu().numpy()
    if isinstance(value, np.ndarray):
        out = io.BytesIO()
        np.save(out, value, allow_pickle=False)
        return out.getvalue()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return int(value)
    if value is None or isinstance(value, (int, float, str, bytes)):
        return value
    raise TypeError(f"[sqlite] the column {name!r} may hold numbers, text, bytes and arrays: got {type(value).__name__}")


def _restored(value: Any) -> Any:
    if isinstance(value, bytes) and value.startswith(_ARRAY):
        try:
            with _ARRAYS:
                return np.load(io.BytesIO(value), allow_pickle=False)
        except (ValueError, EOFError, OSError, SyntaxError, MemoryError, TypeError, OverflowError, RecursionError) as error:
            raise FormatError(f"[sqlite] an array is damaged: {error}") from None
    return value
