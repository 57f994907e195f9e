"""Claims a folder for a new run: the given one, a numbered one beside it, or the old one emptied."""

from __future__ import annotations

import shutil
from itertools import count
from pathlib import Path

from .lock import RunLock

# What a run writes; other files in the folder are the user's.
FILES = (
    *("run.json", "config.json", "environment.json", "metrics.jsonl", "metrics.csv", "tables.jsonl", "log.txt", "model.txt"),
    *("trace.json", "report.html", "notes.json", "stop"),
)
FOLDERS = ("series", "predictions", "checkpoints")
EVENTS = "events.out.tfevents.*"


def holds_run(folder: Path) -> bool:
    return (folder / "run.json").exists()


def claim(folder: Path, *, resume: bool, overwrite: bool) -> tuple[Path, RunLock]:
    """Creates and locks the folder of a run.

    Args:
        folder: The requested folder.
        resume: Whether to continue the run in that folder.
        overwrite: Whether to delete the run in that folder. Without `resume` and `overwrite`, a folder that already holds a run is left
            alone and the first free one of folder-2, folder-3, ... is used.

    Raises:
        RunInUseError: Another Run holds the lock of the folder.
    """
    for number in count(1):
        place = folder if number == 1 else folder.with_name(f"{folder.resolve().name}-{number}")
        if number > 1 and holds_run(place):
            continue
        place.mkdir(parents=True, exist_ok=True)
        lock = RunLock(place)  # before the folder is read or changed
        if resume or not holds_run(place):
            return place, lock
        if overwrite:
            for written in (path for pattern in (*FILES, *FOLDERS, EVENTS) for path in place.glob(pattern)):
                shutil.rmtree(written) if written.is_dir() and not written.is_symlink() else written.unlink()
            return place, lock
        lock.release()
    raise AssertionError("unreachable")
