"""Reading runs, for dashboards, reports and notebooks."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .checked_fields import checked_checkpoint, checked_notes, checked_samples, checked_status, checked_table_line, loads
from .inside import MOST_SERIES_BYTES, lines_inside, names_inside, read_inside
from .scalar_files import KINDS, rows_of, series_file, series_of_file
from .tables import checked_table

# A live process updates the time in run.json every two seconds, or after each step; a killed one stops doing so.
SILENCE_SECONDS = 60.0


class RunRecord:
    """A run folder, opened for reading. Every access reads the files; damaged or missing files give empty results.

    Fields of a wrong type are dropped. Symbolic links inside the folder are not followed.

    >>> with pyburn.train.Run("runs/second") as run:
    ...     run.log({"loss": 0.5}, step=1, epoch=1, split="valid", kind="epoch")
    >>> record = pyburn.train.read_run("runs/second")
    >>> record.state, record.names()
    ('finished', [('epoch', 'valid', 'loss')])
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def __repr__(self) -> str:
        return f"RunRecord({os.fspath(self.folder)!r}, state={self.state!r})"

    def _json(self, name: str, empty: Any) -> Any:
        try:
            found = loads(read_inside(self.folder, name))
        except (OSError, ValueError):
            return empty
        return found if isinstance(found, type(empty)) else empty

    @property
    def status(self) -> dict[str, Any]:
        """The content of run.json."""
        return checked_status(self._json("run.json", {}))

    @property
    def config(self) -> dict[str, Any]:
        """The content of config.json."""
        return self._json("config.json", {})

    @property
    def environment(self) -> dict[str, Any]:
        """The content of environment.json."""
        return self._json("environment.json", {})

    @property
    def name(self) -> str:
        """The name given in the dashboard, or by the program; by default that of the folder."""
        return str(self.notes.get("name") or self.status.get("name") or self.folder.name)

    @property
    def notes(self) -> dict[str, Any]:
        """The content of notes.json, which users write in the dashboard: `name`, `notes` and `tags`."""
        return checked_notes(self._json("notes.json", {}))

    @property
    def state(self) -> str:
        """The state from run.json, or "lost" if it claims to be running but its process is gone or silent for a minute."""
        status = self.status
        state = str(status.get("state", "lost"))
        if state not in ("running", "paused"):
            return state
        if status.get("host") == socket.gethostname() and not _lives(status.get("pid")):
            return "lost"
        updated = status.get("updated")
        silent = not isinstance(updated, (int, float)) or time.time() - updated > SILENCE_SECONDS
        return "lost" if silent and status.get("host") != socket.gethostname() else state

    def names(self) -> list[tuple[str, str, str]]:
        """Returns (kind, split, name) of every series."""
        files = [
            Path(below, name)
            for kind in KINDS
            for split in names_inside(self.folder, f"series/{kind}", folders=True)
            for below in [f"series/{kind}/{split}"]
            for name in names_inside(self.folder, below, folders=False)
            if name.endswith(".f64")
        ]
        return sorted(series_of_file(path) for path in files)

    def series(self, kind: str, split: str, name: str) -> np.ndarray:
        """Returns a series as rows of step, epoch, time and value, in the order logged; no rows if there is no such series.

        Args:
            kind: "step" or "epoch".
            split: Such as "train".
            name: The name of the metric.
        """
        try:
            return rows_of(read_inside(self.folder, series_file(kind, split, name), MOST_SERIES_BYTES))
        except OSError:
            return np.zeros((0, 4))

    def lines(self) -> Iterator[dict[str, Any]]:
        """Yields the lines of metrics.jsonl.

        Returns:
            An iterator over dicts.
        """
        return self._lines("metrics.jsonl")

    def tables(self) -> Iterator[dict[str, Any]]:
        """Yields the lines of tables.jsonl.

        Returns:
            An iterator over dicts.
        """
        return map(checked_table_line, self._lines("tables.jsonl"))

    def latest_tables(self) -> list[dict[str, Any]]:
        """Returns the newest valid table of each type, split and name."""
        latest: dict[tuple[str, ...], dict[str, Any]] = {}
        for table in self.tables():
            with contextlib.suppress(ValueError):  # invalid tables, written by another program
                latest[tuple(str(table.get(key)) for key in ("type", "split", "name"))] = checked_table("", table)
        return list(latest.values())

    def _lines(self, name: str) -> Iterator[dict[str, Any]]:
        for line in lines_inside(self.folder, name):
            try:
                found = loads(line)
            except ValueError:
                continue  # a partial line of a killed process
            if isinstance(found, dict):
                yield found

    def samples(self) -> list[dict[str, Any]]:
        """Returns the files of predictions/, oldest first; images are given as file names in that folder."""
        names = [name for name in names_inside(self.folder, "predictions", folders=False) if name.endswith(".json")]
        found = [checked_samples(self._json(f"predictions/{name}", {})) for name in names]
        return sorted((one for one in found if one), key=lambda one: one.get("step") or 0)

    def image(self, name: str) -> bytes:
        """Returns the content of an image of predictions/. Raises OSError if there is none.

        Args:
            name: The file name.
        """
        return read_inside(self.folder, f"predictions/{name}")

    def checkpoints(self) -> list[dict[str, Any]]:
        """Returns the entries of checkpoints/index.json, oldest first."""
        found = self._json("checkpoints/index.json", {}).get("checkpoints")
        return [one for one in map(checked_checkpoint, found if isinstance(found, list) else []) if one]


def read_run(folder: str | os.PathLike[str]) -> RunRecord:
    """Opens the run in a folder for reading.

    Args:
        folder: The folder.

    Returns:
        The run.

    Raises:
        FileNotFoundError: The folder has no run.json.

    >>> pyburn.train.run.read_run("runs/first").state  # doctest: +SKIP
    'finished'
    """
    record = RunRecord(folder)
    if not (record.folder / "run.json").exists():
        raise FileNotFoundError(f"[read_run] no run in {os.fspath(folder)}: it has no run.json")
    return record


def list_runs(root: str | os.PathLike[str], depth: int = 4) -> list[RunRecord]:
    """Returns the runs in a folder and its subfolders, newest first. Symbolic links below `root` are not followed.

    Args:
        root: The folder to search.
        depth: The maximum depth of subfolders.

    >>> [run.name for run in pyburn.train.run.list_runs("runs")]  # doctest: +SKIP
    """
    found: list[RunRecord] = []
    waiting = [(Path(root), 0)]
    while waiting:
        folder, level = waiting.pop()
        if (folder / "run.json").is_file() and not (folder / "run.json").is_symlink():
            found.append(RunRecord(folder))
        elif level < depth:
            try:
                waiting += [(child, level + 1) for child in folder.iterdir() if child.is_dir() and not child.is_symlink()]
            except OSError:
                continue
    return sorted(found, key=lambda record: -(record.status.get("created") or 0.0))


def _lives(pid: Any) -> bool:
    if os.name == "nt":  # signal 0 is not a mere check there
        return True
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except (TypeError, ValueError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
