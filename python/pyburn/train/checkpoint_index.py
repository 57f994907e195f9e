"""Reads and writes the index.json of a checkpoint folder, and rebuilds it from the checkpoint files if it is lost."""

from __future__ import annotations

import json
import math
import os
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .. import _core
from ..io import atomic_write, load
from .errors import CheckpointError
from .run.checked_fields import loads
from .run.plain_values import plain

FORMAT = 1
NAME = "index.json"
REBUILT = "rebuilt"
_FILE = re.compile(r"step-(\d{8,})\.pt")


@dataclass
class Entry:
    """Index entry of an existing checkpoint."""

    file: str
    epoch: int
    batch: int
    step: int
    time: float
    metrics: dict[str, float] = field(default_factory=dict)
    kept_by: list[str] = field(default_factory=list)


def read_index(folder: Path) -> list[Entry]:
    """Reads the checkpoints of a folder, oldest first.

    If the index is missing or damaged, it is rebuilt in memory from the files `step-*.pt`, with a warning. The folder is not changed.

    Args:
        folder: The checkpoint folder.

    Returns:
        The entries whose files exist.

    Raises:
        CheckpointError: There is no usable index, and none of the files can be read.
    """
    try:
        listed = loads((folder / NAME).read_bytes())["checkpoints"]
        entries = [_entry(one) for one in listed]
    except FileNotFoundError:
        return _rebuilt(folder, "is missing")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        return _rebuilt(folder, f"is damaged ({error})")
    return [entry for entry in entries if Path(entry.file).name == entry.file and (folder / entry.file).exists()]


def write_index(folder: Path, entries: Sequence[Entry]) -> None:
    """Replaces the index atomically and syncs it to disk, like the checkpoints."""
    text = json.dumps({"format": FORMAT, "checkpoints": [plain(asdict(entry)) for entry in entries]}, indent=1)
    atomic_write(os.fspath(folder / NAME), (text + "\n").encode())


def _entry(found: Mapping[str, Any]) -> Entry:
    entry = Entry(**{key: value for key, value in found.items() if key in Entry.__dataclass_fields__})
    if not isinstance(entry.file, str) or not all(isinstance(number, int) for number in (entry.epoch, entry.batch, entry.step)):
        raise TypeError(f"not a checkpoint: {str(found)[:80]}")
    entry.metrics = {key: float(value) for key, value in entry.metrics.items()}
    entry.kept_by = [str(rule) for rule in entry.kept_by]
    return entry


def _rebuilt(folder: Path, trouble: str) -> list[Entry]:
    """Builds entries from all readable checkpoint files, which requires loading each. They are marked so that no rule removes them."""
    files = sorted((path for path in folder.glob("step-*.pt") if _FILE.fullmatch(path.name)), key=_step_of)
    if not files:
        if trouble != "is missing":
            raise CheckpointError(f"{folder / NAME} {trouble}, and there is no step-*.pt to rebuild it from")
        return []
    entries, unreadable = [], []
    for path in files:
        try:
            entries.append(_entry_of(path, load(path)))
        except (OSError, _core.FormatError, ValueError, TypeError, KeyError, AttributeError) as error:
            unreadable.append(f"\n  {path.name}: {error}")
    told = f"{folder / NAME} {trouble}"
    skipped = f". These files cannot be read:{''.join(unreadable)}" if unreadable else ""
    if not entries:
        raise CheckpointError(told + skipped)
    warnings.warn(f"{told}: rebuilt from {', '.join(entry.file for entry in entries)}{skipped}", RuntimeWarning, stacklevel=4)
    return entries


def _step_of(path: Path) -> int:
    return int(_FILE.fullmatch(path.name)[1])  # type: ignore[index]


def _entry_of(path: Path, state: Any) -> Entry:
    """Builds an entry from the Learner's training state, or from the step in the file name for checkpoints of custom loops."""
    entry = Entry(path.name, 0, 0, _step_of(path), path.stat().st_mtime, kept_by=[REBUILT])
    position = state.get("position") if isinstance(state, Mapping) else None
    if not isinstance(position, Mapping):
        return entry
    entry.batch = int(position["batch"])
    entry.epoch = int(position["epoch"]) if entry.batch else max(1, int(position["epoch"]) - 1)
    rows = [row for row in state.get("history", []) if row.get("epoch") == entry.epoch]
    validated = rows[-1] if rows and not entry.batch else {}
    for name, value in state.get("values", {}).items():
        current = "/" in name and not name.startswith("system/") and (not name.startswith("valid/") or name in validated)
        if current and math.isfinite(float(value)):
            entry.metrics[name] = float(value)
    return entry
