"""Workers: threads or processes that load batches ahead of the training.

A crew has one queue of tasks per worker. `send` hands a task out, `receive` waits for whichever answer comes next, `close` ends all
workers; what is dropped without being closed closes itself.
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

_GRACE = 30  # seconds that a worker goes on after SIGTERM
_PATIENCE = 2.0  # seconds that a worker has to finish its sample before it is ended (processes) or left alone (threads)


class Failure:
    """An exception of a worker on its way to whoever waits for the batch."""

    def __init__(self, error: BaseException, where: str, *, keep: bool) -> None:
        self.where = where
        # A thread hands its exception over as it is; from a process come its class and its traceback as text.
        self.error = error if keep else None
        self.kind: type[BaseException] = type(error)
        self.text = "" if keep else "".join(traceback.format_exception(type(error), error, error.__traceback__))

    def raised(self) -> NoReturn:
        """Raises it in this thread."""
        if self.error is not None:
            if hasattr(self.error, "add_note"):
                self.error.add_note(f"Raised {self.where}.")
            raise self.error
        message = f"Caught {self.kind.__name__} {self.where}.\nOriginal {self.text}"
        if issubclass(self.kind, KeyError):
            message = _Verbatim(message)
        try:
            error = self.kind(message)
        except Exception:  # a class whose constructor wants something else
            error = RuntimeError(message)
        raise error

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        try:
            pickle.dumps(self.kind)
        except Exception:  # a class made inside a function cannot be found from the other side
            state["kind"] = RuntimeError
        return state


class _Verbatim(str):
    """KeyError prints the repr of its message, which would put the whole traceback on one line."""

    def __repr__(self) -> str:
        return str(self)


class Crew(Protocol):
    """What a loader knows about its workers."""

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
    """The life of a worker: takes tasks until there is None, and gives (epoch, number, answer)."""
    where, keep = f"in DataLoader worker {kind} {worker}", kind == "thread"
    dataset, fetcher, epoch = recipe.dataset, None, -1
    unfit: Failure | None = None
    is_fit = True
    if keep and hasattr(dataset, "__dict__") and not isinstance(dataset, _core.Tensor):
        # As a process has its own, so that worker_init_fn may set attributes of it.
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
        except (BrokenPipeError, ConnectionResetError):  # nobody listens any more
            return
        except Exception as error:  # a batch that cannot be pickled
            give((task.epoch, task.number, Failure(error, where, keep=keep)))
        # An exception holds on to whoever raised it last: the loader that this worker waits for, which would then never end.
        answer = None


class ThreadCrew:
    """Workers that share the memory of the program: nothing is copied, and whatever releases the interpreter's lock runs side by side
    (decoding and resizing images, numpy on large arrays, reading files, operations of pyburn)."""

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
    with device:  # `with pyburn.device(...)` around the loop holds for its workers
        serve(*arguments)


def _end_threads(process: int, stop: threading.Event, tasks: list[queue.SimpleQueue[Task | None]], threads: list[threading.Thread]) -> None:
    if process != os.getpid():  # in a forked child, where the threads are not
        return
    stop.set()
    for inbox in tasks:
        inbox.put(None)
    deadline = time.monotonic() + _PATIENCE
    for thread in threads:
        if thread is not threading.current_thread():
            thread.join(max(deadline - time.monotonic(), 0))


class ProcessCrew:
    """Workers with an interpreter of their own, for data sets that are slow in Python. Batches come through pipes."""

    def __init__(self, recipe: Recipe, context: BaseContext) -> None:
        self._tasks: list[Connection] = []
        self._answers: list[Connection] = []
        self._workers: list[Any] = []
        self.close: Callable[[], None] = weakref.finalize(self, _end_processes, os.getpid(), self._tasks, self._answers, self._workers)
        try:
            for worker in range(recipe.num_workers):
                tasks, to_worker = context.Pipe(duplex=False)
                from_worker, answers = context.Pipe()  # a socket, through which memory can be handed over
                # A forked worker holds the ends of its elders too, and closes them: else none would notice the end of this process.
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
    if process != os.getpid():  # in a forked child, whose siblings these are
        return
    for end in tasks:
        # Closing alone may not be noticed: processes that were forked in the meantime hold the other end as well.
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
    # Ctrl-C reaches the whole group of processes, and so does the SIGTERM of a scheduler: the main one decides what they mean. It may
    # finish a step and save before it ends its workers, for which it has as long as schedulers wait before they kill.
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
    # Tasks are read as they come, so that whoever sends one never waits for this worker; their end means that nobody waits for it.
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
