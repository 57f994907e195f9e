"""The data behind the dashboard: runs, curves and files, as JSON and bytes. It reads run folders and is independent of HTTP."""

from __future__ import annotations

import json
import logging
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..train.run.inside import tail_inside, touch_inside
from ..train.run.reader import RunRecord, list_runs
from ..train.run.scalar_files import series_file
from . import edits
from .curves import AXES, CurveCache, curve
from .media import EventFolder, MediaLogs

MOST_CURVES = 2000
MOST_POINTS = 5000
MOST_POINTS_IN_ALL = 1_000_000
_TAIL_BYTES = 64_000
_MOST_TABLES = 200
_IMAGE = re.compile(r"[\w][\w.%-]*\.png")
_logger = logging.getLogger("pyburn.dashboard")


class NotFoundError(Exception):
    """The run or file does not exist."""


class Answers:
    """Reads the runs below a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._cache = CurveCache()
        self._media = MediaLogs()

    def _records(self) -> list[RunRecord]:
        return [*list_runs(self.root), *self._media.folders(self.root)]

    def _identity(self, record: RunRecord) -> str:
        name = record.folder.relative_to(self.root).as_posix() if record.folder != self.root else "."
        return name.encode("utf-8", "backslashreplace").decode()  # folder names need not be valid Unicode

    def _run(self, identity: str) -> RunRecord:
        # Only listed runs can be requested: no path from a request is ever opened.
        for record in self._records():
            if self._identity(record) == identity:
                return record
        raise NotFoundError(f"there is no run {identity!r}")

    def runs(self) -> dict[str, Any]:
        """Returns all runs with their state, configuration, best results and curve names."""
        return {"folder": str(self.root), "runs": [self._summary(record) for record in self._records()]}

    def _name(self, record: RunRecord) -> str:
        """The folder of event files is often called train or validation: its path below the root says more."""
        given = not isinstance(record, EventFolder) or record.notes.get("name")
        return record.name if given else self._identity(record).removeprefix(".") or record.name

    def _summary(self, record: RunRecord) -> dict[str, Any]:
        try:
            status = record.status
            return {
                "id": self._identity(record),
                "name": self._name(record),
                "state": record.state,
                "tags": record.notes.get("tags", []),
                "notes": record.notes.get("notes", ""),
                "status": {key: value for key, value in status.items() if key not in ("pid", "host", "metrics", "best")},
                "config": flat(record.config),
                "best": status.get("best", {}),
                "metrics": status.get("metrics", {}),
                "curves": record.names(),
            }
        except Exception as error:  # an invalid run must not hide the others
            _logger.warning("the run in %s cannot be read: %r", record.folder, error)
            empty: dict[str, Any] = {"config": {}, "best": {}, "metrics": {}, "curves": [], "tags": [], "notes": ""}
            return {
                "id": self._identity(record),
                "name": record.folder.name,
                "state": "damaged",
                "status": {"message": repr(error)},
                **empty,
            }

    def curves(self, request: Mapping[str, Any]) -> bytes:
        """Returns many curves at once: a line of JSON (points per curve), then all x and y as little-endian float64.

        Args:
            request: `curves` (a list of [run, kind, split, name]), `axis`, `from`, `to`, `points`, `smoothing`.

        Raises:
            ValueError: The request is invalid.
        """
        wanted = request.get("curves", [])
        axis = str(request.get("axis", "step"))
        if not isinstance(wanted, list) or len(wanted) > MOST_CURVES or axis not in AXES:
            raise ValueError(f"curves must be a list of at most {MOST_CURVES}, axis one of {', '.join(AXES)}")
        between = number(request.get("from"), -math.inf), number(request.get("to"), math.inf)
        most = min(MOST_POINTS, MOST_POINTS_IN_ALL // max(1, len(wanted)))
        most = int(min(max(number(request.get("points"), 1000), 2), most))
        weight = min(max(number(request.get("smoothing"), 0.0), 0.0), 0.9999)
        records = {self._identity(record): record for record in self._records()}
        parts, counts = [], []
        for item in wanted:
            run, kind, split, name = (str(field) for field in item)
            known = records.get(run) if kind in ("step", "epoch") else None
            smooth = weight if kind == "step" else 0.0
            rows = (
                np.zeros((0, 4))
                if known is None
                else known.log.rows(name)
                if isinstance(known, EventFolder)
                else self._cache.rows(known.folder, series_file(kind, split, name))
            )
            points = curve(rows, axis=axis, between=between, most=most, weight=smooth)
            parts.append(np.ascontiguousarray(points, "<f8").tobytes())
            counts.append(points.shape[1])
        head = json.dumps(counts).encode()
        return head + b" " * (-(len(head) + 1) % 8) + b"\n" + b"".join(parts)

    def run(self, identity: str) -> dict[str, Any]:
        """Returns everything about a run except its curves."""
        record = self._run(identity)
        return {
            "id": identity,
            "name": self._name(record),
            "state": record.state,
            "notes": record.notes,
            "status": record.status,
            "config": record.config,
            "environment": record.environment,
            "tables": record.latest_tables()[:_MOST_TABLES],
            "samples": record.samples()[-8:],
            "checkpoints": record.checkpoints(),
            "media": self._media.index(record),
            "log": tail_inside(record.folder, "log.txt", _TAIL_BYTES),
            "model": tail_inside(record.folder, "model.txt", _TAIL_BYTES),
        }

    def image(self, identity: str, name: str) -> bytes:
        """Returns an image from the predictions/ folder of a run.

        Raises:
            NotFoundError: There is no such image.
        """
        if not _IMAGE.fullmatch(name):
            raise NotFoundError(f"there is no picture {name!r}")
        try:
            return self._run(identity).image(name)
        except OSError as error:
            raise NotFoundError(f"there is no picture {name!r}") from error

    def timeline(self, identity: str, kind: str, tag: str) -> list[dict[str, Any]]:
        """Returns the histograms or texts of a tag.

        Raises:
            NotFoundError: There is no such timeline.
        """
        record, read = self._run(identity), {"histogram": self._media.histograms, "text": self._media.texts}
        try:
            return read[kind](record, tag)
        except (KeyError, IndexError, OSError) as error:
            raise NotFoundError(f"there is no {kind} {tag!r}") from error

    def blob(self, identity: str, kind: str, tag: str, index: str) -> tuple[bytes, str]:
        """Returns an image or audio of a timeline with its media type.

        Raises:
            NotFoundError: There is no such entry.
        """
        record = self._run(identity)
        try:
            return self._media.blob(record, kind, tag, int(index))
        except (KeyError, IndexError, OSError, ValueError) as error:
            raise NotFoundError(f"there is no {kind} {tag!r} at {index!r}") from error

    def annotate(self, identity: str, changes: dict[str, Any]) -> dict[str, Any]:
        """Changes the display name, the notes or the tags of a run."""
        return edits.annotate(self._run(identity), changes)

    def delete(self, identity: str, key: Any) -> dict[str, Any]:
        """Deletes a run, in two calls: the first gives the key for the second."""
        return edits.delete(self._run(identity), None if key is None else str(key))

    def stop(self, identity: str) -> None:
        """Requests a run to stop after the current step, like the file `stop`."""
        record = self._run(identity)
        if record.state in ("running", "paused"):
            touch_inside(record.folder, "stop")


def number(value: Any, otherwise: float) -> float:
    """Converts a value of a request to a number; invalid values and NaN give the default."""
    try:
        return otherwise if value is None or math.isnan(float(value)) else float(value)
    except (TypeError, ValueError):
        return otherwise


def flat(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flattens nested options to dotted keys, for the columns of a table.

    >>> pyburn.dashboard.answers.flat({"optimizer": {"lr": 0.1}, "epochs": 2})
    {'optimizer.lr': 0.1, 'epochs': 2}
    """
    found: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, Mapping):
            found.update(flat(value, f"{prefix}{key}."))
        else:
            found[f"{prefix}{key}"] = value if isinstance(value, (str, int, float, bool, type(None))) else json.dumps(value)
    return found
