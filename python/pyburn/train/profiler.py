"""Profiler: records a Chrome trace and prints a table of operations."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..io import atomic_write
from .callbacks import Callback

if TYPE_CHECKING:
    from .learner import Learner

_PHASES, _MODULES, _OPERATIONS = 1, 2, 3  # rows of the trace
_ROWS = {_PHASES: "phases", _MODULES: "modules", _OPERATIONS: "operations"}


class Profiler(Callback):
    """Profiles the phases of training steps, the forward pass of each module, and each core operation.

    As a callback of a Learner it skips `wait` steps, records `steps` steps and writes the trace. In a custom loop use it as a context
    manager.

    Args:
        path: The trace file; with a Learner by default trace.json in the run folder.
        wait: The number of steps to skip first.
        steps: The number of steps to record.
        modules: Whether to record the forward pass of each module.
        operations: Whether to record core operations.

    >>> model = pyburn.nn.Sequential(pyburn.nn.Linear(4, 8), pyburn.nn.ReLU())
    >>> with pyburn.train.Profiler("trace.json") as profiler:
    ...     profiler.watch(model)
    ...     with profiler.phase("forward"):
    ...         y = model(pyburn.ones(2, 4))
    >>> sorted(row.name for row in profiler.rows() if row.kind == "modules")
    ['0 (Linear)', '1 (ReLU)', 'Sequential']
    """

    def __init__(
        self, path: str | os.PathLike[str] | None = None, *, wait: int = 3, steps: int = 10, modules: bool = True, operations: bool = True
    ) -> None:
        self.path = Path(path) if path is not None else None
        self.wait, self.steps, self.modules, self.operations = wait, steps, modules, operations
        self.events: list[dict[str, Any]] = []
        self._origin = time.perf_counter_ns()
        self._handles: list[Any] = []
        self._running: list[tuple[str, int]] = []
        self._mark: int | None = None
        self._seen = 0
        self._timer: Any = None

    # --- alone -------------------------------------------------------------------------------------------------------------

    def __enter__(self) -> Profiler:
        self._start_operations()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
        if self.path is not None:
            self.write(self.path)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Context manager that records a named phase.

        Args:
            name: The name of the phase.

        Returns:
            A context manager.
        """
        start = time.perf_counter_ns()
        try:
            yield
        finally:
            self._note(_PHASES, name, start, time.perf_counter_ns())

    def watch(self, model: Any) -> None:
        """Records the forward pass of a model and of each submodule until `close`.

        Args:
            model: The model.
        """
        names = {id(module): name for name, module in model.named_modules()}

        def before(module: Any, args: Any) -> None:
            kind = type(module).__name__
            name = names.get(id(module), "")
            self._running.append((f"{name} ({kind})" if name else kind, time.perf_counter_ns()))

        def after(module: Any, args: Any, output: Any) -> None:
            if self._running:
                name, start = self._running.pop()
                self._note(_MODULES, name, start, time.perf_counter_ns())

        for module in model.modules():
            self._handles += [module.register_forward_pre_hook(before), module.register_forward_hook(after)]

    def close(self) -> None:
        """Removes all hooks and stops recording operations."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._running.clear()
        self._end_operations()

    def _note(self, row: int, name: str, start: int, end: int, **details: Any) -> None:
        event = {"name": name, "ph": "X", "pid": os.getpid(), "tid": row, "ts": (start - self._origin) / 1e3, "dur": (end - start) / 1e3}
        if details:
            event["args"] = details
        self.events.append(event)

    def _start_operations(self) -> None:
        from .. import _core

        if self.operations and self._timer is None:
            self._timer = _core._OperationTimes(_core._default_device())
            self._timer.__enter__()

    def _end_operations(self) -> None:
        if self._timer is None:
            return
        timer, self._timer = self._timer, None
        timer.__exit__(None, None, None)
        for name, start, end, shape in timer.records():
            self._note(_OPERATIONS, name, start, end, shape=shape)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes the trace as JSON, for chrome://tracing or Perfetto.

        Args:
            path: The file to write.
        """
        rows = [{"name": "thread_name", "ph": "M", "pid": os.getpid(), "tid": row, "args": {"name": name}} for row, name in _ROWS.items()]
        atomic_write(os.fspath(path), json.dumps({"traceEvents": rows + self.events, "displayTimeUnit": "ms"}).encode())

    def rows(self) -> list[ProfileRow]:
        """Returns the totals by name, the longest first."""
        totals: dict[tuple[int, str], ProfileRow] = {}
        for event in self.events:
            key = event["tid"], event["name"]
            row = totals.setdefault(key, ProfileRow(_ROWS[event["tid"]], event["name"]))
            row.count += 1
            row.milliseconds += event["dur"] / 1e3
        return sorted(totals.values(), key=lambda row: (row.kind != "phases", row.kind, -row.milliseconds))

    def table(self) -> str:
        """Formats the totals as a text table.

        Returns:
            The table.
        """
        lines = [f"{'':10} {'name':40} {'calls':>8} {'total ms':>10} {'mean ms':>10}"]
        for row in self.rows():
            lines.append(f"{row.kind:10} {row.name[:40]:40} {row.count:8} {row.milliseconds:10.2f} {row.milliseconds / row.count:10.3f}")
        return "\n".join(lines)

    # --- as a callback -----------------------------------------------------------------------------------------------------

    @property
    def _active(self) -> bool:
        return self.wait <= self._seen < self.wait + self.steps

    def _until_now(self, name: str) -> None:
        now = time.perf_counter_ns()
        if self._mark is not None:
            self._note(_PHASES, name, self._mark, now)
        self._mark = now if self._active else None

    def on_batch_start(self, learner: Learner) -> None:
        if self._active and not self._handles and self._timer is None:
            if self.modules:
                self.watch(learner.model)
            self._start_operations()
            self._mark = time.perf_counter_ns()
        elif self._mark is not None:
            self._until_now("data")

    def on_forward_end(self, learner: Learner) -> None:
        self._until_now("forward")

    def on_backward_end(self, learner: Learner) -> None:
        self._until_now("backward")

    def on_batch_end(self, learner: Learner) -> None:
        self._until_now("metrics")

    def on_step_end(self, learner: Learner) -> None:
        if self._mark is not None:
            self._until_now("step")
        self._seen += 1
        if self._seen == self.wait + self.steps:
            self._finish(learner)

    def on_validation_end(self, learner: Learner) -> None:
        if self._mark is not None:
            self._until_now("validation")

    def on_fit_end(self, learner: Learner) -> None:
        if self._handles or self._timer is not None:
            self._finish(learner)

    def _finish(self, learner: Learner) -> None:
        self.close()
        self._mark = None
        path = self.path or (learner.run.folder / "trace.json" if learner.run is not None else None)
        if path is not None:
            self.write(path)
            learner.tell(f"the profiler wrote {path}: open it in chrome://tracing or ui.perfetto.dev")


class ProfileRow:
    """Total of one name: the number of calls and their time in milliseconds."""

    def __init__(self, kind: str, name: str) -> None:
        self.kind, self.name, self.count, self.milliseconds = kind, name, 0, 0.0

    def __repr__(self) -> str:
        return f"ProfileRow({self.kind}: {self.name}, {self.count} calls, {self.milliseconds:.2f} ms)"
