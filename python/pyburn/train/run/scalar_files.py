"""The metric files of a run: metrics.jsonl for people and scripts, series/ for plotting, metrics.csv for spreadsheets."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import numpy as np

from .append_file import AppendFile, replace_bytes, replace_text
from .inside import MOST_SERIES_BYTES, read_inside

KINDS = ("step", "epoch")
_RECORD = struct.Struct("<4d")  # step, epoch, time, value


def json_number(value: float) -> float | str:
    """Returns a number for JSON: NaN and infinities become strings that Python's float() and JavaScript's Number() can parse."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def series_file(kind: str, split: str, name: str) -> str:
    """Returns the path of a series, relative to the run folder. Names may contain any character."""
    folder = quote(split, safe="").replace(".", "%2E")  # or ".." would be the parent folder
    return f"series/{kind}/{folder}/{quote(name, safe=' ()')}.f64"


def series_of_file(path: Path) -> tuple[str, str, str]:
    """Returns (kind, split, name) of a series file: the inverse of series_file."""
    return path.parts[-3], unquote(path.parts[-2]), unquote(path.name.removesuffix(".f64"))


class ScalarFiles:
    """Appends scalars to the files of a run. Data is buffered until `flush`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lines = AppendFile(folder / "metrics.jsonl")
        self._series: dict[tuple[str, str, str], AppendFile] = {}
        self._table = EpochTable(folder / "metrics.csv")

    def add(self, values: Mapping[str, float], *, kind: str, split: str, epoch: int, step: int, time: float) -> None:
        line: dict[str, Any] = {"kind": kind, "split": split, "epoch": epoch, "step": step, "time": round(time, 3)}
        line["values"] = {name: json_number(value) for name, value in values.items()}
        self._lines.add(json.dumps(line, ensure_ascii=False).encode() + b"\n")
        for name, value in values.items():
            key = kind, split, name
            if key not in self._series:
                self._series[key] = AppendFile(self.folder / series_file(*key))
            self._series[key].add(_RECORD.pack(step, epoch, time, value))
        if kind == "epoch":
            self._table.add(epoch, step, time, {f"{split}/{name}": value for name, value in values.items()})

    def flush(self) -> OSError | None:
        """Writes buffered data. Returns the first OSError, or None; what could not be written stays buffered."""
        errors = [file.flush() for file in (self._lines, *self._series.values())]
        errors.append(self._table.flush())
        return next((error for error in errors if error is not None), None)

    def cut_after(self, step: int, epoch: int | None = None) -> None:
        """Removes entries after a step, and epoch entries after `epoch`, since a resumed run logs them again."""
        cut_lines(self._lines.path, step, epoch)
        for path in (self.folder / "series").glob("*/*/*.f64"):
            rows = rows_of(read_inside(self.folder, path.relative_to(self.folder).as_posix(), MOST_SERIES_BYTES))
            late = (rows[:, 1] > epoch) & (series_of_file(path)[0] == "epoch") if epoch is not None else False
            kept_rows = rows[(rows[:, 0] <= step) & ~np.asarray(late)]
            if kept_rows.nbytes != path.stat().st_size:
                replace_bytes(path, kept_rows.tobytes())
        self._table.cut_after(step, epoch)


def cut_lines(path: Path, step: int, epoch: int | None) -> None:
    """Removes lines after a step, and epoch lines after `epoch`."""
    if path.exists():
        lines = path.read_bytes().splitlines(keepends=True)
        replace_bytes(path, b"".join(line for line in lines if stays(line, step, epoch)))


def last_time(path: Path) -> float:
    """Returns the time of the last complete line, or 0."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - (1 << 16)))
            lines = file.read().split(b"\n")
    except OSError:
        return 0.0
    for line in reversed(lines):
        with contextlib.suppress(ValueError, KeyError, TypeError):
            return max(0.0, float(json.loads(line)["time"]))
    return 0.0


def stays(line: bytes, step: int, epoch: int | None) -> bool:
    """Returns whether a line is from before the given step and, if it is an epoch entry, from a completed epoch."""
    try:
        found = json.loads(line)
        whole = found.get("kind", "epoch") == "epoch"
        return line.endswith(b"\n") and found["step"] <= step and (epoch is None or not whole or found["epoch"] <= epoch)
    except (ValueError, KeyError, TypeError, AttributeError):
        return False  # a partial line of a killed process


def rows_of(data: bytes) -> np.ndarray:
    """Returns the rows in the content of a series file: step, epoch, time, value. A partial last row of a killed process is ignored."""
    return np.frombuffer(data, "<f8", count=len(data) // _RECORD.size * 4).reshape(-1, 4)


class EpochTable:
    """Writes metrics.csv: a row per epoch, a column per split and metric. The file is small, so it is rewritten on changes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.error: OSError | None = None
        self._rows: list[dict[str, Any]] = []
        self._changed = False

    def add(self, epoch: int, step: int, time: float, values: Mapping[str, float]) -> None:
        if not self._rows or self._rows[-1]["epoch"] != epoch:
            self._rows.append({"epoch": epoch})
        self._rows[-1].update({"step": step, "time": round(time, 3), **values})
        self._changed = True

    def flush(self) -> OSError | None:
        if self._changed:
            columns = list(dict.fromkeys(["epoch", "step", "time", *(key for row in self._rows for key in row)]))
            text = io.StringIO()
            writer = csv.DictWriter(text, columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self._rows)
            try:
                replace_text(self.path, text.getvalue())
            except OSError as error:
                self.error = error
                return error
            self._changed, self.error = False, None
        return self.error

    def cut_after(self, step: int, epoch: int | None) -> None:
        if self.path.exists():
            with open(self.path, newline="", encoding="utf-8") as file:
                rows = [{key: value for key, value in row.items() if value} for row in csv.DictReader(file)]
            self._rows = [
                {**row, "epoch": int(row["epoch"])}
                for row in rows
                if int(row["step"]) <= step and (epoch is None or int(row["epoch"]) <= epoch)
            ]
            self._changed = True
