"""Run: a folder with everything that was logged during one training run."""

from __future__ import annotations

import json
import os
import socket
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .append_file import AppendFile, replace_text
from .claim import claim, holds_run
from .environment import environment
from .events import EventWriter
from .lock import RunLock
from .plain_values import number, plain
from .reader import RunRecord
from .samples import png, write_samples
from .scalar_files import KINDS, ScalarFiles, cut_lines, last_time
from .tables import checked_table

FORMAT = 1
STATES = ("running", "paused", "finished", "stopped", "failed")
_OPEN = ("running", "paused")
_LONGEST_NAME = 240  # characters; file systems allow 255
_FLUSH_SECONDS = 1.0
_STATUS_SECONDS = 2.0


class Run:
    """Logs metrics, tables, samples and checkpoints of one training run to a folder. Works with any training loop.

    A Run holds a lock on its folder until it is finished or closed, or its process ends. Readers need no lock. Logging after `finish` takes
    the lock only while writing. If the disk is full, data is buffered in memory and written later, and a warning is shown.

    Args:
        folder: The run folder; created if needed. If it already holds a run, the first free one of folder-2, folder-3, ... is used, and the
            attribute `folder` says which.
        config: The configuration to save.
        name: The name of the run; by default that of the folder.
        tensorboard: Whether to write scalars as TensorBoard events as well.
        resume: The step to resume from, or True for the last logged one. Later entries are removed, since they will be logged again.
        resume_epoch: When resuming within an epoch, the number of completed epochs.
        overwrite: Deletes the run that the folder holds, instead of choosing a numbered folder.

    Raises:
        RunInUseError: Another Run holds the lock.

    >>> with pyburn.train.Run("runs/first", config={"lr": 0.1}) as run:
    ...     for step in range(3):
    ...         run.log({"loss": 1 / (step + 1)}, step=step)
    >>> pyburn.train.read_run("runs/first").series("step", "train", "loss")[:, 3].tolist()
    [1.0, 0.5, 0.3333333333333333]
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        config: Any = None,
        name: str | None = None,
        tensorboard: bool = True,
        resume: bool | int = False,
        resume_epoch: int | None = None,
        overwrite: bool = False,
        _lock: RunLock | None = None,
    ) -> None:
        if _lock is not None:
            self.folder, self._lock = Path(folder), _lock
        else:
            self.folder, self._lock = claim(Path(folder), resume=resume is not False, overwrite=overwrite)
        try:
            self._open(config, name, tensorboard, resume, resume_epoch)
        except BaseException:
            self._lock.release()
            raise

    def _open(self, config: Any, name: str | None, tensorboard: bool, resume: bool | int, resume_epoch: int | None) -> None:
        exists = holds_run(self.folder)
        (self.folder / "checkpoints").mkdir(parents=True, exist_ok=True)
        before = RunRecord(self.folder).status  # empty if damaged; the metrics are in other files
        # Wall-clock time dates a run; durations use the monotonic clock, so that changing the system time does not affect them.
        now, created = time.time(), before.get("created")
        self._opened = self._flushed = self._noted = time.monotonic()
        self._seconds_before = 0.0 if created is None else max(now - created, last_time(self.folder / "metrics.jsonl"))
        self.status: dict[str, Any] = {
            "format": FORMAT,
            "name": name or before.get("name") or self.folder.resolve().name,
            "state": "running",
            "created": now if created is None else created,
            "updated": now,
            "finished": None,
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "resumes": (before.get("resumes") or 0) + (1 if exists else 0),
            "epoch": 0,
            "epochs": None,
            "batch": 0,
            "batches": None,
            "step": 0,
            "message": "",
            "resume_with": before.get("resume_with"),
            "metrics": before.get("metrics", {}),
            "best": before.get("best", {}),
        }
        self.tell: Callable[[str], None] = lambda text: warnings.warn(text, RuntimeWarning, stacklevel=3)
        self._scalars = ScalarFiles(self.folder)
        self._tables = AppendFile(self.folder / "tables.jsonl")
        self._log = AppendFile(self.folder / "log.txt")
        if exists and resume is not True:
            self._scalars.cut_after(int(resume), resume_epoch)
            cut_lines(self._tables.path, int(resume), resume_epoch)
        self._from_step = int(resume) + 1 if exists and resume is not True else None
        self._events = EventWriter(self.folder, from_step=self._from_step) if tensorboard else None
        self._tensorboard = tensorboard
        self._told = ""
        if config is not None or not exists:
            replace_text(self.folder / "config.json", json.dumps(plain(config if config is not None else {}), indent=2) + "\n")
        replace_text(self.folder / "environment.json", json.dumps(plain(environment()), indent=2) + "\n")
        (self.folder / "stop").unlink(missing_ok=True)
        self.update()

    @staticmethod
    def create(root: str | os.PathLike[str] = "runs", name: str = "run", **options: Any) -> Run:
        """Creates a Run in a new folder below `root`, named after `name` and the current time.

        Args:
            root: The folder of runs.
            name: The beginning of the folder's name.
            **options: Options of Run.

        Returns:
            The Run.

        Raises:
            FileExistsError: No free name is left.
        """
        stamp = time.strftime("%Y%m%d-%H%M%S")
        for number_ in range(1000):
            folder = Path(root) / (f"{name}-{stamp}" + (f"-{number_}" if number_ else ""))
            try:
                folder.mkdir(parents=True)
            except FileExistsError:
                continue
            return Run(folder, **options)
        raise FileExistsError(f"[Run] no free name below {root}")

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if self.status["state"] in _OPEN:
            state = "finished" if error is None else "stopped" if isinstance(error, KeyboardInterrupt) else "failed"
            self.finish(state, "" if error is None else f"{type(error).__name__}: {error}")

    def __repr__(self) -> str:
        return f"Run({os.fspath(self.folder)!r}, state={self.status['state']!r}, step={self.status['step']})"

    @property
    def seconds(self) -> float:
        """The seconds since the run was created, including pauses between resumes."""
        return self._seconds_before + time.monotonic() - self._opened

    def log(self, values: Mapping[str, Any], *, step: int, epoch: int = 0, split: str = "train", kind: str = "step") -> None:
        """Logs scalar values.

        Args:
            values: The values by name.
            step: The optimizer step.
            epoch: The epoch.
            split: "train", "valid" or another split name.
            kind: "step" for values of one step, "epoch" for values over a whole split.

        Raises:
            ValueError: kind is unknown, or a name is too long.
            TypeError: A value is not a number.
        """
        if kind not in KINDS:
            raise ValueError(f"[Run.log] kind must be 'step' or 'epoch': got {kind!r}")
        numbers = {name: self._number(name, value) for name, value in values.items()}
        self._lock.acquire()
        self._scalars.add(numbers, kind=kind, split=split, epoch=epoch, step=step, time=self.seconds)
        if self._events is not None and self._tensorboard:
            prefix = "epoch_" if kind == "epoch" else ""
            self._events.scalars({f"{name}/{prefix}{split}": value for name, value in numbers.items()}, step)
        if split != "system":
            self.status["step"], self.status["epoch"] = step, epoch
        self.tick()

    @staticmethod
    def _number(name: str, value: Any) -> float:
        if len(quote(name, safe="")) > _LONGEST_NAME:
            raise ValueError(f"[Run.log] the name of a metric is a part of the name of a file: {name[:40]!r}... is too long")
        try:
            return number(value)
        except (TypeError, ValueError) as error:
            raise type(error)(f"[Run.log] {name!r} must be a number: got {str(value)[:80]!r}") from None

    def log_table(self, name: str, table: Mapping[str, Any], *, step: int, epoch: int = 0, split: str = "valid") -> None:
        """Logs a result that is not a number, such as a confusion matrix: a dict with a "type" and JSON-compatible values.

        Args:
            name: The name of the table.
            table: The table: a dict with a "type" and JSON-compatible values.
            step: The step.
            epoch: The epoch.
            split: "train", "valid" or "test".
        """
        content = checked_table(name, plain(dict(table)))
        line = {"name": name, "split": split, "epoch": epoch, "step": step, "time": round(self.seconds, 3), **content}
        self._lock.acquire()
        self._tables.add(json.dumps(line, ensure_ascii=False).encode() + b"\n")
        self.tick()

    def log_samples(self, samples: Sequence[Mapping[str, Any]], *, step: int, epoch: int = 0, split: str = "valid") -> None:
        """Logs samples with their targets and predictions to predictions/; see `docs/guides/runs.md`.

        Args:
            samples: The samples, as dicts.
            step: The step.
            epoch: The epoch.
            split: "train", "valid" or "test".
        """
        self._lock.acquire()
        try:
            write_samples(self.folder / "predictions", samples, step=step, epoch=epoch, split=split)
        except OSError as error:
            self._complain(error)
        self.tick()

    def log_histogram(self, name: str, values: Any, *, step: int) -> None:
        """Logs the distribution of the finite values of a tensor, such as weights or gradients, as TensorBoard events.

        Args:
            name: The name of the timeline.
            values: A tensor or array of any shape.
            step: The optimizer step.

        >>> with pyburn.train.Run("runs/media") as run:
        ...     run.log_histogram("weights", pyburn.randn(100), step=1)
        ...     run.log_image("noise", pyburn.rand(3, 8, 8), step=1)
        ...     run.log_text("generated", "To be, or not to be", step=1)
        ...     run.log_audio("tone", pyburn.arange(800.0).sin(), 8000, step=1)
        """
        self._media().histogram(name, values, step)
        self.tick()

    def log_image(self, name: str, image: Any, *, step: int) -> None:
        """Logs an image as TensorBoard events; see `log_histogram` for an example.

        Args:
            name: The name of the timeline.
            image: Of shape (height, width), (height, width, channels) or (channels, height, width). Floats are in [0, 1].
            step: The optimizer step.

        Raises:
            ValueError: The shape is not one of these.
        """
        self._media().image(name, png(image), step)
        self.tick()

    def log_text(self, name: str, text: str, *, step: int) -> None:
        """Logs a text, such as what a language model generates, as TensorBoard events; see `log_histogram` for an example.

        Args:
            name: The name of the timeline.
            text: The text.
            step: The optimizer step.
        """
        self._media().text(name, text, step)
        self.tick()

    def log_audio(self, name: str, samples: Any, rate: int, *, step: int) -> None:
        """Logs audio as TensorBoard events; see `log_histogram` for an example.

        Args:
            name: The name of the timeline.
            samples: Of shape (frames,) or (channels, frames), from -1 to 1.
            rate: The number of frames per second.
            step: The optimizer step.

        Raises:
            ValueError: The shape is not one of these.
        """
        self._media().audio(name, samples, rate, step)
        self.tick()

    def _media(self) -> EventWriter:
        """The event file, in which histograms, images, texts and audio are stored even if TensorBoard's scalars are not wanted."""
        self._lock.acquire()
        self._events = self._events or EventWriter(self.folder, from_step=self._from_step)
        return self._events

    def write(self, text: str) -> None:
        """Appends a line to log.txt.

        Args:
            text: The line.
        """
        self._lock.acquire()
        self._log.add(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}\n".encode())
        self.tick()

    def update(self, **status: Any) -> None:
        """Updates fields of run.json immediately.

        Args:
            **status: The fields.
        """
        self._lock.acquire()
        self.status.update(status)
        self.status["updated"], self._noted = time.time(), time.monotonic()
        try:
            replace_text(self.folder / "run.json", json.dumps(plain(self.status), indent=2) + "\n")
        except OSError as error:
            self._complain(error)

    def tick(self) -> None:
        """Writes buffered data, at most once a second. The log methods call it."""
        now = time.monotonic()
        if now - self._flushed >= _FLUSH_SECONDS or self.status["state"] not in _OPEN:
            self.flush()
        if now - self._noted >= _STATUS_SECONDS:
            self.update()

    def flush(self) -> bool:
        """Writes buffered data. Returns False if writing failed; the data stays buffered."""
        self._flushed = time.monotonic()
        errors = [self._scalars.flush(), self._tables.flush(), self._log.flush(), self._events.flush() if self._events else None]
        error = next((e for e in errors if e is not None), None)
        if error is not None:
            self._complain(error)
        else:
            self._told = ""
        if self.status["state"] not in _OPEN:
            self._lock.release()
        return error is None

    def stop_requested(self) -> bool:
        """Returns whether the run folder contains a file named `stop`."""
        return (self.folder / "stop").exists()

    def finish(self, state: str = "finished", message: str = "", *, report: bool = True) -> None:
        """Writes all data, the final state and the report, and releases the lock.

        Args:
            state: The final state.
            message: What is shown with it.
            report: Whether to write report.html.

        Raises:
            ValueError: state is unknown.
        """
        if state not in STATES:
            raise ValueError(f"[Run.finish] state must be one of {', '.join(STATES)}: got {state!r}")
        self.flush()
        self.update(state=state, message=message, finished=time.time())
        if report:
            self.write_report()
        self.close()

    def close(self) -> None:
        """Writes buffered data and releases the lock, without marking the run as ended."""
        self.flush()
        self._lock.release()

    def write_report(self) -> None:
        """Writes report.html from the current data."""
        from .report import write_report

        try:
            write_report(self.folder)
        except OSError as error:
            self._complain(error)

    def _complain(self, error: OSError) -> None:
        """Shows each write error once."""
        if self._told != str(error):
            self._told = str(error)
            self.tell(f"the run cannot be written to {self.folder}: {error}. What waits is kept in memory and tried again.")
