"""Data sets in SQLite, in Burn's layout: a table per split, with `row_id` counting from 1. Rows are read on access."""

from __future__ import annotations

import io
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..._core import Tensor
from ..damage import format_errors
from ..dataset import Dataset
from . import limits
from .message_pack import unpack_message
from .source import FormatError

_ARRAY = b"\x93NUMPY"
_ARRAYS = threading.Lock()  # NumPy parses headers with ast, which is not thread-safe in Python 3.11


def _quoted(name: str) -> str:
    if not name or "\0" in name:
        raise ValueError(f"[sqlite] {name!r} cannot be the name of a table or column")
    return '"' + name.replace('"', '""') + '"'


# The actions that the queries above need. SQLite denies everything else in a schema: views, triggers, functions, other files.
_ALLOWED = {
    (sqlite3.SQLITE_SELECT, None),
    (sqlite3.SQLITE_FUNCTION, "coalesce"),
    (sqlite3.SQLITE_FUNCTION, "max"),
    (sqlite3.SQLITE_PRAGMA, "table_xinfo"),
}


def _authorised(action: int, first: str | None, second: str | None, database: str | None, inside: str | None) -> int:
    allowed = action == sqlite3.SQLITE_READ or (action, second if action == sqlite3.SQLITE_FUNCTION else first) in _ALLOWED
    return sqlite3.SQLITE_OK if allowed and inside is None else sqlite3.SQLITE_DENY


def _connected(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.execute("PRAGMA mmap_size = 0")
    if hasattr(connection, "setlimit"):  # Python 3.11
        connection.setlimit(0, limits.SQLITE_LARGEST_VALUE)  # SQLITE_LIMIT_LENGTH
    connection.set_authorizer(_authorised)
    return connection


class SqliteDataset(Dataset[Any]):
    """The rows of one table of a database, as dicts by column name; serialized arrays are restored.

    Only tables are read, not views: nothing in the schema of an untrusted file is executed, and each query is limited in time and memory.
    In a table with the single column `item`, as written by Burn, rows are decoded from MessagePack.

    Args:
        db_file: The database.
        split: The name of the table.
        transform: Applied to each row.

    Raises:
        FileNotFoundError: There is no such file.
        FormatError: The file is damaged, or has no such table.

    >>> with pyburn.data.files.SqliteDatasetWriter("numbers.db") as writer:
    ...     _ = writer.write("train", {"x": 0.5, "label": 1})
    >>> pyburn.data.files.SqliteDataset("numbers.db", "train")[0]
    {'x': 0.5, 'label': 1}
    """

    def __init__(self, db_file: str | os.PathLike[str], split: str, transform: Callable[[Any], Any] | None = None) -> None:
        self.db_file, self.split, self.transform = Path(db_file), split, transform
        if not self.db_file.exists():
            raise FileNotFoundError(f"[sqlite] no file {self.db_file}")
        self._local = threading.local()
        there = [row[0] for row in self._query("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0")]
        if split.lower() not in {name.lower() for name in there if isinstance(name, str)}:  # excludes views and virtual tables
            shown = ", ".join(str(name)[:80] for name in there[:50] if not str(name).startswith("sqlite_"))
            raise FormatError(f"[sqlite] {self.db_file.name}: no table {split!r}: there are {shown or 'none'}")
        info = self._query(f"PRAGMA table_xinfo({_quoted(split)})")
        if any(row[6] for row in info):
            raise FormatError(f"[sqlite] {self.db_file.name}: the table {split!r} has generated columns, which are not read")
        self.columns = [row[1] for row in info if row[1].lower() != "row_id"]
        if len(self.columns) == len(info):
            raise FormatError(f"[sqlite] {self.db_file.name}: the table {split!r} has no column row_id")
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
        """Runs a query on a read-only connection of the current thread."""
        connection = getattr(self._local, "connection", None)
        try:
            if connection is None:
                connection = self._local.connection = _connected(self.db_file)
            deadline = time.thread_time() + limits.SQLITE_SECONDS
            connection.set_progress_handler(lambda: time.thread_time() > deadline, 100_000)
            return connection.execute(statement, values).fetchall()
        except (sqlite3.Error, UnicodeDecodeError, OverflowError) as error:
            raise FormatError(f"[sqlite] {self.db_file.name}: {error}") from None

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_local"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _local=threading.local())


class SqliteDatasetWriter:
    """Writes dicts to a new database with a table per split. The file appears under its name when the writer is closed without error.

    Args:
        db_file: The database.
        overwrite: Whether to replace an existing file.

    Raises:
        FileExistsError: The file exists and overwrite is False.

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
        """Appends an item and returns its index. The first item of a split determines its columns.

        Args:
            split: The name of the split.
            item: The sample.

        Raises:
            ValueError: The writer is closed, or the columns do not match.
            TypeError: A value has an unsupported type.
        """
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
        """Appends several items.

        Args:
            split: The name of the split.
            items: The samples.
        """
        for item in items:
            self.write(split, item)

    def close(self) -> None:
        """Commits the data and renames the file to its final name."""
        if self._connection is not None:
            try:
                self._connection.commit()
            except sqlite3.Error:  # such as a full disk
                self.discard()
                raise
            self._connection.close()
            self._connection = None
            os.replace(self._unfinished, self.db_file)

    def discard(self) -> None:
        """Discards everything written."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
            for path in (self._unfinished, self._unfinished.with_name(self._unfinished.name + "-journal")):
                path.unlink(missing_ok=True)

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
        with format_errors("[sqlite] an array is damaged"), _ARRAYS:
            return np.load(io.BytesIO(value), allow_pickle=False)
    return value
