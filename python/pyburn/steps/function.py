"""compile: a function that runs as a prepared program once two calls have recorded the same one."""

from __future__ import annotations

import functools
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from .. import _core, _step_recording
from .._core import PyburnError, Tensor
from .calls import Call, Results
from .guards import Guards, assigned_outside

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
MOST_PROGRAMS = 8  # of one function
MOST_RECORDINGS = 8  # of one kind of call without two equal ones
MOST_KINDS = 16
MOST_IN_VAIN = 48  # recordings of one function that led to no program
MOST_COMPILATIONS = 48


def _line_of_caller() -> str:
    """Returns "file:line" of the innermost frame outside of pyburn."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back  # type: ignore[assignment]
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else ""


class _Recording:
    """One recorded call."""

    def __init__(self, function: Callable[..., Any], also: Iterable[Any], call: Call, device: Any) -> None:
        self.core = _core._StepRecording(device, call.tensors, _line_of_caller)
        self.guards = Guards(function, also)
        self.host: list[_step_recording.HostPart] = []
        self.step: Any = None
        self.reason = ""
        self.results: Results
        self.refuse: Callable[[str], None] = self.core.refuse
        if self.guards.refusal:
            self.refuse(self.guards.refusal)

    def add(self, part: _step_recording.HostPart) -> None:
        """Adds work that the host repeats in each run."""
        self.host.append(part)

    @property
    def optimizer_steps(self) -> int:
        steps: int = self.core.optimizer_steps
        return steps

    def finish(self) -> None:
        """Ends the recording: `step` is the program, or None with a `reason`."""
        self.step = self.core.finish(self.results.tensors)
        self.results.tensors.clear()
        self.reason = self.core.reason

    def difference(self, other: _Recording) -> str:
        """Returns what is different in another recording; empty if it is the same program."""
        changed = other.guards.changed()
        if changed:
            return f"{changed} changes from call to call"
        if self.results.key != other.results.key:
            return "it returns other values than tensors that change from call to call"
        found: str = _core._step_difference(other.step, self.step)
        return found


class _Program:
    """A compiled call, with what must hold for it to replace the Python code."""

    def __init__(self, recording: _Recording, before: _Recording) -> None:
        self.recorded = list(recording.step.operations)
        self.core = _core._CompiledStep(recording.step, before.step)
        self.guards, self.host, self.results = recording.guards, recording.host, recording.results
        self.runs = 0
        self.last_run = time.monotonic()

    def fits(self, tensors: list[Tensor]) -> bool:
        return not self.guards.changed() and all(part.fits() for part in self.host) and self.core.fits(tensors)

    def run(self, tensors: list[Tensor]) -> Any:
        operations = [operation for part in self.host for operation in part.operations()]
        computed = self.core.run(tensors, operations)
        self.runs += 1
        self.last_run = time.monotonic()
        return self.results.build(computed, tensors)


class _Kind:
    """Calls with arguments of one kind: their programs and recordings."""

    def __init__(self, call: Call) -> None:
        self.kept = call.kept  # the key has their identity
        self.programs: list[_Program] = []
        self.pending: list[_Recording] = []
        self.recordings = 0
        self.refusal = ""


class CompiledFunction:
    """A function that replays a prepared program; made by `pyburn.compile`.

    Args:
        function: The Python function.
        also: Further objects whose numbers and modes the function reads.
        quiet: Whether to give no warning if the function runs as Python.

    Attributes:
        function: The Python function.
    """

    def __init__(self, function: Callable[..., Any], *, also: Iterable[Any] = (), quiet: bool = False) -> None:
        functools.update_wrapper(self, function, updated=())
        self.function = function
        self._also = tuple(also)
        self._quiet = quiet
        self.kinds: dict[Any, _Kind] = {}
        self._lock = threading.RLock()
        self.refusal = assigned_outside(function)
        self._warned = False
        self._in_vain = self._compilations = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.refusal:
            return self._as_python("", args, kwargs)
        inside = _step_recording.current() is not None or not _core._runs_at_top()  # of another recording, or of a profile
        if inside or _core.is_anomaly_enabled():
            return self.function(*args, **kwargs)
        call = Call(args, kwargs)
        with self._lock:
            kind = self._kind_of(call)
            for program in kind.programs:
                if program.fits(call.tensors):
                    return program.run(call.tensors)
            if not kind.refusal and len({t.device for t in call.tensors}) > 1:
                kind.refusal = "its arguments are on several devices"
            if not kind.refusal:
                return self._record(kind, call, args, kwargs)
        return self._as_python(kind.refusal, args, kwargs)

    def __reduce__(self) -> Any:  # a copy compiles for itself
        return _compiled, (self.function, self._also, self._quiet)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "function" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.function, name)

    def _kind_of(self, call: Call) -> _Kind:
        kind = self.kinds.get(call.key)
        if kind is None:
            idle = [key for key, k in self.kinds.items() if not k.programs]
            if len(self.kinds) >= MOST_KINDS and idle:
                del self.kinds[idle[0]]
            kind = self.kinds[call.key] = _Kind(call)
        return kind

    def _record(self, kind: _Kind, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        device = call.tensors[0].device if call.tensors else _core._default_device()
        recording = _Recording(self.function, [*self._also, *call.kept], call, device)
        changes = _core._module_changes()
        _step_recording.set_current(recording)
        try:
            result = self.function(*args, **kwargs)
            recording.results = Results(result, call)
            if recording.results.refusal:
                recording.refuse(recording.results.refusal)
            if _core._module_changes() != changes:
                recording.refuse("it sets attributes of modules")
            recording.finish()
        finally:
            _step_recording.set_current(None)
            recording.core.cancel()  # what it holds on to is not needed any more
        self._settle(kind, recording)
        return result

    def _settle(self, kind: _Kind, recording: _Recording) -> None:
        """Compiles if an earlier call has recorded the same program; else keeps the recording for the next one."""
        kind.recordings += 1
        self._in_vain += 1
        if recording.step is None:
            if kind.recordings > 1:  # a first call may fill caches
                self._give_up(kind, recording.reason)
            return
        difference = ""
        for before in reversed(kind.pending):
            found = recording.difference(before)
            difference = difference or found
            if found:
                continue
            self._compile(kind, recording, before)
            return
        kind.pending = [*kind.pending, recording][-4:]
        if kind.recordings >= MOST_RECORDINGS:
            self._give_up(kind, difference)
        elif self._in_vain >= MOST_IN_VAIN:
            self.refusal = difference or "its arguments have other shapes or values in each call"
            self.kinds.clear()
            self._warn(self.refusal)

    def _compile(self, kind: _Kind, recording: _Recording, before: _Recording) -> None:
        kind.pending.clear()
        kind.recordings = self._in_vain = 0
        self._compilations += 1
        if self._compilations > MOST_COMPILATIONS:
            self._give_up(kind, f"it was compiled {MOST_COMPILATIONS} times, for other arguments, modes or values")
            return
        try:
            program = _Program(recording, before)
        except PyburnError as error:
            self._give_up(kind, str(error))
            return
        known = [(k, p) for k in self.kinds.values() for p in k.programs]
        if len(known) >= MOST_PROGRAMS:
            owner, oldest = min(known, key=lambda entry: entry[1].last_run)
            owner.programs.remove(oldest)
        kind.programs.append(program)

    def _give_up(self, kind: _Kind, reason: str) -> None:
        kind.refusal = reason
        kind.pending.clear()
        self._warn(reason)

    def _as_python(self, reason: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._warn(self.refusal or reason)
        return self.function(*args, **kwargs)

    def _warn(self, reason: str) -> None:
        if self._warned or self._quiet:
            return
        self._warned = True
        name = getattr(self.function, "__qualname__", type(self.function).__name__)
        level = 2
        while level < 8 and sys._getframe(level - 1).f_code.co_filename.startswith(_PACKAGE):
            level += 1
        warnings.warn(f"[compile] {name} runs as Python: {reason}", UserWarning, stacklevel=level)

    @property
    def programs(self) -> int:
        """The number of compiled programs: one for each kind of call."""
        return sum(len(kind.programs) for kind in self.kinds.values())

    @property
    def runs(self) -> int:
        """How many calls have replayed a program that is still there."""
        return sum(program.runs for kind in self.kinds.values() for program in kind.programs)

    def explain(self) -> str:
        """Returns what was compiled, and why the rest was not."""
        from .report import report

        return report(self)


def _compiled(function: Callable[..., Any], also: Iterable[Any], quiet: bool) -> CompiledFunction:
    return CompiledFunction(function, also=also, quiet=quiet)


def compile(function: Callable[..., Any]) -> CompiledFunction:
    """Compiles a training step: forward pass, backward pass and optimizer step become one prepared program.

    The first calls run as usual and are recorded. When two of them have recorded the same operations, later calls replay these without
    Python, with the same results: parameters, buffers, gradients and optimizer state are those tensors that the function uses. Learning
    rates, step counts and random numbers are new in each call. Changed shapes, modes, or numbers that the function reads are recorded
    again. A function that cannot be replayed runs as Python, with one warning.

    Args:
        function: The step. It must not read values of tensors, and its results have no history.

    Returns:
        A function with the same arguments; `explain()` tells what was compiled.

    >>> model = pyburn.nn.Linear(3, 1)
    >>> optimizer = pyburn.optim.Adam(model.parameters())
    >>> @pyburn.compile
    ... def step(x, y):
    ...     optimizer.zero_grad()
    ...     loss = ((model(x) - y) ** 2).mean()
    ...     loss.backward()
    ...     optimizer.step()
    ...     return loss
    >>> losses = [step(pyburn.ones(8, 3), pyburn.zeros(8, 1)) for _ in range(5)]
    """
    if not callable(function):
        raise TypeError(f"[compile] expected a function: got {type(function).__name__}")
    return CompiledFunction(function)
