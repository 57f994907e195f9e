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
from .curves import AXES, CurveCache, curve

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

    def _identity(self, record: RunRecord) -> str:
        name = record.folder.relative_to(self.root).as_posix() if record.folder != self.root else "."
        return name.encode("utf-8", "backslashreplace").decode()  # folder names need not be valid Unicode

    def _run(self, identity: str) -> RunRecord:
        # Only listed runs can be requested: no path from a request is ever opened.
        for record in list_runs(self.root):
            if self._identity(record) == identity:
                return record
        raise NotFoundError(f"there is no run {identity!r}")

    def runs(self) -> dict[str, Any]:
        """Returns all runs with their state, configuration, best results and curve names."""
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
        except Exception as error:  # an invalid run must not hide the others
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
        """Returns everything about a run except its curves."""
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
