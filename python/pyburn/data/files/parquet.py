"""Parquet files, read with pyarrow."""

from __future__ import annotations

import bisect
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dataset import Dataset
from .source import File, FormatError
from .table import Table


def _pyarrow() -> Any:
    try:
        import pyarrow.parquet  # type: ignore[import-untyped, import-not-found]
    except ImportError:
        raise ImportError("reading Parquet needs pyarrow: pip install pyarrow") from None
    return pyarrow


def _opened(file: File) -> Any:
    pyarrow = _pyarrow()
    source = pyarrow.BufferReader(file) if isinstance(file, bytes) else os.fspath(file) if isinstance(file, (str, os.PathLike)) else file
    try:
        return pyarrow.parquet.ParquetFile(source)
    except (pyarrow.ArrowInvalid, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise FormatError(f"[parquet] {error}") from None


def read_parquet(file: File, columns: Sequence[str] | None = None) -> Table:
    """Reads a Parquet file as a table. Numbers keep their dtype; text and nested values become objects.

    Args:
        file: A path, bytes or an open binary file.
        columns: The columns to read; None for all.

    Returns:
        The table.

    Raises:
        ImportError: pyarrow is not installed.
        KeyError: There is no such column.
        FormatError: The file is damaged.

    >>> pyburn.data.files.read_parquet("people.parquet", columns=["age"])["age"]  # doctest: +SKIP
    """
    opened = _opened(file)
    _check_columns(opened.schema_arrow.names, columns)
    try:
        return _table(opened.read(columns=None if columns is None else list(columns)))
    except (_pyarrow().ArrowException, OSError) as error:
        raise FormatError(f"[parquet] {error}") from None


def _check_columns(names: list[str], columns: Sequence[str] | None) -> None:
    for name in columns or ():
        if name not in names:
            raise KeyError(f"[parquet] no column {name!r}: there are {', '.join(map(repr, names))}")


def _table(table: Any) -> Table:
    made = {}
    for name in table.column_names:
        column = table.column(name)
        kind = str(column.type)
        if kind.startswith(("int", "uint", "float", "double", "bool", "halffloat")) and not (
            column.null_count and not kind.startswith(("f", "d"))
        ):
            made[name] = column.to_numpy()
        elif kind.startswith(("int", "uint")):  # integers with missing values
            made[name] = np.array([np.nan if value is None else value for value in column.to_pylist()], np.float64)
        else:
            objects = np.empty(len(column), object)
            for i, value in enumerate(column.to_pylist()):
                objects[i] = value
            made[name] = objects
    return Table(made)


class ParquetDataset(Dataset[dict[str, Any]]):
    """The rows of a Parquet file as dicts. Row groups are read on access; the last one is cached.

    Args:
        file: The path.
        columns: The columns to read; None for all.
        transform: Applied to each row.

    Raises:
        ImportError: pyarrow is not installed.
        KeyError: There is no such column.
        FormatError: The file is damaged.

    >>> pyburn.data.files.ParquetDataset("people.parquet")[0]  # doctest: +SKIP
    {'name': 'Ada', 'age': 36}
    """

    def __init__(
        self, file: str | os.PathLike[str], columns: Sequence[str] | None = None, transform: Callable[[Any], Any] | None = None
    ) -> None:
        opened = _opened(file)
        _check_columns(opened.schema_arrow.names, columns)
        self.file, self.columns, self.transform = os.fspath(file), columns, transform
        counts = [opened.metadata.row_group(i).num_rows for i in range(opened.num_row_groups)]
        self._ends = np.cumsum(counts, dtype=np.int64).tolist()
        self._held: tuple[int, Table] | None = None

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __getitem__(self, index: int) -> Any:
        at = range(len(self))[index]
        group = bisect.bisect_right(self._ends, at)
        held = self._held
        if held is None or held[0] != group:
            try:
                part = _opened(self.file).read_row_group(group, columns=None if self.columns is None else list(self.columns))
            except (_pyarrow().ArrowException, OSError) as error:
                raise FormatError(f"[parquet] {error}") from None
            held = self._held = (group, _table(part))
        row = held[1].row(at - (self._ends[group - 1] if group else 0))
        return row if self.transform is None else self.transform(row)
