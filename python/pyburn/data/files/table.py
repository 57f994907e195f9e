"""CSV and TSV files: tables with typed columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..._core import Tensor
from ...tensor import from_numpy
from ..dataset import Dataset
from .source import File, FormatError, name_of, read_text

MISSING = (  # as in pandas
    *("", "NA", "N/A", "n/a", "#N/A", "#NA", "#N/A N/A", "<NA>", "null", "NULL", "None", "NaN", "nan", "-NaN", "-nan"),
    *("1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
)
_TRUTH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


class Table:
    """Named columns of equal length: int64, float64 (missing values are NaN), bool, or object (str; missing values are None).

    Args:
        columns: The columns by name.

    Raises:
        ValueError: The lengths differ.

    >>> table = pyburn.data.files.Table({"x": np.array([1.0, 2.0]), "name": np.array(["a", "b"], object)})
    >>> table.row(1)
    {'x': 2.0, 'name': 'b'}
    """

    def __init__(self, columns: Mapping[str, np.ndarray]) -> None:
        self._columns = dict(columns)
        if len({len(column) for column in self._columns.values()}) > 1:
            raise ValueError("[table] the columns differ in length")

    @property
    def columns(self) -> list[str]:
        """The column names."""
        return list(self._columns)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()), ()))

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._columns:
            raise KeyError(f"[table] no column {name!r}: there are {_some(self.columns)}")
        return self._columns[name]

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def row(self, index: int) -> dict[str, Any]:
        """Returns a row as a dict by column name, with Python numbers.

        Args:
            index: The row.
        """
        return {name: _plain(column[index]) for name, column in self._columns.items()}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self.row(i) for i in range(len(self)))

    def numpy(self, columns: Sequence[str] | None = None, dtype: Any = np.float32) -> np.ndarray:
        """Returns numeric columns as a matrix (rows, columns).

        Args:
            columns: The columns; None for all numeric ones.
            dtype: The dtype of the matrix.

        Raises:
            KeyError: There is no such column.
            ValueError: A column is text.
        """
        names = [name for name in self.columns if self[name].dtype != object] if columns is None else list(columns)
        for name in names:
            if self[name].dtype == object:
                raise ValueError(f"[table] the column {name!r} is text: encode it with codes({name!r}), or leave it out")
        return np.stack([self[name].astype(dtype) for name in names], axis=1) if names else np.zeros((len(self), 0), dtype)

    def tensor(self, columns: Sequence[str] | None = None, dtype: Any = np.float32) -> Tensor:
        """Returns numeric columns as a tensor (rows, columns); arguments as for `numpy`.

        Args:
            columns: The names of the columns; None for all.
            dtype: The dtype.
        """
        return from_numpy(self.numpy(columns, dtype))

    def codes(self, name: str) -> tuple[np.ndarray, list[Any]]:
        """Encodes a column as category indices; returns the indices (-1 for missing values) and the sorted categories.

        Args:
            name: The name of the column.
        """
        column = self[name]
        present = [value for value in column.tolist() if value is not None and value == value]
        categories = sorted(set(present))
        number = {value: i for i, value in enumerate(categories)}
        return np.array([number.get(value, -1) for value in column.tolist()], np.int64), categories

    def __repr__(self) -> str:
        kinds = ", ".join(f"{name}: {'str' if column.dtype == object else column.dtype}" for name, column in self._columns.items())
        return f"Table({len(self)} rows; {kinds})"


def _some(names: Sequence[str]) -> str:
    """Formats the first names for a message."""
    return ", ".join(repr(name[:80]) for name in names[:50]) + (f" and {len(names) - 50} more" if len(names) > 50 else "")


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def read_csv(
    file: File,
    *,
    delimiter: str | None = None,
    header: bool = True,
    names: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    dtypes: Mapping[str, type] | None = None,
    missing: Sequence[str] = MISSING,
    quote: str = '"',
    skip: int = 0,
    encoding: str = "utf-8",
    decimal: str = ".",
    comment: str | None = None,
) -> Table:
    r"""Reads a CSV file, which may be gzip-compressed.

    Args:
        file: A path, bytes or an open binary file.
        delimiter: The delimiter; by default a tab for .tsv files and a comma for others. " " means any whitespace.
        header: Whether the first line has the column names.
        names: The column names; by default those of the header, or "0", "1", ...
        columns: The columns to read; None for all.
        dtypes: The type by column: int, float, bool or str. By default the first of these that all values fit.
        missing: The values that mean NaN or None.
        quote: The quote character.
        skip: The number of lines to skip at the start.
        encoding: The encoding.
        decimal: The decimal separator.
        comment: Lines that start with it are skipped.

    Returns:
        The table.

    Raises:
        FormatError: The file is damaged, or a value does not fit its type.
        KeyError: There is no such column.
        ValueError: An argument is invalid.

    >>> read_csv(b"name,age\nAda,36\nAlan,\n")
    Table(2 rows; name: str, age: float64)
    """
    text = read_text(file, "csv", encoding)
    if delimiter is None:
        delimiter = "\t" if name_of(file).removesuffix(".gz").endswith((".tsv", ".tab")) else ","
    if len(decimal) != 1 or decimal == delimiter:
        raise ValueError(f"[csv] decimal must be one character, and not the delimiter: got {decimal!r}")
    rows = _rows(text, delimiter, quote, comment)
    del rows[:skip]
    if header and not rows:
        raise FormatError(f"[csv] {name_of(file)} has no line with the names of the columns")
    width = len(rows[0][1]) if rows else len(names or ())
    found = rows.pop(0)[1] if header else [str(i) for i in range(width)]
    labels = list(names) if names is not None else found
    if len(labels) != width:
        raise ValueError(f"[csv] {len(labels)} names are given for {width} columns")
    position: dict[str, int] = {}
    for at, name in enumerate(labels):
        if position.setdefault(name, at) != at:
            raise FormatError(f"[csv] two columns are called {name[:80]!r} (give others with names=[...])")
    for line, row in rows:
        if len(row) != width:
            raise FormatError(f"[csv] line {line} has {len(row)} fields: expected {width}")
    chosen = labels if columns is None else list(columns)
    for name in (*chosen, *(dtypes or ())):
        if name not in position:
            raise KeyError(f"[csv] no column {name!r}: there are {_some(labels)}")
    absent = frozenset(missing)
    made = {}
    for name in chosen:
        values = [row[position[name]] for _, row in rows]
        made[name] = _typed(name, values, absent, (dtypes or {}).get(name), rows, decimal)
    return Table(made)


class _Lines:
    """The lines of a text without comment lines; lines inside of quoted fields are always kept."""

    def __init__(self, text: str, mark: str | None) -> None:
        self._lines, self._mark = io.StringIO(text, newline=""), mark
        self.number, self.begins_row = 0, True

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        while True:
            line = next(self._lines)
            self.number += 1
            if not (self.begins_row and self._mark and line.startswith(self._mark)):
                self.begins_row = False
                return line


def _rows(text: str, delimiter: str, quote: str, comment: str | None) -> list[tuple[int, list[str]]]:
    """Returns the fields of each non-empty line, with the line number. The delimiter " " means any whitespace."""
    if delimiter == " ":
        lines = enumerate(text.splitlines(), 1)
        return [(i, line.split()) for i, line in lines if line.strip() and not (comment and line.startswith(comment))]
    csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))
    source = _Lines(text, comment)
    reader = csv.reader(source, delimiter=delimiter, quotechar=quote, strict=True)
    rows = []
    try:
        for row in reader:
            source.begins_row = True
            if row:
                rows.append((source.number, row))
    except csv.Error as error:
        raise FormatError(f"[csv] line {source.number}: {error}") from None
    return rows


def _typed(
    name: str, values: list[str], missing: frozenset[str], dtype: type | None, rows: list[tuple[int, list[str]]], decimal: str
) -> np.ndarray:
    real = _real if decimal == "." else _with_decimal(decimal)
    converters: dict[type, Callable[[str], Any]] = {int: _whole, float: real, bool: _truth, str: str}
    if dtype is not None:
        kinds = [(dtype, converters.get(dtype))]
        if kinds[0][1] is None:
            raise TypeError(f"[csv] a column may be int, float, bool or str: got {dtype!r} for {name!r}")
    else:
        kinds = [(kind, converters[kind]) for kind in (int, float, bool)]
    present = [value for value in values if value not in missing]
    for kind, convert in kinds:
        try:
            if present or dtype is not None:
                return _column(kind, convert, values, missing)
        except (ValueError, OverflowError):
            if dtype is not None:
                bad = next(i for i, value in enumerate(values) if value not in missing and not _fits(convert, value))
                raise FormatError(f"[csv] line {rows[bad][0]}: {values[bad][:40]!r} in column {name!r} is no {kind.__name__}") from None
    return _column(str, str, values, missing)


def _column(kind: type, convert: Any, values: list[str], missing: frozenset[str]) -> np.ndarray:
    gaps = any(value in missing for value in values)
    if kind is int and not gaps:
        return np.array([convert(value) for value in values], np.int64)
    if kind in (int, float):
        return np.array([np.nan if value in missing else convert(value) for value in values], np.float64)
    if kind is bool and not gaps:
        return np.array([convert(value) for value in values], bool)
    column = np.empty(len(values), object)
    column[:] = [None if value in missing else convert(value) for value in values]
    return column


def _whole(text: str) -> int:
    if "_" in text:  # unlike other programs, Python parses 1_000
        raise ValueError(text)
    return int(text)


def _real(text: str) -> float:
    if "_" in text:
        raise ValueError(text)
    return float(text)


def _with_decimal(mark: str) -> Callable[[str], float]:
    def real(text: str) -> float:
        if "." in text:
            raise ValueError(text)
        return _real(text.replace(mark, ".", 1))

    return real


def _truth(text: str) -> bool:
    if text not in _TRUTH:
        raise ValueError(text)
    return _TRUTH[text]


def _fits(convert: Any, value: str) -> bool:
    try:
        convert(value)
    except (ValueError, OverflowError):
        return False
    return True


class TableDataset(Dataset[Any]):
    """The rows of a table: dicts, or (features, target) tensors if `target` is given.

    Args:
        table: The table.
        target: The target column. Text is encoded as category indices, with the categories in `classes`.
        features: The feature columns; by default all other numeric ones.
        transform: Applied to each item.

    >>> table = pyburn.data.files.Table({"x": np.array([1.0, 2.0]), "kind": np.array(["cat", "dog"], object)})
    >>> pyburn.data.files.TableDataset(table, target="kind")[1]
    (tensor([2.]), tensor(1))
    """

    def __init__(
        self, table: Table, target: str | None = None, features: Sequence[str] | None = None, transform: Callable[[Any], Any] | None = None
    ) -> None:
        self.table, self.transform = table, transform
        self.classes: list[Any] = []
        self._features = self._targets = None
        if target is None:
            return
        chosen = [name for name in table.columns if name != target and table[name].dtype != object] if features is None else list(features)
        self.features = chosen
        self._features = table.tensor(chosen)
        column = table[target]
        if column.dtype == object:
            column, self.classes = table.codes(target)
        self._targets = from_numpy(column.astype(np.float32) if column.dtype.kind == "f" else column.astype(np.int64))

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, index: int) -> Any:
        if self._features is None or self._targets is None:
            item: Any = self.table.row(index)
        else:
            item = self._features[index], self._targets[index]
        return item if self.transform is None else self.transform(item)


class CSVDataset(TableDataset):
    """The rows of a CSV file: arguments as for TableDataset, and options as for `read_csv`.

    Args:
        file: A path, bytes, or an object with a method `read`.
        target: The column of the target.
        features: The columns of the features; None for all others.
        transform: Called with each sample.
        **options: Options of read_csv.

    >>> pyburn.data.files.CSVDataset(b"x,kind\\n1.5,cat\\n2.5,dog\\n", target="kind")[1]
    (tensor([2.5000]), tensor(1))
    """

    def __init__(
        self,
        file: File,
        target: str | None = None,
        features: Sequence[str] | None = None,
        transform: Callable[[Any], Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(read_csv(file, **options), target, features, transform)
