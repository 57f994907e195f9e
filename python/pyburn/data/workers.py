"""Workers: threads or processes that prefetch batches.

A crew has one task queue per worker. `send` submits a task, `receive` waits for the next result of any worker, `close` stops all workers;
a crew that is garbage-collected closes itself.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import os
import pickle
import queue
import random
import signal
import sys
import threading
import time
import traceback
import weakref
from collections.abc import Callable
from multiprocessing import connection
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from .. import _core
from . import transport
from .fetching import Fetcher, Recipe, Stopped, Task, WorkerInfo, set_worker_info
from .turns import Turns

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import BaseContext

_GRACE = 30  # seconds that a worker keeps running after SIGTERM
_PATIENCE = 2.0  # seconds that a worker has to finish its sample before it is terminated (process) or abandoned (thread)


class Failure:
    """An exception of a worker, sent to the consumer of the batch."""

    def __init__(self, error: BaseException, where: str, *, keep: bool) -> None:
        self.where = where
        # A thread passes the exception itself; a process sends its class and the formatted traceback.
        self.error = error if keep else None
        self.kind: type[BaseException] = type(error)
        self.text = "" if keep else "".join(traceback.format_exception(type(error), error, error.__traceback__))

    def raised(self) -> NoReturn:
        """Raises the exception in this thread."""
        if self.error is not None:
            if hasattr(self.error, "add_note"):
                self.error.add_note(f"Raised {self.where}.")
            raise self.error
        message = f"Caught {self.kind.__name__} {self.where}.\nOriginal {self.text}"
        if issubclass(self.kind, KeyError):
            message = _Verbatim(message)
        try:
            error = self.kind(message)
        except Exception:  # the constructor takes other arguments
            error = RuntimeError(message)
        raise error

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        try:
            pickle.dumps(self.kind)
        except Exception:  # a class defined in a function cannot be unpickled
            state["kind"] = RuntimeError
        return state


class _Verbatim(str):
    """Message of a KeyError, whose str() is the repr of the message: this keeps the line breaks of the traceback."""

    def __repr__(self) -> str:
        return str(self)


class Crew(Protocol):
    """Interface of the workers of a loader."""

    def send(self, worker: int, task: Task) -> None: ...
    def receive(self, timeout: float | None) -> tuple[int, int, Any]: ...
    def close(self) -> None: ...


def serve(
    recipe: Recipe,
    worker: int,
    kind: str,
    take: Callable[[], Task | None],
    give: Callable[[Any], None],
    stopped: Callable[[], bool],
    load: Callable[[Fetcher, Task], Any] = lambda fetcher, task: fetcher(task),
) -> None:
    """Runs the main loop of a worker: takes tasks until None, and sends (epoch, number, result)."""
    where, keep = f"in DataLoader worker {kind} {worker}", kind == "thread"
    dataset, fetcher, epoch = recipe.dataset, None, -1
    unfit: Failure | None = None
    is_fit = True
    if keep and hasattr(dataset, "__dict__") and not isinstance(dataset, _core.Tensor):
        # A copy, as in a process, so that worker_init_fn may change the data set.
        with contextlib.suppress(Exception):
            dataset = copy.copy(dataset)
    set_worker_info(WorkerInfo(worker, recipe.num_workers, recipe.seed + worker, dataset))
    try:
        if recipe.worker_init_fn is not None:
            recipe.worker_init_fn(worker)
    except BaseException as error:
        unfit, is_fit = Failure(error, where, keep=keep), False
    while (task := take()) is not None:
        answer: Any = None
        if not is_fit:
            answer, unfit = unfit or Failure(RuntimeError("worker_init_fn had failed"), where, keep=keep), None
        else:
            try:
                if task.epoch != epoch or fetcher is None:
                    epoch, fetcher = task.epoch, Fetcher(recipe, dataset, worker, stopped)
                answer = load(fetcher, task)
            except Stopped:
                return
            except BaseException as error:
                answer = Failure(error, where, keep=keep)
        try:
            give((task.epoch, task.number, answer))
        except (BrokenPipeError, ConnectionResetError):  # the consumer is gone
            return
        except Exception as error:  # a batch that cannot be pickled
            give((task.epoch, task.number, Failure(error, where, keep=keep)))
        # Its traceback references the loader; keeping it would keep the loader, and with it this worker, alive.
        answer = None


class ThreadCrew:
    """Worker threads. Nothing is copied, and everything that releases the GIL runs in parallel: decoding and resizing images, NumPy on
    large arrays, file reads, pyburn operations.
    """

    def __init__(self, recipe: Recipe) -> None:
        self._answers: queue.SimpleQueue[tuple[int, int, Any]] = queue.SimpleQueue()
        self._tasks: list[queue.SimpleQueue[Task | None]] = [queue.SimpleQueue() for _ in range(recipe.num_workers)]
        stop, turns = threading.Event(), Turns(recipe.num_workers)
        threads = [
            threading.Thread(
                target=_in_thread,
                args=(_core._default_device(), recipe, worker, "thread", tasks.get, self._answers.put, stop.is_set, turns.load),
                name=f"pyburn-loader-{worker}",
                daemon=True,
            )
            for worker, tasks in enumerate(self._tasks)
        ]
        for thread in threads:
            thread.start()
        self.close: Callable[[], None] = weakref.finalize(self, _end_threads, os.getpid(), stop, self._tasks, threads)

    def send(self, worker: int, task: Task) -> None:
        self._tasks[worker].put(task)

    def receive(self, timeout: float | None) -> tuple[int, int, Any]:
        return self._answers.get(timeout=timeout)


def _in_thread(device: Any, *arguments: Any) -> None:
    with device:  # a `with pyburn.device(...)` around the loop also applies to its workers
        serve(*arguments)


def _end_threads(process: int, stop: threading.Event, tasks: list[queue.SimpleQueue[Task | None]], threads: list[threading.Thread]) -> None:
    if process != os.getpid():  # in a forked child, which does not have these threads
        return
    stop.set()
    for inbox in tasks:
        inbox.put(None)
    deadline = time.monotonic() + _PATIENCE
    for thread in threads:
        if thread is not threading.current_thread():
            thread.join(max(deadline - time.monotonic(), 0))


class ProcessCrew:
    """Worker processes, for data sets that are slow in Python. Batches are sent through pipes."""

    def __init__(self, recipe: Recipe, context: BaseContext) -> None:
        self._tasks: list[Connection] = []
        self._answers: list[Connection] = []
        self._workers: list[Any] = []
        self.close: Callable[[], None] = weakref.finalize(self, _end_processes, os.getpid(), self._tasks, self._answers, self._workers)
        try:
            for worker in range(recipe.num_workers):
                tasks, to_worker = context.Pipe(duplex=False)
                from_worker, answers = context.Pipe()  # a socket, which can transfer file descriptors of shared memory
                # A forked worker inherits the pipe ends of earlier workers and must close them: else none notices the end of this process.
                ends = [*self._tasks, *self._answers, to_worker, from_worker] if context.get_start_method() == "fork" else []
                process = context.Process(  # type: ignore[attr-defined]
                    target=_in_process, args=(recipe, worker, tasks, answers, ends), name=f"pyburn-loader-{worker}", daemon=True
                )
                self._tasks.append(to_worker)
                self._answers.append(from_worker)
                process.start()
                self._workers.append(process)
                tasks.close()
                answers.close()
        except BaseException:
            self.close()
            raise

    def send(self, worker: int, task: Task) -> None:
        try:
            self._tasks[worker].send(task)
        except (BrokenPipeError, ConnectionResetError):
            self._mourn(worker)

    def receive(self, timeout: float | None) -> tuple[int, int, Any]:
        watched: list[Any] = [*self._answers, *(process.sentinel for process in self._workers)]
        ready = connection.wait(watched, timeout)
        if not ready:
            raise queue.Empty
        for worker, answers in enumerate(self._answers):
            if answers in ready:
                try:
                    return transport.receive(answers)
                except (EOFError, OSError):
                    self._mourn(worker)
        return self._mourn(next(worker for worker, process in enumerate(self._workers) if process.sentinel in ready))

    def _mourn(self, worker: int) -> NoReturn:
        process = self._workers[worker]
        process.join(_PATIENCE)
        code = process.exitcode
        if code is not None and code < 0:
            how = f"was killed by signal {-code} ({signal.Signals(-code).name})"
            if -code == signal.SIGKILL:
                how += ", which is what the system does when memory runs out"
        else:
            how = f"exited unexpectedly with code {code}"
            if not os.path.isfile(getattr(sys.modules["__main__"], "__file__", None) or __file__):
                how += "; workers that are spawned import the main script, which is no file here (read from standard input?)"
        self.close()
        raise RuntimeError(f"DataLoader worker {worker} (pid {process.pid}) {how}")


def _end_processes(process: int, tasks: list[Connection], answers: list[Connection], workers: list[Any]) -> None:
    if process != os.getpid():  # in a forked child: these are its siblings
        return
    for end in tasks:
        # Closing may not be enough: processes forked meanwhile hold the other end as well.
        with contextlib.suppress(OSError):
            end.send(None)
    for end in (*tasks, *answers):
        end.close()
    deadline = time.monotonic() + _PATIENCE
    for worker in workers:
        worker.join(max(deadline - time.monotonic(), 0))
    for worker in workers:
        if worker.is_alive():
            worker.kill()
    for worker in workers:
        worker.join(_PATIENCE)


def _in_process(recipe: Recipe, worker: int, tasks: Connection, answers: Connection, others: list[Connection]) -> None:
    # Ctrl-C and the SIGTERM of a scheduler reach the whole process group; only the main process decides what to do. It may finish a step
    # and save a checkpoint before it stops its workers, within the grace period of the scheduler.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "alarm"):
        signal.signal(signal.SIGTERM, lambda number, frame: signal.alarm(_GRACE))
    for end in others:
        end.close()
    _core.set_num_threads(1)
    seed = recipe.seed + worker
    random.seed(seed)
    _core.default_generator.manual_seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % 2**32)
    # Tasks are read immediately, so that the sender never blocks; the end of the pipe means that the consumer is gone.
    inbox: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
    stop = threading.Event()

    def read() -> None:
        with contextlib.suppress(EOFError, OSError):
            while (task := tasks.recv()) is not None:
                inbox.put(task)
        stop.set()
        inbox.put(None)

    threading.Thread(target=read, daemon=True).start()
    serve(recipe, worker, "process", inbox.get, functools.partial(transport.send, answers), stop.is_set)
