"""What the server answers: runs, their curves, and what else a run left, as JSON and bytes. It reads run folders and knows no network."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..train.run.reader import RunRecord, list_runs
from .curves import AXES, CurveCache, curve

MOST_CURVES = 2000
MOST_POINTS = 5000
_TAIL_BYTES = 64_000
_MOST_TABLES = 200
_IMAGE = re.compile(r"[\w][\w.-]*\.png")


class NotFoundError(Exception):
    """There is no such run or file."""


class Answers:
    """Everything below one folder of runs."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._cache = CurveCache()

    def _identity(self, record: RunRecord) -> str:
        return record.folder.relative_to(self.root).as_posix() if record.folder != self.root else "."

    def _run(self, identity: str) -> RunRecord:
        # Only what is listed can be asked for: no path of a request ever reaches the disk.
        for record in list_runs(self.root):
            if self._identity(record) == identity:
                return record
        raise NotFoundError(f"there is no run {identity!r}")

    def runs(self) -> dict[str, Any]:
        """Every run with its state, configuration, best results and the names of its curves."""
        found = []
        for record in list_runs(self.root):
            status = record.status
            found.append(
                {
                    "id": self._identity(record),
                    "name": record.name,
                    "state": record.state,
                    "status": {key: value for key, value in status.items() if key not in ("pid", "host", "metrics", "best")},
                    "config": flat(record.config),
                    "best": status.get("best", {}),
                    "metrics": status.get("metrics", {}),
                    "curves": record.names(),
                }
            )
        return {"folder": str(self.root), "runs": found}

    def curves(self, request: Mapping[str, Any]) -> bytes:
        """Many curves at once. The answer is a line of JSON (points per curve), then all x and y as float64, little-endian.

        The request: `curves` (a list of [run, kind, split, name]), `axis`, `from`, `to`, `points`, `smoothing`.
        """
        wanted = request.get("curves", [])
        axis = str(request.get("axis", "step"))
        if not isinstance(wanted, list) or len(wanted) > MOST_CURVES or axis not in AXES:
            raise ValueError(f"curves must be a list of at most {MOST_CURVES}, axis one of {', '.join(AXES)}")
        between = number(request.get("from"), -math.inf), number(request.get("to"), math.inf)
        most = int(min(max(number(request.get("points"), 1000), 2), MOST_POINTS))
        weight = min(max(number(request.get("smoothing"), 0.0), 0.0), 0.9999)
        folders = {self._identity(record): record.folder for record in list_runs(self.root)}
        parts, counts = [], []
        for item in wanted:
            run, kind, split, name = (str(field) for field in item)
            known = run in folders and kind in ("step", "epoch")
            smooth = weight if kind == "step" else 0.0
            points = (
                curve(self._cache, folders[run], kind, split, name, axis=axis, between=between, most=most, weight=smooth)
                if known
                else np.zeros((2, 0))
            )
            parts.append(np.ascontiguousarray(points, "<f8").tobytes())
            counts.append(points.shape[1])
        head = json.dumps(counts).encode()
        return head + b" " * (-(len(head) + 1) % 8) + b"\n" + b"".join(parts)

    def run(self, identity: str) -> dict[str, Any]:
        """All that a run left but its curves."""
        record = self._run(identity)
        return {
            "id": identity,
            "name": record.name,
            "state": record.state,
            "status": record.status,
            "config": record.config,
            "environment": record.environment,
            "tables": latest_tables(record),
            "samples": record.samples()[-8:],
            "checkpoints": record.checkpoints(),
            "log": tail(record.folder / "log.txt"),
            "model": tail(record.folder / "model.txt"),
        }

    def image(self, identity: str, name: str) -> bytes:
        """A picture of predictions/."""
        if not _IMAGE.fullmatch(name):
            raise NotFoundError(f"there is no picture {name!r}")
        try:
            return (self._run(identity).folder / "predictions" / name).read_bytes()
        except OSError as error:
            raise NotFoundError(f"there is no picture {name!r}") from error

    def stop(self, identity: str) -> None:
        """Asks a run to stop after its step, as the file `stop` does."""
        record = self._run(identity)
        if record.state in ("running", "paused"):
            (record.folder / "stop").touch()


def number(value: Any, otherwise: float) -> float:
    """A number of a request, or what stands for it."""
    try:
        return otherwise if value is None or math.isnan(float(value)) else float(value)
    except (TypeError, ValueError):
        return otherwise


def flat(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested options as one level, with dots: what stands in a column of a table.

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


def latest_tables(record: RunRecord) -> list[dict[str, Any]]:
    """The last table of each name and split."""
    latest = {(table.get("name"), table.get("split")): table for table in record.tables()}
    return list(latest.values())[:_MOST_TABLES]


def tail(path: Path) -> str:
    """The end of a text."""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _TAIL_BYTES))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""
