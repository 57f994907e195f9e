"""What the server answers: runs, their curves, and what else a run left, as JSON and bytes. It reads run folders and knows no network."""

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
from .curves import AXES, CurveCache, curve

MOST_CURVES = 2000
MOST_POINTS = 5000
MOST_POINTS_IN_ALL = 1_000_000
_TAIL_BYTES = 64_000
_MOST_TABLES = 200
_IMAGE = re.compile(r"[\w][\w.%-]*\.png")
_logger = logging.getLogger("pyburn.dashboard")


class NotFoundError(Exception):
    """There is no such run or file."""


class Answers:
    """Everything below one folder of runs."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._cache = CurveCache()

    def _identity(self, record: RunRecord) -> str:
        name = record.folder.relative_to(self.root).as_posix() if record.folder != self.root else "."
        return name.encode("utf-8", "backslashreplace").decode()  # names of folders need not be text

    def _run(self, identity: str) -> RunRecord:
        # Only what is listed can be asked for: no path of a request ever reaches the disk.
        for record in list_runs(self.root):
            if self._identity(record) == identity:
                return record
        raise NotFoundError(f"there is no run {identity!r}")

    def runs(self) -> dict[str, Any]:
        """Every run with its state, configuration, best results and the names of its curves."""
        return {"folder": str(self.root), "runs": [self._summary(record) for record in list_runs(self.root)]}

    def _summary(self, record: RunRecord) -> dict[str, Any]:
        try:
            status = record.status
            return {
                "id": self._identity(record),
                "name": record.name,
                "state": record.state,
                "status": {key: value for key, value in status.items() if key not in ("pid", "host", "metrics", "best")},
                "config": flat(record.config),
                "best": status.get("best", {}),
                "metrics": status.get("metrics", {}),
                "curves": record.names(),
            }
        except Exception as error:  # whatever is wrong with one run, the others are shown
            _logger.warning("the run in %s cannot be read: %r", record.folder, error)
            empty: dict[str, Any] = {"config": {}, "best": {}, "metrics": {}, "curves": []}
            return {
                "id": self._identity(record),
                "name": record.folder.name,
                "state": "damaged",
                "status": {"message": repr(error)},
                **empty,
            }

    def curves(self, request: Mapping[str, Any]) -> bytes:
        """Many curves at once. The answer is a line of JSON (points per curve), then all x and y as float64, little-endian.

        The request: `curves` (a list of [run, kind, split, name]), `axis`, `from`, `to`, `points`, `smoothing`.
        """
        wanted = request.get("curves", [])
        axis = str(request.get("axis", "step"))
        if not isinstance(wanted, list) or len(wanted) > MOST_CURVES or axis not in AXES:
            raise ValueError(f"curves must be a list of at most {MOST_CURVES}, axis one of {', '.join(AXES)}")
        between = number(request.get("from"), -math.inf), number(request.get("to"), math.inf)
        most = min(MOST_POINTS, MOST_POINTS_IN_ALL // max(1, len(wanted)))
        most = int(min(max(number(request.get("points"), 1000), 2), most))
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
            "tables": record.latest_tables()[:_MOST_TABLES],
            "samples": record.samples()[-8:],
            "checkpoints": record.checkpoints(),
            "log": tail_inside(record.folder, "log.txt", _TAIL_BYTES),
            "model": tail_inside(record.folder, "model.txt", _TAIL_BYTES),
        }

    def image(self, identity: str, name: str) -> bytes:
        """A picture of predictions/."""
        if not _IMAGE.fullmatch(name):
            raise NotFoundError(f"there is no picture {name!r}")
        try:
            return self._run(identity).image(name)
        except OSError as error:
            raise NotFoundError(f"there is no picture {name!r}") from error

    def stop(self, identity: str) -> None:
        """Asks a run to stop after its step, as the file `stop` does."""
        record = self._run(identity)
        if record.state in ("running", "paused"):
            touch_inside(record.folder, "stop")


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
